"""The columns of the events and what is in them, for the page and for completion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.files.text_values import values
from cepheid.pattern.expressions.durations import ARROW_UNITS, NANOSECONDS, UNITS
from cepheid.studio.plain import plain
from cepheid.studio.source import ColumnRoles

MOST_TYPES = 200
MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column. samples: some of its values, as JSON has them. low, high: of numbers, without NaN and infinities."""

    name: str
    type: str
    role: str | None
    samples: tuple[object, ...]
    nulls: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The events. types: with how many events each, the commonest first; None without a type column.

    extent: from the first to the last event, in nanoseconds; None if the time column does not say.
    """

    rows: int
    columns: tuple[ColumnFacts, ...]
    types: tuple[tuple[str, int], ...] | None
    extent: int | None

    def column(self, name: str) -> ColumnFacts | None:
        """A column by its name."""
        return next((column for column in self.columns if column.name == name), None)


def describe(table: pa.Table, roles: ColumnRoles) -> Facts:
    """What is in a table of events."""
    named = {roles.time: "time", roles.start: "start", roles.type: "type"}
    columns = tuple(_column(field, table.column(at), named.get(field.name)) for at, field in enumerate(table.schema))
    return Facts(table.num_rows, columns, _types(table, roles.type), _extent(table, roles))


def _column(field: pa.Field, column: pa.ChunkedArray, role: str | None) -> ColumnFacts:
    shown = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    number = shown if pa.types.is_integer(shown) else pa.float64() if pa.types.is_floating(shown) else None
    low, high = (None, None) if number is None else _ends(column.cast(number))
    return ColumnFacts(field.name, str(shown), role, _samples(column), column.null_count, low, high)


def _ends(column: pa.ChunkedArray) -> tuple[float | None, float | None]:
    """The least and the greatest number of a column."""
    extremes = pc.min_max(column).as_py()
    low, high = extremes["min"], extremes["max"]
    if low is not None and not (math.isfinite(low) and math.isfinite(high)):
        extremes = pc.min_max(column.filter(pc.is_finite(column))).as_py()
    return extremes["min"], extremes["max"]


def _extent(table: pa.Table, roles: ColumnRoles) -> int | None:
    """How long the events last, in nanoseconds."""
    if table.column_names.count(roles.time) != 1:
        return None
    column = table.column(roles.time)
    if pa.types.is_timestamp(column.type):
        size = ARROW_UNITS[column.type.unit]
    elif pa.types.is_integer(column.type) and roles.unit in UNITS:
        size = NANOSECONDS[UNITS[roles.unit]]
    else:
        return None
    extremes = pc.min_max(column.cast(pa.int64()))  # not the times: Python has none after the year 9999
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return None if low is None else int(high - low) * size


def _samples(column: pa.ChunkedArray) -> tuple[object, ...]:
    """Some different values of the first rows, in the order in which they come."""
    seen: dict[str, object] = {}
    for value in values(column.slice(0, 1_000).drop_null()):
        seen.setdefault(str(value), plain(value))
    return tuple(seen.values())[:MOST_VALUES]


def _types(table: pa.Table, column: str | None) -> tuple[tuple[str, int], ...] | None:
    if column is None or column not in table.column_names:
        return None
    counts = pc.value_counts(table.column(column)).to_pylist()
    named = [(str(count["values"]), count["counts"]) for count in counts if count["values"] is not None]
    return tuple(sorted(named, key=lambda count: (-count[1], count[0]))[:MOST_TYPES])
