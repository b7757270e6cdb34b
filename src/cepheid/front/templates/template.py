"""Templates: queries with parameters, run for many rules at once.

The stream of a template is a *joined* one: each of its rows is an event and a rule that it concerns. A parameter is a
column of that stream, the rule is a partition of it, and the template is one ordinary query. A parameter that shapes a
query can't be a column: rules with other values of it are rules of another variant of the template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cepheid.front.runnable import Runnable
from cepheid.front.templates.joined_algebra import JoinedAlgebra
from cepheid.front.templates.joined_pattern import JoinedAutomaton, JoinedPattern
from cepheid.front.templates.rule_columns import (
    RULE,
    WINDOW,
    ConstantColumn,
    NotJoinedError,
    constants_in,
)
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.sampled import SampledLiteral
from cepheid.pattern.expressions.types import INT, Kind, Type, duration
from cepheid.pattern.tree.nodes import Language


@dataclass(frozen=True, slots=True)
class Joined:
    """A template on a joined stream. plain: the same query on the events alone, with the constants of one rule."""

    bound: Runnable
    plain: Runnable
    columns: tuple[ConstantColumn, ...]
    windowed: bool  # each rule has its own window, in the column WINDOW

    @property
    def returns_constants(self) -> bool:
        """Whether a column of RETURN depends on the rule."""
        return any(constants_in(result.expression) for result in self.plain.returns)


JOININGS: Mapping[Language, type[JoinedPattern | JoinedAlgebra]] = {
    Language.PATTERN: JoinedPattern,
    Language.AUTOMATON: JoinedAutomaton,
    Language.CESAR: JoinedAlgebra,
}


def join(query: Runnable, *, windowed: bool = False) -> Joined:
    """The query, bound with samples, on a joined stream.

    windowed: its window is the greatest of those of the rules, each of which has its own.
    """
    joining = JOININGS[query.language](query, windowed=windowed)
    limits = joining.limits
    columns = {n: ConstantColumn(n, c.parameter, c.type, c.readings, limits.get(n)) for n, c in _used(query).items()}
    schema = _schema(query.schema, columns.values(), windowed=windowed)
    return Joined(joining.bound(schema), query, tuple(columns.values()), windowed)


def _used(query: Runnable) -> dict[str, SampledLiteral]:
    """The constants of a query, by column."""
    constants: dict[str, SampledLiteral] = {}
    for expression in _all_expressions(query):
        constants |= {constant.column: constant for constant in constants_in(expression)}
    return constants


def _all_expressions(query: Runnable) -> Iterator[ex.Expression]:
    yield from query.conditions
    yield from query.placement.constant
    yield from query.same
    if query.having is not None:
        yield query.having
    yield from (result.expression for result in query.returns)
    if query.scope is not None and query.scope.condition is not None:
        yield query.scope.condition
    yield from query.body.expressions()


def _schema(schema: Schema, columns: Iterable[ConstantColumn], *, windowed: bool) -> Schema:
    """With the columns of the rules, which events of every type have."""
    added = {RULE: INT, **{column.name: column.type for column in columns}}
    if windowed:
        added[WINDOW] = window_type(schema)
    if not added.keys().isdisjoint(schema.columns):
        raise NotJoinedError("a column of the events has the name of one of the rules")
    types = schema.roles.types and {name: (*attributes, *added) for name, attributes in schema.roles.types.items()}
    return replace(
        schema,
        columns={**schema.columns, **added},
        roles=replace(schema.roles, types=types),
        constants=frozenset(added),
    )


def window_type(schema: Schema) -> Type:
    """The type of the difference of two times."""
    kind = schema.columns[schema.roles.time].kind
    if kind is Kind.TIMESTAMP:
        return duration("ns")
    if kind is not Kind.INT:
        raise NotJoinedError("a window of dates")
    return INT
