"""Events of one stream, in order, and what queries read of them: each array is made once, however many queries ask."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.columns import Unfit, nulls, numbers_of, type_codes, type_numbers
from cepheid.engine.encoding.lanes import LaneNumbers
from cepheid.engine.encoding.strings import Strings
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.lanes import Lanes
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind


class StreamCodes:
    """Maps the strings and keys of a stream to numbers, which are the same for every query that reads it."""

    def __init__(self, schema: Schema, *, once: bool = False) -> None:
        self.schema = schema
        self.once = once  # all events come at once: a key need not be found again
        self.strings = Strings()
        self.keys: dict[Lanes, LaneNumbers] = {}

    def lanes(self, lanes: Lanes) -> LaneNumbers:
        """The numbers of the lanes, for one way to split the stream."""
        if lanes not in self.keys:
            kinds = {name: type_.kind for name, type_ in self.schema.columns.items()}
            self.keys[lanes] = LaneNumbers(lanes, kinds, once=self.once)
        return self.keys[lanes]


class Batch:
    """The next events of a stream in the order of S1. `first`: the id of the first one; ids grow by one."""

    def __init__(self, codes: StreamCodes, table: pa.Table, times: Any, first: int) -> None:
        self.codes = codes
        self.schema = codes.schema
        self.table = table
        self.times = times
        self.first = first
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def has_nulls(self, column: str) -> bool:
        """Whether a value of a column is NULL."""
        return bool(self.table.column(column).null_count)

    @cached_property
    def type_codes(self) -> tuple[Any, list[str | None]]:
        """The code of each event's type, and what the codes stand for."""
        assert self.schema.roles.type is not None
        return type_codes(self.table.column(self.schema.roles.type))

    def type_numbers(self, types: Sequence[str]) -> Any:
        """For each type code, the number of the type among those that a query names."""
        return type_numbers(self.type_codes[1], types)

    def values(self, column: str) -> Any:
        """The values of a column as a kernel reads them."""
        key = "values", column
        if key not in self._made:
            kind, cells = self.schema.columns[column].kind, self.table.column(column)
            found = self.codes.strings.encode(cells) if kind is Kind.STRING else numbers_of(column, kind, cells)
            self._made[key] = np.ascontiguousarray(found)
        return self._made[key]

    def nulls(self, column: str) -> Any:
        """Which values of a column are NULL."""
        key = "nulls", column
        if key not in self._made:
            self._made[key] = nulls(self.table.column(column))
        return self._made[key]

    def lanes(self, lanes: Lanes) -> Any:
        """The lane of each event."""
        if lanes not in self._made:
            self._made[lanes] = np.ascontiguousarray(self.codes.lanes(lanes).of(self.table))
        return self._made[lanes]

    def once_for(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` gives for a key; it is called once per batch."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def part(self, begin: int, end: int) -> Batch:
        """Return some of the events as a batch of their own."""
        return Batch(self.codes, self.table.slice(begin, end - begin), self.times[begin:end], self.first + begin)


def check_times(times: Any, window: int | None) -> None:
    """Raise Unfit if a time plus or minus the window does not fit into 64 bits, or is NEVER."""
    if window is None or not len(times):
        return
    if int(times[0]) - window <= NEVER or int(times[-1]) + window >= -NEVER:
        raise Unfit("the times and WITHIN together are beyond 64 bits")
