"""Events that came together and wait: rows that never change, and how many of them still wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.few_events import Events, FewEvents, as_table
from cepheid.engine.encoding.times import check_starts, is_ascending, ticks
from cepheid.pattern.binding.schema import Schema

SEGMENT = 1 << 20
"""Bytes from which on rows are no longer merged with others."""

FAN = 8
"""How many segments of rows of one level are merged into one of the next."""


class StoredRows(Protocol):
    """Rows that never change, wherever they are: in memory, compressed, or in a store."""

    @property
    def size(self) -> int:
        """In bytes, where they are."""

    def table(self) -> pa.Table:
        """The rows as a table of their stream."""


@dataclass(frozen=True, slots=True)
class RowsInMemory:
    """Rows as they came. times: those of the rows in ticks, where they are known.

    ascending: each time is known to be after the one before.
    """

    events: Events
    times: Any = None
    ascending: bool = False

    @property
    def size(self) -> int:
        size: int = as_table(self.events).nbytes
        return size

    def table(self) -> pa.Table:
        return as_table(self.events)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Events that came together.

    count: how many of them wait.
    low, high: the first and the last time of those that wait, in ticks.
    released: how many of the rows, in the order of their times, do not wait any more.
    level: how often arrivals were merged into this one.
    """

    rows: StoredRows
    count: int
    low: int
    high: int
    released: int = 0
    level: int = 0


def arrival_of(schema: Schema, events: Events, times: np.ndarray | None = None, level: int = 0) -> Arrival:
    """Some events, with their times in ticks if these are known."""
    if times is None and isinstance(events, FewEvents) and len(events.rows) == 1 and schema.start is None:
        form = events.form  # nearly every push of a live stream is one event
        time: int = events.rows[0][form.time] // form.scales[form.time]
        return Arrival(RowsInMemory(events, np.array([time], np.int64), True), 1, time, time, level=level)
    if times is None:
        times = events.ticks() if isinstance(events, FewEvents) else ticks(schema, events)
    if schema.start is not None and len(times):
        check_starts(schema, as_table(events), times)
    if not len(times):
        return Arrival(RowsInMemory(events, times), 0, 0, 0, level=level)
    ascending = is_ascending(times)
    low, high = (int(times[0]), int(times[-1])) if ascending else (int(times.min()), int(times.max()))
    return Arrival(RowsInMemory(events, times, ascending), len(times), low, high, level=level)


def is_crowded(levels: Sequence[int]) -> bool:
    """Whether the last segments, given by their levels, are enough of one level to be merged."""
    return len(levels) >= FAN and len(set(levels[-FAN:])) == 1
