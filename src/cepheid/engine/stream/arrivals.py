"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Events that came together, their times, and the first and the last of these."""

    table: pa.Table
    times: Any
    low: int
    high: int


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
            self._keep(_without_hidden_nulls(table), found)

    def _keep(self, table: pa.Table, times: Any) -> None:
        self.waiting.append(Arrival(table, times, int(times.min()), int(times.max())))

    def release(self, before: int | None) -> tuple[pa.Table, Any] | None:
        """The events before a time (None: all), in order, and their times; None if there are none."""
        ready: list[tuple[pa.Table, Any]] = []
        arrivals, self.waiting = self.waiting, []
        for arrival in arrivals:
            if before is None or arrival.high < before:
                ready.append((arrival.table, arrival.times))
            elif arrival.low >= before:
                self.waiting.append(arrival)
            else:
                now = arrival.times < before
                ready.append((arrival.table.filter(from_numpy(now)), arrival.times[now]))
                self._keep(arrival.table.filter(from_numpy(~now)), arrival.times[~now])
        if not ready:
            return None
        table, times = ready[0]
        if len(ready) > 1:
            table, times = pa.concat_tables([t for t, _ in ready]), np.concatenate([t for _, t in ready])
        order = arrange(self.schema, table, times)
        return (table, times) if order is None else (table.take(from_numpy(order)), times[order])


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
