"""Events that have come and are not yet certain to be in order; S1 is made here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.times import ticks
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind
from cepheid.values.columns import column_values
from cepheid.values.keys import sort_key


class Arrivals:
    """A buffer that gives events back in the order of S1, once all that could come before them are in."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.tables: list[pa.Table] = []

    @property
    def waiting(self) -> pa.Table:
        """What is not given back yet."""
        return pa.concat_tables(self.tables) if self.tables else self.schema.arrow.empty_table()

    def add(self, table: pa.Table) -> None:
        """Take in events of the schema."""
        if table.num_rows:
            self.tables.append(_without_hidden_nulls(table))

    def release(self, before: int | None) -> tuple[pa.Table, Any]:
        """The events before a time (None: all), in order, and their times."""
        table = self.tables[0] if len(self.tables) == 1 else self.waiting
        times = ticks(self.schema, table)
        self.tables = []
        if before is not None:
            ready = times < before
            if not ready.all():
                self.tables = [table.filter(pa.array(~ready))]
                table, times = table.filter(pa.array(ready)), times[ready]
        order = arrange(self.schema, table, times)
        return (table, times) if order is None else (table.take(pa.array(order)), times[order])


def _without_hidden_nulls(table: pa.Table) -> pa.Table:
    """A dictionary may have NULL among its words: such a column does not tell where it is NULL."""
    for k, column in enumerate(table.columns):
        arrow = column.type
        if isinstance(arrow, pa.DictionaryType) and any(chunk.dictionary.null_count for chunk in column.chunks):
            words = column.cast(arrow.value_type).dictionary_encode()
            table = table.set_column(k, table.schema.field(k), words.cast(arrow))
    return table


def arrange(schema: Schema, table: pa.Table, times: Any) -> Any:
    """The order of S1 as a permutation, or None where the rows are in it already."""
    if (times[1:] > times[:-1]).all():
        return None
    order = np.argsort(times, kind="stable")
    tied = np.zeros(len(times) + 1, bool)
    tied[1:-1] = times[order][1:] == times[order][:-1]
    at = np.flatnonzero(tied[:-1] | tied[1:])  # all rows that share their time with another
    if len(at):
        rows = order[at]
        keys = [times[rows]]
        among = table.take(pa.array(rows))
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
