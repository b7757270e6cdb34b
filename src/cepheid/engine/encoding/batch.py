"""Events of one stream, in order, and what queries read of them: each array is made once, however many queries ask."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.columns import (
    Unfit,
    few_numbers,
    few_type_codes,
    few_values,
    nulls,
    numbers_of,
    type_codes,
    type_numbers,
)
from cepheid.engine.encoding.derived import Derived
from cepheid.engine.encoding.few_events import FEW, Events, FewEvents, as_table
from cepheid.engine.encoding.instants import last_of_instants
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.engine.encoding.pieces import NO_PIECES, Pieces
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.encoding.strings import Strings
from cepheid.engine.encoding.times import ticks_of
from cepheid.engine.progress import Report
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.columns import column_values
from cepheid.values.value import Value


class StreamCodes:
    """Maps the strings and keys of a stream to numbers, which are the same for every query that reads it."""

    def __init__(self, schema: Schema, *, once: bool = False) -> None:
        self.schema = schema
        self.once = once  # all events come at once: a key need not be found again
        self.strings = Strings()
        self.keys: dict[Partitioning, PartitionIndex] = {}
        self.derived: dict[str, Derived] = {}  # columns that queries compute, by what they compute
        self.pieces = NO_PIECES
        self._kinds = {name: type_.kind for name, type_ in schema.columns.items()}

    def derive(self, columns: Mapping[str, Derived], pieces: Pieces | None = None) -> None:
        """A query reads columns that are not in the events; and some that are a function of the time."""
        self.derived |= columns
        if pieces is not None:
            self.pieces = pieces
        self._kinds |= {name: column.type.kind for name, column in columns.items()}

    def kind(self, column: str) -> Kind:
        """The kind of a column."""
        return self._kinds[column]

    def partitions(self, partitions: Partitioning) -> PartitionIndex:
        """The numbers of the partitions, for one way to split the stream."""
        if partitions not in self.keys:
            self.keys[partitions] = PartitionIndex(partitions, self._kinds, once=self.once)
        return self.keys[partitions]


class Batch:
    """The next events of a stream in the order of S1. `first`: the id of the first one; ids grow by one.

    `report`: whom a query tells how many of them it has gone over, if anyone wants to know.
    """

    def __init__(self, codes: StreamCodes, events: Events, times: np.ndarray, first: int) -> None:
        self.codes = codes
        self.schema = codes.schema
        self.events = events
        self.times = times
        self.first = first
        self.report: Report | None = None
        self.floor: int | None = None  # where the events are of partitions that are ahead: how far the others are
        self.few = len(times) < FEW
        self._cells: dict[str, list[Value] | None] = {}
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def table(self) -> pa.Table:
        """The events as an Arrow table."""
        return as_table(self.events)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of the events, or one that is derived from them; strings may be codes."""
        derived = self.codes.derived.get(name)
        if derived is None:
            return self.events.column(name) if isinstance(self.events, Reordered) else self.table.column(name)
        return self.once_for(("derived", name), lambda: derived.column([self.column(read) for read in derived.reads]))

    def repeated(self, columns: set[str]) -> Any:
        """Numbers that are equal where events are sure to have the same values of some columns; None: not known."""
        if not isinstance(self.events, Reordered) or not columns.isdisjoint(self.codes.derived):
            return None
        return self.events.repeated(columns)

    def take(self, index: np.ndarray) -> pa.Table:
        """Some of the events as a table, by their places."""
        return self.events.take(index) if isinstance(self.events, Reordered) else self.table.take(from_numpy(index))

    def only(self, index: np.ndarray) -> Events:
        """Some of the events in the form that they have, by their places: no column is moved before it is read."""
        if isinstance(self.events, FewEvents):
            return FewEvents(self.events.form, [self.events.rows[at] for at in index])
        if isinstance(self.events, Reordered):
            return self.events.only(index)
        return Reordered(self.table, index, {})

    def part(self, begin: int, end: int) -> Batch:
        """Consecutive events of the batch, with their ids."""
        index = np.arange(begin, end)
        return Batch(self.codes, self.only(index), self.times[begin:end], self.first + begin)

    def cells(self, column: str) -> list[Value] | None:
        """The values of a column where there are few events; None where Arrow is to be asked."""
        if not self.few:
            return None
        if column not in self._cells:
            events = self.events
            derived = self.codes.derived.get(column)
            if derived is not None:
                self._cells[column] = derived.values([self._key(name) for name in derived.reads])
                return self._cells[column]
            self._cells[column] = (
                events.values(column) if isinstance(events, FewEvents) else few_values(self.column(column))
            )
        return self._cells[column]

    def has_nulls(self, column: str) -> bool:
        """Whether a value of a column is NULL."""
        cells = self.cells(column)
        return bool(self.column(column).null_count) if cells is None else None in cells

    @cached_property
    def type_codes(self) -> tuple[np.ndarray, list[str | None]]:
        """The code of each event's type, and what the codes stand for."""
        column = self.schema.roles.type
        assert column is not None
        cells = self.cells(column)
        return type_codes(self.column(column)) if cells is None else few_type_codes(cells)

    def type_numbers(self, types: Sequence[str]) -> np.ndarray:
        """For each type code, the number of the type among those that a query names."""
        return type_numbers(self.type_codes[1], types)

    def values(self, column: str) -> Any:
        """The values of a column as a kernel reads them."""
        key = "values", column
        if key not in self._made:
            kind, cells, strings = self.codes.kind(column), self.cells(column), self.codes.strings
            if cells is not None:
                encoded = strings.encode_few(cells) if kind is Kind.STRING else few_numbers(column, kind, cells)
            else:
                cells_of = self.column(column)
                encoded = strings.encode(cells_of) if kind is Kind.STRING else numbers_of(column, kind, cells_of)
            self._made[key] = np.ascontiguousarray(encoded)
        return self._made[key]

    def nulls(self, column: str) -> Any:
        """Which values of a column are NULL."""
        key = "nulls", column
        if key not in self._made:
            cells = self.cells(column)
            self._made[key] = (
                nulls(self.column(column)) if cells is None else np.array([value is None for value in cells], np.uint8)
            )
        return self._made[key]

    def partitions(self, numbers: PartitionIndex) -> Any:
        """The partition of each event, by one way to split the stream."""
        if numbers not in self._made:
            if self.few:
                self._made[numbers] = numbers.of_few([self._key(column) for column in numbers.columns], len(self))
            else:
                self._made[numbers] = np.ascontiguousarray(numbers.of(self._with(numbers.columns)))
        return self._made[numbers]

    def settles(self, numbers: PartitionIndex) -> Any:
        """Whether each event is the last one of its partition at its time, by one way to split the stream."""
        partitions = self.partitions(numbers) if numbers.columns else None
        return self.once_for(("settles", numbers), lambda: last_of_instants(self.times, partitions))

    @cached_property
    def starts(self) -> np.ndarray:
        """When each event started, in ticks: its time, unless events last."""
        name = self.schema.start
        return self.times if name is None else np.ascontiguousarray(ticks_of(self.column(name)))

    def _with(self, columns: Sequence[str]) -> pa.Table | Reordered:
        """What has some columns, also those that are derived."""
        if self.codes.derived.keys().isdisjoint(columns):
            return self.events if isinstance(self.events, Reordered) else self.table
        return pa.table({name: self.column(name) for name in columns})

    def _key(self, column: str) -> list[Value]:
        """The values of a column that is part of a key, where there are few events."""
        cells = self.cells(column)
        return column_values(self.column(column)) if cells is None else cells

    def once_for(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` gives for a key; it is called once per batch."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def check_times(times: Any, window: int | None) -> None:
    """Raise Unfit if a time plus or minus the window does not fit into 64 bits, or is NEVER."""
    if window is None or not len(times):
        return
    if int(times[0]) - window <= NEVER or int(times[-1]) + window >= -NEVER:
        raise Unfit("the times and WITHIN together are beyond 64 bits")
