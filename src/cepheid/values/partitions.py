"""The partition of an event."""

from __future__ import annotations

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.partitioning import Partitioning as Partitioning
from cepheid.values.keys import group_key
from cepheid.values.rows import Event
from cepheid.values.value import Value


def partition_key(partitions: Partitioning, event: Event) -> tuple[Value, ...] | None:
    """Where an event belongs; None if it is in no match, since a value of `[attr]` is NULL."""
    if any(event.values[name] is None for name in partitions.agreed):
        return None
    return tuple(group_key(event.values[name]) for name in partitions.all)


def partition_of(query: Runnable) -> Partitioning:
    """How the events of a query are split."""
    return query.partitions
