"""Templates: queries with parameters, run for many rules at once.

The stream of a template is a *joined* one: each of its rows is an event and a rule that it concerns. A parameter is a
column of that stream, the rule is a partition of it, and the template is one ordinary query. A parameter that shapes a
query can't be a column: rules with other values of it are rules of another variant of the template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cepheid.pattern.binding.bind import Bound
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.sampled import SampledLiteral
from cepheid.pattern.expressions.types import INT, Kind, Type, duration
from cepheid.pattern.templates.joined_algebra import joined_algebra, limits_of
from cepheid.pattern.templates.joined_pattern import JoinedAutomaton, JoinedPattern
from cepheid.pattern.templates.rule_columns import (
    RULE,
    WINDOW,
    ConstantColumn,
    NotJoinedError,
    attribute,
    constants_in,
    put,
)
from cepheid.pattern.tree.nodes import Strategy
from cepheid.pattern.tree.scope import EVENT as SEEN
from cepheid.pattern.tree.scope import VisibleEvents


@dataclass(frozen=True, slots=True)
class Joined:
    """A template on a joined stream. plain: the same query on the events alone, with the constants of one rule."""

    bound: Bound
    plain: Bound
    columns: tuple[ConstantColumn, ...]
    windowed: bool  # each rule has its own window, in the column WINDOW

    @property
    def returns_constants(self) -> bool:
        """Whether a column of RETURN depends on the rule."""
        return any(constants_in(result.expression) for result in self.plain.returns)


def join(query: Bound, *, windowed: bool = False) -> Joined:
    """The query, bound with samples, on a joined stream.

    windowed: its window is the greatest of those of the rules, each of which has its own.
    """
    if query.schema.start is not None and query.algebra is None and windowed:
        raise NotJoinedError("the window of events that last")
    used = _used(query)
    limits = {} if query.algebra is None else limits_of(query.algebra)
    columns = {n: ConstantColumn(n, c.parameter, c.type, c.readings, limits.get(n)) for n, c in used.items()}
    schema = _schema(query.schema, columns.values(), windowed=windowed)
    if query.algebra is not None:
        bound = replace(
            query,
            schema=schema,
            typer=replace(query.typer, schema=schema),
            reads=tuple(schema.columns),
            algebra=joined_algebra(query.algebra, limits),
        )
        return Joined(bound, query, tuple(columns.values()), windowed)
    _check_same(query)
    own = JoinedAutomaton(query) if query.automaton is not None else JoinedPattern(query)
    placement = own.placement(windowed=windowed)
    same = tuple(replace(test, value=_kept(test)) for test in query.same if not _is_needless(test, query))
    bound = replace(
        query,
        schema=schema,
        placement=placement,
        same=same,
        partition_by=(RULE, *query.partition_by),
        having=query.having and own.complete(query.having),
        returns=tuple(replace(result, expression=own.complete(result.expression)) for result in query.returns),
        typer=replace(query.typer, schema=schema),
        scope=query.scope and _joined_scope(query.scope),
        reads=(*query.reads, *(name for name in schema.columns if name in schema.constants)),
        automaton=query.automaton and query.automaton.rewritten_arcs(own.arc),
    )
    return Joined(bound, query, tuple(columns.values()), windowed)


def _check_same(query: Bound) -> None:
    """`[attr = parameter]` is a condition on each event, and no key of a run whose events do not have the attribute."""
    judged = query.counted or query.automaton is not None or Strategy.PARTITION in query.strategies.values()
    for test in query.same:
        lacking = any(test.attribute not in given for given in (query.schema.roles.types or {}).values())
        if judged and lacking and isinstance(test.value, SampledLiteral):
            raise NotJoinedError("[attr] of events that do not have it", (test.value.parameter,))


def _kept(test: ex.SameValue) -> ex.Expression | None:
    """The value of `[attr = value]`, where it is not a parameter: that is a condition on each event."""
    return None if isinstance(test.value, SampledLiteral) else test.value


def _is_needless(test: ex.SameValue, query: Bound) -> bool:
    """Whether `[attr = parameter]` is only a condition on each event: all that pass it agree, and no others count."""
    judged = query.counted or query.schema.roles.types is not None or query.automaton is not None
    return isinstance(test.value, SampledLiteral) and not judged and Strategy.PARTITION not in query.strategies.values()


def _used(query: Bound) -> dict[str, SampledLiteral]:
    """The constants of a query, by column."""
    found: dict[str, SampledLiteral] = {}
    for expression in _all_expressions(query):
        found |= {constant.column: constant for constant in constants_in(expression)}
    return found


def _all_expressions(query: Bound) -> Iterator[ex.Expression]:
    yield from query.conditions
    yield from query.placement.constant
    yield from query.same
    if query.having is not None:
        yield query.having
    yield from (result.expression for result in query.returns)
    if query.scope is not None and query.scope.condition is not None:
        yield query.scope.condition
    if query.automaton is not None:
        yield from query.automaton.expressions()
    if query.algebra is not None:
        for edge in query.algebra.automaton.edges:
            yield from (*edge.fence, *edge.values.values())


def _schema(schema: Schema, columns: Iterable[ConstantColumn], *, windowed: bool) -> Schema:
    """With the columns of the rules, which events of every type have."""
    added = {RULE: INT, **{column.name: column.type for column in columns}}
    if windowed:
        added[WINDOW] = window_type(schema)
    if not added.keys().isdisjoint(schema.columns):
        raise NotJoinedError("a column of the events has the name of one of the rules")
    types = schema.roles.types and {name: (*given, *added) for name, given in schema.roles.types.items()}
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


def _joined_scope(scope: VisibleEvents) -> VisibleEvents:
    condition = scope.condition and put(scope.condition, attribute(SEEN, ex.Index.ONE))
    return replace(scope, condition=condition)
