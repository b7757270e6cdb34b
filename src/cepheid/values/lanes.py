"""The lane of an event."""

from __future__ import annotations

from cepheid.pattern.binding.bind import Bound
from cepheid.pattern.tree.lanes import Lanes as Lanes
from cepheid.values.keys import group_key
from cepheid.values.rows import Event
from cepheid.values.value import Value


def lane_key(lanes: Lanes, event: Event) -> tuple[Value, ...] | None:
    """Where an event belongs; None if it is in no match, since a value of `[attr]` is NULL."""
    if any(event.values[name] is None for name in lanes.agreed):
        return None
    return tuple(group_key(event.values[name]) for name in lanes.all)


def lane_of(query: Bound) -> Lanes:
    """How the events of a query are split."""
    return query.lanes
