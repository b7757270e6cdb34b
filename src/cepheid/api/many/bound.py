"""Whether rules fit the columns of events: each template is bound once for each way in which its rules can differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.api.many.options import Options
from cepheid.api.many.problems import Problems
from cepheid.api.many.read_rules import example
from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.pattern import expressions as ex
from cepheid.pattern.functions import UNITS_OF
from cepheid.pattern.schema import Schema
from cepheid.pattern.tree import Program
from cepheid.pattern.walk import expressions, walk

_WITH_UNIT = {name.lower() for name in UNITS_OF}


def check_bound(rules: RuleSet, options: Options, schema: Schema, problems: Problems) -> None:
    """What is wrong with rules on events of a schema."""
    for some in rules.rules:
        template = rules.templates[some.template]
        for own in _variants(template, some):
            with problems.of(own.numbers):
                options.compiled(template, example(template, own)).bind(schema)


def _variants(template: Template, rules: Rules) -> Iterator[Rules]:
    """The rules by the values of the parameters of which more is asked than a type."""
    shaped = [name for name in template.parameters if name in _shaping(template.program)]
    if not shaped:
        yield rules
        return
    codes: Any = np.zeros(len(rules), np.int64)
    for name in shaped:
        column = rules.constants.column(constant_column(name)).combine_chunks()
        coded = column.dictionary_encode("encode")
        coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
        _, codes = np.unique(codes * len(coded.dictionary) + to_numpy(coded.indices), return_inverse=True)
    for code in range(int(codes.max(initial=-1)) + 1):
        yield rules.take(np.flatnonzero(codes == code))


def _shaping(program: Program) -> set[str]:
    """The parameters of which more is asked than a type."""
    nodes = (node for query in program.queries for e in expressions(query) for node in walk(e))
    asked = [part for node in nodes for part in _asked(node)]
    return {part.name for node in asked for part in walk(node) if isinstance(part, ex.Name)}


def _asked(node: ex.Expression) -> Iterator[ex.Expression]:
    """Patterns of texts, the shares of percentiles, units of time."""
    match node:
        case ex.Like(pattern=pattern) | ex.RLike(pattern=pattern):
            yield pattern
        case ex.Aggregate(share=share) if share is not None:
            yield share
        case ex.Call(function=function, arguments=arguments) if function.lower() in _WITH_UNIT:
            yield from arguments
