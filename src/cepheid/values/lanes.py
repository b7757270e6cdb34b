"""Lanes: what splits the input, so that no run sees the events of another lane."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.bind import Bound
from cepheid.pattern.tree import Strategy
from cepheid.values.keys import group_key
from cepheid.values.rows import Event
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True)
class Lanes:
    """What splits the input: PARTITION BY, which groups NULLs (S3), and `[attr]` where that makes no difference.

    Where no strategy is strict, events with another `[attr]` value are ignored by every run of a key, so they can be
    left out: the answer is the same, and a long stream of many keys stays bearable. Declared types may lack the
    attribute; then no event is left out.
    """

    columns: tuple[str, ...]
    agreed: tuple[str, ...]
    one_key: bool

    def key(self, event: Event) -> tuple[Value, ...] | None:
        """Where an event belongs; None if it is in no match."""
        if any(event.values[name] is None for name in self.agreed):
            return None
        return tuple(group_key(event.values[name]) for name in self.columns + self.agreed)


def lane_of(query: Bound) -> Lanes:
    """How the events of a query are split."""
    agreed = tuple(test.attribute for test in query.same)
    if Strategy.STRICT in query.strategies.values() or query.schema.roles.types is not None:
        agreed = ()
    return Lanes(query.partition_by, agreed, len(agreed) == len(query.same))
