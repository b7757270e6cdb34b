"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.times import ticks
from cepheid.engine.stream.parts import Sink, Source
from cepheid.engine.stream.rows import FAN, SEGMENT, Arrival, RowsInMemory, arrival_of, is_crowded
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind
from cepheid.values.columns import column_values
from cepheid.values.keys import sort_key

Events = tuple[pa.Table, Any]
"""Some events and their times in ticks."""


class Arrivals:
    """The waiting room: it gives events back in the order of S1, once all that could come before them are in."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.waiting: list[Arrival] = []

    def add(self, arrival: Arrival) -> None:
        """Take in events of the schema."""
        if arrival.count:
            self.waiting.append(arrival)

    def before(self, time: int) -> int:
        """How many events may be released when the watermark is at a time: all of arrivals that begin before it."""
        return sum(arrival.count for arrival in self.waiting if arrival.low < time)

    def read(self, arrival: Arrival) -> Events:
        """The events of an arrival that wait, in the order of time if others of it were released."""
        rows = arrival.rows
        table = _without_hidden_nulls(rows.table())
        known = rows.times if isinstance(rows, RowsInMemory) else None
        times = ticks(self.schema, table) if known is None else known
        if not arrival.released:
            return table, times
        table, times = _by_time(table, times)
        return table.slice(arrival.released), times[arrival.released :]

    def release(self, before: int | None) -> Events | None:
        """The events before a time (None: all), in order, and their times; None if there are none."""
        ready: list[Events] = []
        arrivals, self.waiting = self.waiting, []
        for arrival in arrivals:
            if before is None or arrival.high < before:
                ready.append(self.read(arrival))
            elif arrival.low >= before:
                self.waiting.append(arrival)
            else:
                now, rest = self._divide(arrival, before)
                ready.append(now)
                self.waiting.append(rest)
        if not ready:
            return None
        table, times = _concatenated(ready)
        order = arrange(self.schema, table, times)
        return (table, times) if order is None else (table.take(from_numpy(order)), times[order])

    def _divide(self, arrival: Arrival, before: int) -> tuple[Events, Arrival]:
        """The events of an arrival before a time, and the arrival without them. What is stored stays as it is."""
        table, times = _by_time(*self.read(arrival))
        at = int(np.searchsorted(times, before))
        rest = replace(arrival, count=len(times) - at, low=int(times[at]), released=arrival.released + at)
        if isinstance(arrival.rows, RowsInMemory):
            rest = replace(rest, rows=RowsInMemory(table.slice(at), times[at:]), released=0)
        return (table.slice(0, at), times[:at]), rest

    # The state.

    def save(self, place: str, sink: Sink) -> list[list[Any]]:
        """Write down what waits. Rows that the sink has already are not written again."""
        self._merge()
        saved = []
        for k, arrival in enumerate(self.waiting):
            found, rows = sink.hold(f"{place}.{k}", arrival.rows)
            self.waiting[k] = arrival if rows is arrival.rows else replace(arrival, rows=rows)
            saved.append([found, arrival.count, arrival.low, arrival.high, arrival.released, arrival.level])
        return saved

    def load(self, saved: list[list[Any]], source: Source) -> None:
        """Take up what was written down."""
        self.waiting = [Arrival(source.held(found), *facts) for found, *facts in saved]

    def _merge(self) -> None:
        """Merge small arrivals, so that there are never many of them and no row is written often."""
        while is_crowded([arrival.level for arrival in self.waiting]):
            last = self.waiting[-FAN:]
            if sum(arrival.rows.size for arrival in last) > SEGMENT:
                return
            merged = _concatenated([self.read(arrival) for arrival in last])
            self.waiting[-FAN:] = [arrival_of(self.schema, *merged, level=last[0].level + 1)]


def _concatenated(events: list[Events]) -> Events:
    """All of some events; a column of codes has one dictionary."""
    if len(events) == 1:
        return events[0]
    table = pa.concat_tables([table for table, _ in events]).unify_dictionaries()
    return table, np.concatenate([times for _, times in events])


def _by_time(table: pa.Table, times: Any) -> Events:
    """The events in the order of their times; those of one time stay in their order."""
    if (times[1:] >= times[:-1]).all():
        return table, times
    order = np.argsort(times, kind="stable")
    return table.take(from_numpy(order)), times[order]


def _without_hidden_nulls(table: pa.Table) -> pa.Table:
    """A dictionary may have NULL among its words: such a column does not tell where it is NULL."""
    for k, field in enumerate(table.schema):
        arrow = field.type
        if not isinstance(arrow, pa.DictionaryType):
            continue
        column = table.column(k)
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            words = column.cast(arrow.value_type).dictionary_encode()
            table = table.set_column(k, table.schema.field(k), words.cast(arrow))
    return table


def arrange(schema: Schema, table: pa.Table, times: Any) -> Any:
    """The order of S1 as a permutation, or None where the rows are in it already."""
    if len(times) == 1 or (times[1:] > times[:-1]).all():
        return None
    ordered = bool((times[1:] >= times[:-1]).all())
    order = np.arange(len(times)) if ordered else np.argsort(times, kind="stable")
    by_time = times if ordered else times[order]
    tied = np.zeros(len(times) + 1, bool)
    tied[1:-1] = by_time[1:] == by_time[:-1]
    at = np.flatnonzero(tied[:-1] | tied[1:])  # all rows that share their time with another
    if len(at):
        rows = order[at]
        keys = [times[rows]]
        among = table.take(from_numpy(rows))
        for name in (*schema.roles.order_by, *schema.columns):
            keys += _ranks(schema, among, name)
        order[at] = rows[np.lexsort(keys[::-1])]
    return None if ordered and (order[at] == at).all() else order


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
