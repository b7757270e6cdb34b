"""Which events a query can take: what each of its arcs asks of the event alone (AFA, appendix F)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Language
from cepheid.pattern.tree.scope import EVENT
from cepheid.pattern.tree.uses import uses
from cepheid.pattern.tree.walk import conjuncts, rewrite, walk

E = "e"
"""The variable of the event at hand."""


@dataclass(frozen=True, slots=True)
class TakenEvents:
    """Events that an arc may take: of some types (None: of all), for which conditions on `e` are TRUE.

    An arc may ask for more: others of the events that match this are not taken.
    """

    types: frozenset[str] | None
    conditions: tuple[ex.Expression, ...]


def events_taken(query: Runnable) -> tuple[TakenEvents, ...]:
    """What the arcs of a query can take. An event that is none of these changes nothing, wherever it comes."""
    seen = _seen(query)
    if query.relevance.every is not None:
        return (seen,)
    shared = tuple(_same_values(query))
    return tuple(
        dict.fromkeys(
            TakenEvents(
                _both(_types(query, role.types), seen.types),
                (*seen.conditions, *shared, *alone(role.conditions, query)),
            )
            for role in query.relevance.roles
        )
    )


def last_taken(query: Runnable) -> tuple[TakenEvents, ...]:
    """What the arcs can take that end a match, where the query says which these are."""
    return _LAST[query.language](query)


def _last_of_pattern(query: Runnable) -> tuple[TakenEvents, ...]:
    ends = {number for number, moves in enumerate(query.layout.moves) if any(move.target is None for move in moves)}
    arcs = (
        TakenEvents(_both(_types(query, role.types), _seen(query).types), tuple(alone(role.conditions, query)))
        for role in query.relevance.roles
        if role.place in ends
    )
    return tuple(dict.fromkeys(arcs))


_LAST: Mapping[Language, Callable[[Runnable], tuple[TakenEvents, ...]]] = {
    Language.PATTERN: _last_of_pattern,
    Language.AUTOMATON: lambda _: (),
    Language.CESAR: lambda _: (),
}


def _seen(query: Runnable) -> TakenEvents:
    """The events that FROM lets through."""
    scope = query.scope
    if scope is None:
        return TakenEvents(None, ())
    condition = () if scope.condition is None else conjuncts(scope.condition)
    return TakenEvents(frozenset(scope.types) or None, tuple(alone(condition, query, EVENT)))


def _types(query: Runnable, types: Iterable[str]) -> frozenset[str] | None:
    return None if query.schema.roles.type is None else frozenset(types) or None


def _both(types: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return types if other is None else other if types is None else types & other


def _same_values(query: Runnable) -> Iterator[ex.Expression]:
    """`[attr = 'v']`: every event that is taken has the value. Declared types may lack the attribute."""
    if query.schema.roles.types is not None:
        return
    for test in query.same:
        if test.attribute not in query.schema.columns:
            continue
        attribute = ex.Attribute(E, ex.Index.ONE, test.attribute)
        if test.value is not None:
            yield query.typer.condition(ex.Compare("=", attribute, test.value))
        else:
            yield ex.IsNull(attribute, negated=True)


def alone(conditions: Iterable[ex.Expression], query: Runnable, variable: str | None = None) -> Iterator[ex.Expression]:
    """Those of some conditions that read one event and nothing else, written with `e`.

    Where types are declared none is used: what an event lacks makes a condition TRUE (S3). Nor is one with a function
    of the user, which may return another value each time.
    """
    if query.schema.roles.types is not None:
        return
    for condition in conditions:
        reads = uses(condition)
        if any(isinstance(node, ex.Call) and node.function in query.functions for node in walk(condition)):
            continue
        if len({(use.variable, use.index) for use in reads}) != 1 or any(use.whole or use.counts for use in reads):
            continue
        index = reads[0].index
        if index not in (ex.Index.ONE, ex.Index.FIRST, ex.Index.CURRENT, ex.Index.EACH):
            continue
        if variable is None or reads[0].variable == variable:
            yield from map(_of_event, conjuncts(condition))


def _of_event(condition: ex.Expression) -> ex.Expression:
    def change(node: ex.Expression) -> ex.Expression:
        return ex.Attribute(E, ex.Index.ONE, node.name) if isinstance(node, ex.Attribute) else node

    return rewrite(condition, change)
