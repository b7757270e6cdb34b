"""A state that stays in memory: its parts as they are, so that it can be taken up again, or be written elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.stream.parts import Sink
from cepheid.engine.stream.rows import StoredRows


@dataclass(frozen=True, slots=True)
class StatePart:
    """A part of a state. `method`: which one of a sink takes it."""

    method: str
    name: str
    value: Any
    base: int | None = None

    def write(self, sink: Sink) -> Any:
        """Give the part to a sink; what finds it there."""
        arguments = (self.value,) if self.base is None else (self.value, self.base)
        entry = getattr(sink, self.method)(self.name, *arguments)
        return entry[0] if self.method == "hold" else entry


class MemorySink:
    """Keeps parts in the header itself. Arrays are copied: the machine goes on with its own."""

    def add(self, name: str, part: Any) -> StatePart:
        return StatePart("add", name, part)

    def array(self, name: str, array: np.ndarray) -> StatePart:
        """A flat array. Whoever takes it up copies it once more, since it can't be written to."""
        copy = array.copy()
        copy.flags.writeable = False
        return StatePart("array", name, copy)

    def table(self, name: str, table: pa.Table) -> StatePart:
        """A table, which never changes."""
        return StatePart("table", name, table)

    def rows(self, name: str, table: pa.Table, base: int) -> StatePart:
        """Rows from a position on."""
        return StatePart("rows", name, table, base)

    def hold(self, name: str, rows: StoredRows) -> tuple[StatePart, StoredRows]:
        return StatePart("hold", name, rows), rows


class MemorySource:
    """Gives back what a header has."""

    def part(self, entry: StatePart) -> Any:
        return entry.value

    def array(self, entry: StatePart) -> Any:
        return entry.value

    def table(self, entry: StatePart) -> pa.Table:
        return entry.value

    def rows(self, entry: StatePart, base: int) -> pa.Table:
        """Rows from a position on."""
        return entry.value

    def held(self, entry: StatePart) -> StoredRows:
        rows: StoredRows = entry.value
        return rows


def written(header: Any, sink: Sink | None = None) -> Any:
    """A copy of a header, whose parts are in a sink from now on; without one they stay where they are."""
    match header:
        case StatePart():
            return header if sink is None else header.write(sink)
        case dict():
            return {name: written(value, sink) for name, value in header.items()}
        case list() | tuple():
            return [written(value, sink) for value in header]
    return header


def size_of(header: Any) -> int:
    """How many bytes the arrays of a state have: that is what is copied."""
    match header:
        case StatePart(method="array", value=array):
            return int(array.nbytes)
        case dict():
            return sum(map(size_of, header.values()))
        case list():
            return sum(map(size_of, header))
    return 0
