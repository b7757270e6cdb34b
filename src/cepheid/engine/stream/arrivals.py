"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table, from_numpy
from cepheid.engine.encoding.few_events import Events, FewEvents, as_table, joined
from cepheid.engine.encoding.times import ticks
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind
from cepheid.values.columns import column_values
from cepheid.values.keys import sort_key


@dataclass(frozen=True, slots=True)
class Arrival:
    """Events that came together and their times. `number`: that of those that came later is larger."""

    low: int  # the first of the times, by which arrivals are sorted
    high: int  # the last
    number: int
    events: Events
    times: Any
    ascending: bool  # each time is after the one before: then the events are in order

    def part(self, wanted: Any) -> Arrival:
        """Some of the events, at least one."""
        times = self.times[wanted]
        ascending = self.ascending or is_arranged(times)
        low, high = _bounds(times, ascending=ascending)
        return Arrival(low, high, self.number, as_table(self.events).filter(from_numpy(wanted)), times, ascending)

    def __lt__(self, other: Arrival) -> bool:
        return self.low < other.low


class Arrivals:
    """A buffer that gives events back in the order of S1, once all that could come before them are in."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.waiting: list[Arrival] = []  # a heap: the one with the first event is its first
        self._number = 0
        self._coded = [
            k for k, column in enumerate(schema.columns.values()) if isinstance(column.arrow, pa.DictionaryType)
        ]

    @property
    def table(self) -> pa.Table:
        """All events that wait."""
        events = [arrival.events for arrival in _in_order(self.waiting)]
        return as_table(joined(events)) if events else empty_table(self.schema.arrow)

    def add(self, events: Events, times: Any = None) -> None:
        """Take in events of the schema, whose times may be known."""
        if not events.num_rows:
            return
        if not isinstance(events, FewEvents):
            times = ticks(self.schema, events) if times is None else times
            events = self._without_hidden_nulls(events)
        self._number += 1
        ascending = is_arranged(times)
        heappush(self.waiting, Arrival(*_bounds(times, ascending=ascending), self._number, events, times, ascending))

    def release(self, before: int | None) -> tuple[Events, Any] | None:
        """The events before a time (None: all), in order, and their times; None if there are none."""
        found = []
        while self.waiting and (before is None or self.waiting[0].low < before):
            found.append(heappop(self.waiting))
        if not found:
            return None
        ready = []
        for arrival in _in_order(found):
            if before is not None and arrival.high >= before:
                now = arrival.times < before
                heappush(self.waiting, arrival.part(~now))
                arrival = arrival.part(now)
            ready.append(arrival)
        events, times = ready[0].events, ready[0].times
        if len(ready) > 1:
            events = joined(arrival.events for arrival in ready)
            times = np.concatenate([arrival.times for arrival in ready])
        if all(arrival.ascending for arrival in ready) and all(a.high < b.low for a, b in pairwise(ready)):
            return events, times
        table = as_table(events)
        order = arrange(self.schema, table, times)
        return table.take(from_numpy(order)), times[order]

    def _without_hidden_nulls(self, table: pa.Table) -> pa.Table:
        """A dictionary may have NULL among its words: such a column does not tell where it is NULL."""
        for k in self._coded:
            column = table.column(k)
            if any(chunk.dictionary.null_count for chunk in column.chunks):
                field = table.schema.field(k)
                words = column.cast(field.type.value_type).dictionary_encode()
                table = table.set_column(k, field, words.cast(field.type))
        return table


def _bounds(times: Any, *, ascending: bool) -> tuple[int, int]:
    """The least and the greatest of some times."""
    return (int(times[0]), int(times[-1])) if ascending else (int(times.min()), int(times.max()))


def _in_order(arrivals: list[Arrival]) -> list[Arrival]:
    """As they came."""
    return sorted(arrivals, key=lambda arrival: arrival.number) if len(arrivals) > 1 else arrivals


def is_arranged(times: Any) -> bool:
    """Whether rows are in the order of S1 by their times alone."""
    return len(times) == 1 or bool((times[1:] > times[:-1]).all())


def arrange(schema: Schema, table: pa.Table, times: Any) -> Any:
    """The order of S1 as a permutation."""
    order = np.argsort(times, kind="stable")
    tied = np.zeros(len(times) + 1, bool)
    tied[1:-1] = times[order][1:] == times[order][:-1]
    at = np.flatnonzero(tied[:-1] | tied[1:])  # all rows that share their time with another
    if len(at):
        rows = order[at]
        keys = [times[rows]]
        among = table.take(from_numpy(rows))
        for name in (*schema.roles.order_by, *schema.columns):
            keys += _ranks(schema, among, name)
        order[at] = rows[np.lexsort(keys[::-1])]
    return order


def _ranks(schema: Schema, table: pa.Table, name: str) -> list[Any]:
    """A column as numbers that sort as its values do: NULL first, NaN last."""
    column = table.column(name)
    kind = schema.columns[name].kind
    if kind in (Kind.INT, Kind.DATE) and not column.null_count:
        return [np.array(column_values(column), np.int64)]
    values = column_values(column)
    keys = [sort_key(value) for value in values]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [np.array([ranks[key] for key in keys], np.int64)]
