"""The roles that events have in a pattern."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.front.clauses import types_in_scope
from cepheid.front.relevance import EventRole, EveryEvent, Relevance
from cepheid.front.runnable import BoundQuery
from cepheid.pattern.binding.placement import TestedAt
from cepheid.pattern.tree.nodes import Strategy


def relevance_of(query: BoundQuery) -> Relevance:
    """The events at the places of a pattern and those that must be absent, unless others end runs or are counted."""
    roles, every = tuple(_roles(query)), _every_event(query)
    if every is not None or query.schema.roles.type is None or not all(role.types for role in roles):
        return Relevance(types_in_scope(query), roles, every)
    return Relevance(frozenset(name for role in roles for name in role.types), roles)


def _every_event(query: BoundQuery) -> EveryEvent | None:
    first: dict[Strategy, str] = {}
    for variable, strategy in query.strategies.items():
        first.setdefault(strategy, variable)
    if Strategy.STRICT in first:
        reason = f"strict_contiguity of {first[Strategy.STRICT]} depends on every event in between"
        return EveryEvent(reason, of_partition=False)
    if Strategy.PARTITION in first:
        return EveryEvent(
            f"partition_contiguity of {first[Strategy.PARTITION]} depends on every event of its partition"
        )
    if query.within is not None and query.within.events is not None:
        return EveryEvent(f"WITHIN {query.within.events} events counts all events of a partition")
    return None


def _roles(query: BoundQuery) -> Iterator[EventRole]:
    placement, layout = query.placement, query.layout
    for number, place in enumerate(layout.places):
        tests = placement.at_place.get(number, ())
        # An event of an array is the first or a later one, and these have conditions of their own.
        array = query.components[place.variable].array
        for wanted in (TestedAt.FIRST, TestedAt.LATER) if array else (TestedAt.ALWAYS,):
            conditions = tuple(c for when, c in tests if when in (TestedAt.ALWAYS, wanted))
            yield EventRole(number, place.event.types, conditions)
    for number, absent in enumerate(layout.negations):
        yield EventRole(None, absent.event.types, placement.of_witness.get(number, ()))
