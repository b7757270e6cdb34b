"""Matches as Arrow: a struct for each variable, or a list of structs, and the times of the first and last events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex

FEW = 32_768
"""Rows that are taken at once for all variables: to call Arrow for each takes longer."""


def write_matches(query: Runnable, table: pa.Table, columns_of: MatchColumns) -> pa.Table:
    """One row a match: its times and the events of its variables."""
    events = EventOutput(query.schema, table)
    if sum(map(len, columns_of.rows)) <= FEW:
        events.take_together(columns_of)
    columns = [
        events.lists(columns_of, number, component.variable) if component.array else events.structs(columns_of, number)
        for number, component in enumerate(query.positive)
    ]
    return pa.Table.from_arrays([*events.times(columns_of), *columns], schema=query.match_schema())


def write_times(schema: Schema, table: pa.Table, columns_of: MatchColumns) -> list[pa.Array]:
    """The times at which matches start and end."""
    return EventOutput(schema, table).times(columns_of)


class EventOutput:
    """Events of one table, by their rows."""

    def __init__(self, schema: Schema, table: pa.Table) -> None:
        self.fields = list(schema.arrow)
        self.names = list(schema.columns)
        self.bounds = schema.start or schema.roles.time, schema.roles.time  # where the times of starts and ends are
        self.table = table
        self.taken: list[tuple[np.ndarray, Sequence[pa.Array]]] = []  # the events of some rows, a column each

    def structs(self, columns_of: MatchColumns, number: int, which: ex.AnyIndex = ex.Index.LAST) -> pa.StructArray:
        """The event of a variable in each match, by default its last one; NULL where there is none."""
        place = {ex.Index.FIRST: 1}.get(which) if isinstance(which, ex.Index) else getattr(which, "number", None)
        rows, counts = columns_of.rows[number], columns_of.counts[number]
        if counts is None and place in (None, 1):
            return pa.StructArray.from_arrays(self.events(rows), fields=self.fields)
        counts = np.ones(len(rows), np.int64) if counts is None else counts
        absent = counts < (place or 1)
        ends = np.cumsum(counts, dtype=np.int64)
        index = np.append(rows, rows.dtype.type(0))[
            ends - 1 if place is None else np.where(absent, 0, ends - counts + place - 1)
        ]
        columns = self.take(pa.array(index, mask=absent))
        return pa.StructArray.from_arrays(columns, fields=self.fields, mask=from_numpy(absent))

    def lists(self, columns_of: MatchColumns, number: int, variable: str) -> pa.ListArray:
        """The events of an array in each match: none where its repetition was passed, NULL where it was not reached."""
        rows, counts = columns_of.rows[number], columns_of.counts[number]
        events = pa.StructArray.from_arrays(self.events(rows), fields=self.fields)
        if counts is None:
            return pa.ListArray.from_arrays(from_numpy(np.arange(len(rows) + 1, dtype=np.int32)), events)
        offsets: np.ndarray = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        was_reached: np.ndarray = np.array([variable in names for names in columns_of.reaches])
        absent = np.append((counts == 0) & ~was_reached[columns_of.reached], False)
        ends = pa.array(offsets, mask=absent) if absent.any() else from_numpy(offsets)
        return pa.ListArray.from_arrays(ends, events)

    def times(self, columns_of: MatchColumns) -> list[pa.Array]:
        """The times of the first and the last events: most often a variable has them already."""
        made = []
        for name, rows in zip(self.bounds, (columns_of.first, columns_of.last), strict=True):
            same = (columns for other, columns in self.taken if other is rows or np.array_equal(other, rows))
            columns = next(same, None)
            made.append(columns[self.names.index(name)] if columns is not None else self.column(name, from_numpy(rows)))
        return made

    def take_together(self, columns_of: MatchColumns) -> None:
        """Take the events of all variables at once, each then has a part of them."""
        columns = self.take(from_numpy(np.concatenate(columns_of.rows)))
        begin = 0
        for rows in columns_of.rows:
            self.taken.append((rows, [column.slice(begin, len(rows)) for column in columns]))
            begin += len(rows)

    def events(self, rows: np.ndarray) -> Sequence[pa.Array]:
        """The events of a variable, a column each."""
        for known, columns in self.taken:
            if known is rows:
                return columns
        self.taken.append((rows, self.take(from_numpy(rows))))
        return self.taken[-1][1]

    def take(self, rows: pa.Array) -> list[pa.Array]:
        """Events by their rows, a column each."""
        return [self.column(name, rows) for name in self.names]

    def column(self, name: str, rows: pa.Array) -> pa.Array:
        """A column of some rows."""
        column = self.table.column(name)
        if column.num_chunks == 1:
            return column.chunk(0).take(rows)
        taken = column.take(rows)
        if taken.num_chunks == 1:
            return taken.chunk(0)  # to combine would copy it
        combined = taken.combine_chunks()
        return combined if isinstance(combined, pa.Array) else combined.chunk(0)
