"""The columns of the events and what is in them, for the page and for completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.studio.source import Columns

MOST_TYPES = 200
MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column. samples: some of its values. low, high: of numbers and times, as values of Python."""

    name: str
    type: str
    role: str | None
    samples: tuple[object, ...]
    nulls: int
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The events. types: with how many events each, the commonest first; None without a type column."""

    rows: int
    columns: tuple[ColumnFacts, ...]
    types: tuple[tuple[str, int], ...] | None

    def column(self, name: str) -> ColumnFacts | None:
        """A column by its name."""
        return next((column for column in self.columns if column.name == name), None)


def describe(table: pa.Table, roles: Columns) -> Facts:
    """What is in a table of events."""
    named = {roles.time: "time", roles.start: "start", roles.type: "type"}
    columns = tuple(_column(field, table.column(at), named.get(field.name)) for at, field in enumerate(table.schema))
    return Facts(table.num_rows, columns, _types(table, roles.type))


def _column(field: pa.Field, column: pa.ChunkedArray, role: str | None) -> ColumnFacts:
    plain = pa.types.is_dictionary(field.type)
    shown = field.type.value_type if plain else field.type
    low = high = None
    if pa.types.is_integer(shown) or pa.types.is_floating(shown) or pa.types.is_temporal(shown):
        found = pc.min_max(column).as_py()
        low, high = found["min"], found["max"]
    return ColumnFacts(field.name, str(shown), role, _samples(column), column.null_count, low, high)


def _samples(column: pa.ChunkedArray) -> tuple[object, ...]:
    """Some different values of the first rows, in the order in which they come."""
    seen: dict[str, object] = {}
    for value in column.slice(0, 1_000).drop_null().to_pylist():
        seen.setdefault(str(value), value)
    return tuple(seen.values())[:MOST_VALUES]


def _types(table: pa.Table, column: str | None) -> tuple[tuple[str, int], ...] | None:
    if column is None or column not in table.column_names:
        return None
    counts = pc.value_counts(table.column(column)).to_pylist()
    named = [(str(one["values"]), one["counts"]) for one in counts if one["values"] is not None]
    return tuple(sorted(named, key=lambda one: (-one[1], one[0]))[:MOST_TYPES])
