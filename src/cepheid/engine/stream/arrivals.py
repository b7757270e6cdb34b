"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.columns import as_dictionary, type_codes
from cepheid.engine.encoding.content_order import TiedRows
from cepheid.engine.encoding.dictionaries import with_one_dictionary_each
from cepheid.engine.encoding.few_events import FEW, Events, FewEvents, as_table, joined
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.encoding.tied_in_partitions import arrange_in_partitions
from cepheid.engine.encoding.times import is_ascending, ticks
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.rows import FAN, SEGMENT, Arrival, RowsInMemory, arrival_of, is_crowded
from cepheid.kernel.compile import has_compiler
from cepheid.pattern.binding.schema import Schema
from cepheid.values.keys import sort_key

MANY = 100_000
"""Tied events from which on it pays to order only those of one partition, and the matches when they are read."""

Timed = tuple[Events, np.ndarray]
"""Some events and their times in ticks."""


class Arrivals:
    """The waiting room: it gives events back in the order of S1, once all that could come before them are in.

    types: those of events that matches depend on, None for all. Others are not ordered by their content.
    index: the partitions, where matches depend on the order of events of one partition only; None: on that of all.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.types: frozenset[str] | None = None
        self.index: PartitionIndex | None = None
        self.mixes = False  # whether events of one time in different partitions were released as they came
        self._heap: list[tuple[int, int, Arrival]] = []  # by the first time, then as they came
        self._number = 0
        self._coded = [
            k for k, column in enumerate(schema.columns.values()) if isinstance(column.arrow, pa.DictionaryType)
        ]

    @property
    def waiting(self) -> list[Arrival]:
        """What waits, as it came."""
        return [arrival for _, _, arrival in sorted(self._heap, key=itemgetter(1))]

    def add(self, arrival: Arrival) -> None:
        """Take in events of the schema."""
        if arrival.count:
            self._number += 1
            heappush(self._heap, (arrival.low, self._number, arrival))

    def before(self, time: int) -> int:
        """How many events may be released when the watermark is at a time: all of arrivals that begin before it."""
        return sum(arrival.count for low, _, arrival in self._heap if low < time)

    def read(self, arrival: Arrival) -> Timed:
        """The events of an arrival that wait, in the order of time if others of it were released."""
        rows = arrival.rows
        events = rows.events if isinstance(rows, RowsInMemory) else rows.table()
        if not isinstance(events, FewEvents):
            events = self._without_hidden_nulls(events)
        known = rows.times if isinstance(rows, RowsInMemory) else None
        times = ticks(self.schema, as_table(events)) if known is None else known
        if not arrival.released:
            return events, times
        table, times = _by_time(as_table(events), times)
        return table.slice(arrival.released), times[arrival.released :]

    def release(self, before: int | None) -> Timed | None:
        """The events before a time (None: all), in order, and their times; None if there are none."""
        if before is not None and (only := self._only_before(before)) is not None:
            events, times = self.read(only)
            ordered = isinstance(only.rows, RowsInMemory) and only.rows.ascending
            return (events, times) if ordered else self._in_order(events, times)
        waiting = []
        while self._heap and (before is None or self._heap[0][0] < before):
            waiting.append(heappop(self._heap))
        if not waiting:
            return None
        waiting.sort(key=itemgetter(1))
        whole = before is None or all(arrival.high < before for _, _, arrival in waiting)
        ready: list[Timed] = []
        for _, number, arrival in waiting:
            if before is None or arrival.high < before:
                ready.append(self.read(arrival))
            else:
                released, rest = self._divide(arrival, before)
                ready.append(released)
                heappush(self._heap, (rest.low, number, rest))
        events, times = self._concatenated(ready)
        if whole and _follow([arrival for _, _, arrival in waiting]):
            return events, times
        return self._in_order(events, times)

    def _only_before(self, time: int) -> Arrival | None:
        """Take out the one arrival that begins before a time, and ends before it: in most calls there is one."""
        heap = self._heap
        if not heap or heap[0][2].high >= time:
            return None
        others = len(heap) > 1 and (heap[1][0] < time or (len(heap) > 2 and heap[2][0] < time))
        return None if others else heappop(heap)[2]

    def take_out(self, wanted: Callable[[Events, Any], Any]) -> Timed | None:
        """Release some events before their turn: those of which others tell that they are wanted, in order."""
        ready: list[Timed] = []
        left: list[Arrival] = []
        for arrival in self.waiting:
            events, times = self.read(arrival)
            flags = wanted(events, times)
            if not flags.any():
                left.append(arrival)
                continue
            table = as_table(events)
            ready.append((table.filter(from_numpy(flags)), times[flags]))
            if not flags.all():
                left.append(arrival_of(self.schema, table.filter(from_numpy(~flags)), times[~flags]))
        if not ready:
            return None
        self._fill(left)
        return self._in_order(*self._concatenated(ready))

    def _in_order(self, events: Events, times: np.ndarray) -> Timed:
        """Events in the order of S1."""
        if is_ascending(times):
            return events, times
        if isinstance(events, FewEvents) and len(times) < FEW:
            return _arranged_few(self.schema, events, times)
        table, kind = as_table(events), self.schema.roles.type
        known = {} if kind is None else {kind: pa.chunked_array([as_dictionary(table.column(kind))])}
        if self.index is not None and len(times) >= MANY and has_compiler() and _in_time(times):
            self.mixes = True
            return arrange_in_partitions(self.schema, table, times, self.index, self.types, known), times
        order = arrange(self.schema, table, times, self.types, known)
        if order is None:
            return table, times
        # Rows that were in the order of time have only changed places with others of their time.
        return Reordered(table, order, known), times if _in_time(times) else times[order]

    def _divide(self, arrival: Arrival, before: int) -> tuple[Timed, Arrival]:
        """The events of an arrival before a time, and the arrival without them. What is stored stays as it is."""
        events, times = self.read(arrival)
        table, times = _by_time(as_table(events), times)
        at = int(np.searchsorted(times, before))
        rest = replace(arrival, count=len(times) - at, low=int(times[at]), released=arrival.released + at)
        if isinstance(arrival.rows, RowsInMemory):
            rows = RowsInMemory(table.slice(at), times[at:], ascending=arrival.rows.ascending)
            rest = replace(rest, rows=rows, released=0)
        return (table.slice(0, at), times[:at]), rest

    def _concatenated(self, parts: list[Timed]) -> Timed:
        """All of some events; a column of codes has one dictionary."""
        if len(parts) == 1:
            return parts[0]
        events = joined(events for events, _ in parts)
        if self._coded and not isinstance(events, FewEvents):
            events = with_one_dictionary_each(events)
        return events, np.concatenate([times for _, times in parts])

    def _without_hidden_nulls(self, table: pa.Table) -> pa.Table:
        """A dictionary may have NULL among its words: such a column does not tell where it is NULL."""
        for k in self._coded:
            column = table.column(k)
            if any(chunk.dictionary.null_count for chunk in column.chunks):
                field = table.schema.field(k)
                words = column.cast(field.type.value_type).dictionary_encode()
                table = table.set_column(k, field, words.cast(field.type))
        return table

    # The state.

    def save(self, place: str, sink: Sink) -> list[list[Any]]:
        """Write down what waits. Rows that the sink has already are not written again."""
        waiting = self._merged()
        saved = []
        for k, arrival in enumerate(waiting):
            part, rows = sink.hold(f"{place}.{k}", arrival.rows)
            waiting[k] = arrival if rows is arrival.rows else replace(arrival, rows=rows)
            saved.append([part, arrival.count, arrival.low, arrival.high, arrival.released, arrival.level])
        self._fill(waiting)
        return saved

    def load(self, saved: list[list[Any]], source: PartSource) -> None:
        self._fill([Arrival(source.held(part), *facts) for part, *facts in saved])

    def _fill(self, waiting: list[Arrival]) -> None:
        self._number = len(waiting)
        self._heap = [(arrival.low, number, arrival) for number, arrival in enumerate(waiting, start=1)]
        heapify(self._heap)

    def _merged(self) -> list[Arrival]:
        """What waits, small arrivals merged, so that there are never many of them and no row is written often."""
        merged: list[Arrival] = []
        for arrival in self.waiting:
            merged.append(arrival)
            while is_crowded([small.level for small in merged]):
                last = merged[-FAN:]
                if sum(small.rows.size for small in last) > SEGMENT:
                    break
                events, times = self._concatenated([self.read(small) for small in last])
                merged[-FAN:] = [arrival_of(self.schema, events, times, level=last[0].level + 1)]
        return merged


def _follow(arrivals: list[Arrival]) -> bool:
    """Whether arrivals are known to be in order, one after the other."""
    known = all(isinstance(arrival.rows, RowsInMemory) and arrival.rows.ascending for arrival in arrivals)
    return known and all(earlier.high < later.low for earlier, later in pairwise(arrivals))


def _in_time(times: np.ndarray) -> bool:
    """Whether no time is before the one before."""
    return bool((times[1:] >= times[:-1]).all())


def _by_time(table: pa.Table, times: np.ndarray) -> tuple[pa.Table, np.ndarray]:
    """The events in the order of their times; those of one time stay in their order."""
    if _in_time(times):
        return table, times
    order = np.argsort(times, kind="stable")
    return table.take(from_numpy(order)), times[order]


def arrange(
    schema: Schema,
    table: pa.Table | Reordered,
    times: np.ndarray,
    types: frozenset[str] | None = None,
    known: Mapping[str, pa.ChunkedArray] = MappingProxyType({}),
) -> Any:
    """The order of S1 as a permutation, or None where the rows are in it already.

    types: events of other types keep the places that they have among those of their time.
    known: columns of the table as codes.
    """
    if is_ascending(times):
        return None
    ordered = _in_time(times)
    order = np.arange(len(times), dtype=np.int32) if ordered else np.argsort(times, kind="stable").astype(np.int32)
    if types is not None and not types:
        return None if ordered else order
    at = np.arange(len(times)) if types is None else _of_types(schema, table, known, types, None if ordered else order)
    by_time = times[at] if ordered else times[order[at]]
    same = np.zeros(len(at) + 1, bool)
    same[1:-1] = by_time[1:] == by_time[:-1]
    tied = same[:-1] | same[1:]  # all rows that share their time with another
    if not tied.any():
        return None if ordered else order
    at = at[tied]
    rows = order[at]
    whole = ordered and len(at) == len(times)
    ties = TiedRows(rows.copy(), np.cumsum(~same[:-1][tied], dtype=np.int32) - 1, whole=whole)
    for name in dict.fromkeys((*schema.roles.order_by, *schema.columns)):
        if not ties:
            break
        if name != schema.roles.time:
            ties.split(known[name] if name in known else table.column(name))
    in_order = ties.rows
    if ordered and (in_order == rows).all():
        return None
    order[at] = in_order
    return order


def _of_types(
    schema: Schema,
    table: pa.Table | Reordered,
    known: Mapping[str, pa.ChunkedArray],
    types: frozenset[str],
    order: np.ndarray | None,
) -> np.ndarray:
    """The places of the rows of some types in an order of all rows, or as they are."""
    kind = schema.roles.type
    assert kind is not None
    codes, names = type_codes(known[kind] if kind in known else table.column(kind))
    wanted = np.array([name in types for name in names])
    is_wanted = wanted[codes]
    return np.flatnonzero(is_wanted if order is None else is_wanted[order])


def _arranged_few(schema: Schema, events: FewEvents, times: np.ndarray) -> Timed:
    """The same of a few events, one by one."""
    places = [events.form.places[name] for name in (schema.roles.time, *schema.roles.order_by, *schema.columns)]
    order = sorted(range(len(times)), key=lambda k: [sort_key(events.rows[k][place]) for place in places])
    return FewEvents(events.form, [events.rows[k] for k in order]), times[order]
