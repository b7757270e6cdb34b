"""What kernels read of the batches of a stream: arrays of the events, and the constants of their query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import Errors, Reader, reader
from cepheid.engine.encoding.few_events import FewEvents, RowForm
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray, EventFact
from cepheid.kernel.arrays import Array
from cepheid.kernel.constants import Constant
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.value import Value

_AS_THEY_ARE = (Kind.INT, Kind.FLOAT, Kind.STRING)
"""Kinds of columns whose values kernels compute with as rows have them, but for the codes of strings."""
ONLY = 2
"""What `EventFact.SETTLES` says of an event that is the only one of its time."""


class KernelInput:
    """The arguments of the kernels of one query. `nullable`: the columns that have had NULLs, which kernels test."""

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, partitions: Partitioning) -> None:
        self.nullable: frozenset[str] = frozenset()
        self.partitions = partitions
        self.partition_index = codes.partitions(partitions)
        self._compiled = compiled
        self._codes = codes
        self._wanted: Sequence[EventArray] = ()
        self._readers: list[Reader] = []  # of what is wanted
        self._of_rows: RowArrays | None = None

    def learns(self, batch: Batch, columns: Sequence[str]) -> bool:
        """Note which columns have NULLs for the first time; if some have, other kernels are needed."""
        empty = set()
        places: Mapping[str, int] = {}
        rows: Sequence[tuple[Value, ...]] = ()
        if batch.few and isinstance(batch.events, FewEvents):
            places, rows = batch.events.form.places, batch.events.rows
        for name in columns:
            if name in self.nullable:
                continue
            if name not in places:
                if batch.has_nulls(name):
                    empty.add(name)
                continue
            place = places[name]
            for row in rows:
                if row[place] is None:
                    empty.add(name)
        if empty:
            # A stream that has NULLs in one column may have them in others, and another kernel takes time.
            self.nullable |= empty if self._codes.once else set(columns)
        return bool(empty)

    def arrays(self, wanted: Sequence[EventArray], types: Sequence[str], batch: Batch, errors: Errors) -> list[Array]:
        """The arrays of all events of a batch."""
        if wanted is not self._wanted:
            self._wanted = wanted
            self._readers = [reader(array, self._compiled.flat, self.partition_index, types) for array in wanted]
        arrays = [read(batch, errors) for read in self._readers]
        size = len(batch.times)
        for event_array, array in zip(wanted, arrays, strict=True):
            # Machine code reads all of them by the number of events.
            if len(array) != size and event_array.of_each:
                raise IndexError(f"{event_array.array.name} has {len(array)} values for {size} events")
        return arrays

    def lists(self, wanted: Sequence[EventArray], types: Sequence[str], batch: Batch) -> list[Array] | None:
        """The same as lists where a few events are rows of values; None where that takes more than to copy these."""
        events = batch.events
        if not batch.few or not isinstance(events, FewEvents):
            return None
        of_rows = self._of_rows
        if of_rows is None or of_rows.wanted is not wanted or of_rows.form is not events.form:
            of_rows = self._of_rows = RowArrays(wanted, types, events.form, self._codes, self.partition_index.columns)
        if not of_rows.applies:
            return None
        lists: list[Array] = []
        strings = self._codes.strings.codes
        for holds, place, known in of_rows.steps:
            values: Array = []
            if holds is EventFact.PARTITION:
                keys = []
                for key_place in of_rows.key_places:
                    key: list[Value] = []
                    for row in events.rows:
                        key.append(row[key_place])
                    keys.append(key)
                values = self.partition_index.of_few(keys, len(events.rows)).tolist()
            elif holds is EventFact.TIME or holds is EventFact.START:
                values = batch.times.tolist()
            elif holds is EventFact.SETTLES:
                if len(events.rows) != 1:
                    return None
                values = [ONLY]
            elif holds is EventFact.TYPES:
                values = of_rows.types
            elif holds is EventFact.TYPE:
                for row in events.rows:
                    values.append(known.get(row[place], 0))
            elif place in of_rows.strings and isinstance(holds, ColumnValues):
                for row in events.rows:
                    text = row[place]
                    values.append(-1 if text is None else strings.setdefault(text, len(strings)))
            elif isinstance(holds, ColumnNulls):
                for row in events.rows:
                    values.append(int(row[place] is None))
            else:
                for row in events.rows:
                    values.append(0 if row[place] is None else row[place])
            lists.append(values)
        return lists

    def constants(self, constants: Sequence[Constant]) -> list[int | float]:
        """The constants of the query; strings are codes."""
        code = self._codes.strings.code
        arguments: list[int | float] = []
        for constant in constants:
            value = constant.value
            arguments.append(code(value) if isinstance(value, str) else value)
        return arguments


class RowArrays:
    """How the arrays of a kernel are made of events that are rows of values.

    steps: what each array holds, the place of its column, and numbers of types. strings: the places of those columns.
    types: the numbers of types are known from their names, so that each is its own code.
    """

    def __init__(
        self,
        wanted: Sequence[EventArray],
        types: Sequence[str],
        form: RowForm,
        codes: StreamCodes,
        key_columns: Sequence[str],
    ) -> None:
        self.wanted = wanted
        self.form = form
        self.types = list(range(len(types) + 1))
        self.steps: list[tuple[object, int, Mapping[Value, int]]] = []
        self.strings: set[int] = set()
        self.applies = all(column in form.places for column in key_columns)
        self.key_places = [form.places.get(column, -1) for column in key_columns]
        known: dict[Value, int] = {name: number for number, name in enumerate(types, start=1)}
        for event_array in wanted:
            place = self._place(event_array.holds, codes)
            self.applies = self.applies and place is not None
            self.steps.append((event_array.holds, place or 0, known))

    def _place(self, holds: object, codes: StreamCodes) -> int | None:
        """The place of the column that an array is made of, 0 where there is none; None: it is made in another way."""
        match holds:
            case EventFact.PARTITION | EventFact.TIME | EventFact.TYPES | EventFact.SETTLES:
                return 0
            case EventFact.START if codes.schema.start is None:
                return 0
            case EventFact.TYPE:
                return self.form.places.get(codes.schema.roles.type or "")
            case ColumnNulls(column=column):
                return self.form.places.get(column)
            case ColumnValues(column=column) if codes.kind(column) in _AS_THEY_ARE:
                place = self.form.places.get(column)
                if place is None or pa.types.is_uint64(self.form.arrow.types[place]):
                    return None
                if codes.kind(column) is Kind.STRING:
                    self.strings.add(place)
                return place
        return None


def as_lists(wanted: Sequence[EventArray], arrays: Sequence[Array], begin: int, end: int) -> Iterator[Array]:
    """The arrays of some events for plain Python; what is known of types or times is of all of them."""
    for event_array, array in zip(wanted, arrays, strict=True):
        yield (array[begin:end] if event_array.of_each else array).tolist()
