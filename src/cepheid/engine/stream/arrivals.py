"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table, from_numpy
from cepheid.engine.encoding.times import ticks
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind
from cepheid.values.columns import column_values
from cepheid.values.keys import sort_key


@dataclass(frozen=True, slots=True)
class Arrival:
    """Events that came together, their times, and the least and the greatest of these."""

    table: pa.Table
    times: Any
    low: int
    high: int
    ascending: bool  # each time is after the one before: then the events are in order

    def part(self, wanted: Any) -> Arrival:
        """Some of the events, at least one."""
        times = self.times[wanted]
        table = self.table.filter(from_numpy(wanted))
        return _arrival(table, times) if not self.ascending else Arrival(table, times, *_ends(times), ascending=True)


class Arrivals:
    """A buffer that gives events back in the order of S1, once all that could come before them are in."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.waiting: list[Arrival] = []

    @property
    def table(self) -> pa.Table:
        """All events that wait."""
        tables = [arrival.table for arrival in self.waiting]
        return pa.concat_tables(tables) if tables else empty_table(self.schema.arrow)

    def add(self, table: pa.Table, times: Any = None) -> None:
        """Take in events of the schema."""
        if table.num_rows:
            found = ticks(self.schema, table) if times is None else times
            self.waiting.append(_arrival(_without_hidden_nulls(table), found))

    def release(self, before: int | None) -> tuple[pa.Table, Any] | None:
        """The events before a time (None: all), in order, and their times; None if there are none."""
        ready: list[Arrival] = []
        arrivals, self.waiting = self.waiting, []
        for arrival in arrivals:
            if before is None or arrival.high < before:
                ready.append(arrival)
            elif arrival.low >= before:
                self.waiting.append(arrival)
            else:
                now = arrival.times < before
                ready.append(arrival.part(now))
                self.waiting.append(arrival.part(~now))
        if not ready:
            return None
        table, times = ready[0].table, ready[0].times
        if len(ready) > 1:
            table = pa.concat_tables([arrival.table for arrival in ready])
            times = np.concatenate([arrival.times for arrival in ready])
        if all(arrival.ascending for arrival in ready) and all(a.high < b.low for a, b in pairwise(ready)):
            return table, times
        order = arrange(self.schema, table, times)
        return table.take(from_numpy(order)), times[order]


def _arrival(table: pa.Table, times: Any) -> Arrival:
    """Events as they come: mostly in the order of their times, which then need not be searched for their bounds."""
    ascending = len(times) == 1 or bool((times[1:] > times[:-1]).all())
    low, high = _ends(times) if ascending else (int(times.min()), int(times.max()))
    return Arrival(table, times, low, high, ascending)


def _ends(times: Any) -> tuple[int, int]:
    return int(times[0]), int(times[-1])


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
