"""Partitions: PARTITION BY splits the input; `[attr]` tests agree within a run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions.nodes import Literal
from cepheid.values.comparison import equal
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event
from cepheid.values.scope import sight_of
from cepheid.values.value import Value

UNSET = object()
Key = tuple[Value, ...]
"""The value of each `[attr]` test, UNSET until an event of the run has the attribute."""


class Agreement:
    """The `[attr]` tests of a query."""

    def __init__(self, query: Runnable) -> None:
        self.schema = query.schema
        self.tests = query.same
        self.unset: Key = (UNSET,) * len(self.tests)

    def join(self, key: Key, event: Event) -> Key | None:
        """The key with an event added, or None if the event does not agree. NULL agrees with nothing."""
        if not self.tests:
            return key
        joined = list(key)
        for k, test in enumerate(self.tests):
            if not self.schema.has(event.type, test.attribute):
                continue  # missing is not NULL (S3)
            value = event.values[test.attribute]
            wanted = test.value.value if isinstance(test.value, Literal) else value
            if not equal(value, wanted) or (key[k] is not UNSET and not equal(value, key[k])):
                return None
            joined[k] = value
        return tuple(joined)


class Substream:
    """The events that one run can see, in order. `one_key`: all of them agree on every `[attr]`."""

    def __init__(self, events: Sequence[Event], *, one_key: bool) -> None:
        self.events: Sequence[Event] = events
        self.one_key = one_key
        self.index = {event.position: k for k, event in enumerate(events)}
        self.positions = [event.position for event in events]
        self._by_type: dict[frozenset[str], Substream] = {}

    def of_types(self, types: frozenset[str]) -> Substream:
        """Only the events of some types."""
        if types not in self._by_type:
            self._by_type[types] = Substream(
                [event for event in self.events if event.type in types], one_key=self.one_key
            )
        return self._by_type[types]

    def after(self, position: int) -> int:
        """The index of the first event after a position."""
        return bisect_right(self.positions, position)

    def before(self, position: int) -> int:
        """The index after the last event before a position."""
        return bisect_left(self.positions, position)


def substreams(query: Runnable, events: Sequence[Event]) -> Iterator[Substream]:
    """The events of each partition."""
    partitions = query.partitions
    groups: dict[tuple[Value, ...], list[Event]] = {}
    sees = sight_of(query)
    for event in events:
        key = partition_key(partitions, event)
        if sees(event) and key is not None:
            groups.setdefault(key, []).append(event)
    return (Substream(group, one_key=partitions.one_key) for group in groups.values())
