"""What of a template depends on the values of its parameters, and not on their types alone."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import Rules, Template
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.functions import UNITS_OF
from cepheid.pattern.expressions.parameter_uses import window_uses
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import expressions, walk

_WITH_UNIT = {name.lower() for name in UNITS_OF}


def shaping(program: Program) -> set[str]:
    """The parameters of which more is asked than a type."""
    nodes = (node for query in program.queries for e in expressions(query) for node in walk(e))
    asked = [part for node in nodes for part in _asked(node)]
    return {part.name for node in asked for part in walk(node) if isinstance(part, ex.Name)}


def _asked(node: ex.Expression) -> Iterator[ex.Expression]:
    """Patterns of texts, the shares of percentiles, units of time."""
    match node:
        case ex.Like(pattern=pattern) | ex.RLike(pattern=pattern):
            yield pattern
        case ex.AggregateCall(share=share) if share is not None:
            yield share
        case ex.Call(function=function, arguments=arguments) if function.lower() in _WITH_UNIT:
            yield from arguments


def key_of_types(template: Template, rules: Rules) -> tuple[object, ...]:
    """Equal for rules of a template whose values have the same types."""
    columns = [rules.constants.column(constant_column(name)) for name in template.parameters]
    return template.key, tuple((column.type, column.null_count == len(column)) for column in columns)


def by_types_alone(template: Template, rules: Rules) -> bool:
    """Whether rules are right with any values, if they are with some of the same types; a window as text is not."""
    parameters = set(template.parameters)
    windows = {use.name for use in window_uses(template.program)} & parameters
    written = {name for name in windows if not pa.types.is_integer(rules.constants.column(constant_column(name)).type)}
    return not written and not shaping(template.program) & parameters
