"""What a step of a query means, in one language, and what waits between the steps of one partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import pyarrow as pa

from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.front.runnable import Runnable
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

PartitionKey = tuple[Value, ...]
P = TypeVar("P")


class Stepper(Protocol[P]):
    """The steps of one query. Its machine calls `step` for each instant of a partition that has an event in it.

    When time has moved on, it calls `settle` for each partition, drops those that are idle, and then calls `emit`.
    Times are in nanoseconds.
    """

    splits: bool
    """Whether matches of some partitions may be emitted before earlier ones of others."""
    by_instant: bool
    """Whether the events of one time are one step."""

    def begin(self) -> P:
        """What a partition has before its first event."""

    def step(self, partition: P, instant: Sequence[Event]) -> None:
        """Go on with an event, or with all of an instant."""

    def settle(self, partition: P, reached: int | None, horizon: int | None) -> None:
        """Decide what is certain of a partition, of which all events before a time (None: all) are in.

        horizon: where all are in, until when absences are known; None: the end of the input ends them.
        """

    def emit(self, partitions: Mapping[PartitionKey, P], watermark: int | None, base: int) -> MatchTable | Matches:
        """The matches that were decided, whose rows count from `base`."""

    def end_runs(self, partition: P, before: int) -> None:
        """Drop runs whose window is over at a time."""

    def runs(self, partition: P) -> int:
        """How many runs are alive."""

    def is_idle(self, partition: P) -> bool:
        """Whether a partition is as before its first event."""

    def bytes(self, partition: P) -> int:
        """An estimate: Python objects are not counted one by one."""

    def unsettled(self, partitions: Mapping[PartitionKey, P]) -> int | None:
        """The first event at which a match ends that is not certain yet."""

    def compact(self, partitions: dict[PartitionKey, P], watermark: int) -> int | None:
        """Drop what no match to come can need, before a time in ticks; the first event that one can have."""

    def dump(self, partitions: Mapping[PartitionKey, P]) -> StateFacts: ...

    def load(self, facts: StateFacts, rows: KeptRows) -> dict[PartitionKey, P]: ...


def events_of(query: Runnable, table: pa.Table, first: int) -> list[Event]:
    """The rows of a stream from an id on as events, whose positions are ids."""
    return [
        replace(event, row=first + event.row, position=first + event.row) for event in read_rows(table, query.schema)
    ]
