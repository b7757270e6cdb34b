"""The parts of a state: what takes them, what gives them back, and how both do it with bytes one after the other."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.stream.rows import RowsInMemory, StoredRows
from cepheid.values.json import Json

Header = Json
"""What JSON can carry of a state. It says where parts are found again."""


class Sink(Protocol):
    """What takes the parts of a state. Each is called by a name, and is found again by what JSON can carry."""

    def add(self, name: str, part: Any) -> Any:
        """Write bytes; return what a source finds them by. The other methods do the same for other values."""

    def array(self, name: str, array: Any) -> Any: ...

    def table(self, name: str, table: pa.Table) -> Any: ...

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        """A table whose first row is at a position of the stream: what is at a position never changes."""

    def hold(self, name: str, rows: StoredRows) -> tuple[Any, StoredRows]:
        """Rows that never change. Also returns the form in which they are to be kept from now on."""


class PartSource(Protocol):
    """What gives the parts back, by what the sink had returned."""

    def part(self, entry: Any) -> Any:
        """The bytes that a sink's `add` returned an entry for. The other methods do the same for other values."""

    def array(self, entry: Any) -> Any: ...

    def table(self, entry: Any) -> pa.Table: ...

    def rows(self, entry: Any, base: int) -> pa.Table:
        """A table of rows from a position on."""

    def held(self, entry: Any) -> StoredRows:
        """Rows that never change; they may be read when they are needed."""


class Prefixed:
    """A sink in which the names of parts begin with a text, so that several states can be in one."""

    def __init__(self, sink: Sink, prefix: str) -> None:
        self.sink = sink
        self.prefix = prefix

    def add(self, name: str, part: Any) -> Any:
        return self.sink.add(self.prefix + name, part)

    def array(self, name: str, array: np.ndarray) -> Any:
        return self.sink.array(self.prefix + name, array)

    def table(self, name: str, table: pa.Table) -> Any:
        return self.sink.table(self.prefix + name, table)

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        """Rows from a position on."""
        return self.sink.rows(self.prefix + name, table, base)

    def hold(self, name: str, rows: StoredRows) -> tuple[list[int], StoredRows]:
        return self.sink.hold(self.prefix + name, rows)


class FlatSink:
    """Parts one after the other, and where each begins."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.length = 0

    def add(self, name: str, part: Any) -> list[int]:
        """Some bytes: their place and length."""
        view = memoryview(part).cast("B")
        entry = [self.length, len(view)]
        self.parts.append(view)
        padding = -len(view) % 8
        if padding:
            self.parts.append(memoryview(bytes(padding)))
        self.length += len(view) + padding
        return entry

    def array(self, name: str, array: np.ndarray) -> list[Any]:
        """A flat array, as it lies in memory."""
        return [array.dtype.str, *self.add(name, np.ascontiguousarray(array))]

    def table(self, name: str, table: pa.Table) -> list[int]:
        """A table as Arrow IPC."""
        return self.add(name, table_bytes(table))

    def rows(self, name: str, table: pa.Table, base: int) -> list[int]:
        """All rows, whatever their position: a later state has all of them once more."""
        return self.table(name, table)

    def hold(self, name: str, rows: StoredRows) -> tuple[list[int], StoredRows]:
        """All rows, which stay as they are."""
        return self.table(name, rows.table()), rows


class FlatSource:
    """Parts that lie one after the other."""

    def __init__(self, body: memoryview) -> None:
        self.body = body

    def part(self, entry: list[int]) -> memoryview:
        """Some bytes by their place and length."""
        begin, size = entry
        if begin + size > len(self.body):
            raise ValueError("the end is missing")
        return self.body[begin : begin + size]

    def array(self, entry: list[Any]) -> np.ndarray:
        return np.frombuffer(self.part(entry[1:]), dtype=entry[0])

    def table(self, entry: list[int]) -> pa.Table:
        return pa.ipc.open_stream(self.part(entry)).read_all()

    def rows(self, entry: list[int], base: int) -> pa.Table:
        return self.table(entry)

    def held(self, entry: Any) -> StoredRows:
        return RowsInMemory(self.table(entry))


def table_bytes(table: pa.Table) -> pa.Buffer:
    """A table as Arrow IPC."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks() if table.num_rows else table)
    return sink.getvalue()
