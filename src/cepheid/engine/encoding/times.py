"""Times as whole numbers of the time column's own unit: ticks."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import to_numpy
from cepheid.errors import InputError, UsageError
from cepheid.kernel.compile import has_compiler, library_function
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind, plain
from cepheid.values.rows import starts_late

MANY = 500_000
"""Times from which on a compiled loop is worth its library, which takes 40 ms to compile where no cache has it."""
_EPOCH = date(1970, 1, 1).toordinal()


def ticks(schema: Schema, table: pa.Table, name: str | None = None) -> Any:
    """The times of the events; NULL is an error."""
    column = table.column(name or schema.roles.time)
    if column.null_count:
        row = column.is_null().index(True).as_py()
        remedy = "give every event a time, or drop the rows without one"
        raise InputError("CEP402", f"the time '{schema.roles.time}' of row {row} is NULL", remedy)
    return ticks_of(column)


def check_starts(schema: Schema, table: pa.Table, times: np.ndarray) -> None:
    """Events that last must not end before they start (S19)."""
    if schema.start is None or schema.start != schema.roles.start:
        return
    column = table.column(schema.start)
    if column.null_count:
        row = column.is_null().index(True).as_py()
        remedy = "give every event a start, which is its time if it is over at once"
        raise InputError("CEP402", f"the start '{schema.start}' of row {row} is NULL", remedy)
    late = np.flatnonzero(ticks_of(column) > times)
    if len(late):
        raise starts_late(schema, int(late[0]), column[int(late[0])], table.column(schema.roles.time)[int(late[0])])


def ticks_of(column: pa.ChunkedArray) -> np.ndarray:
    """The times of a column that has no NULL."""
    if column.num_chunks == 1:
        return _numbers(column.chunk(0))
    return np.concatenate([*map(_numbers, column.chunks), np.zeros(0, np.int64)])


def is_ascending(times: np.ndarray) -> bool:
    """Whether each time is after the one before: then the events are in order, without a look at other columns."""
    if len(times) < MANY or not has_compiler():
        return len(times) == 1 or bool((times[1:] > times[:-1]).all())
    return bool(library_function("rises", native=True)(np.ascontiguousarray(times), len(times)))


def bounds(times: np.ndarray) -> tuple[int, int]:
    """The least and the greatest of some times, which are most often in order."""
    return (int(times[0]), int(times[-1])) if is_ascending(times) else (int(times.min()), int(times.max()))


def _numbers(chunk: pa.Array) -> np.ndarray:
    arrow = chunk.type
    if arrow == pa.int64():
        return to_numpy(chunk)
    if isinstance(arrow, pa.DictionaryType):
        return _numbers(chunk.dictionary_decode())
    if pa.types.is_date(arrow):
        chunk = chunk.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(arrow):
        chunk = chunk.view(pa.int64())
    try:
        return to_numpy(chunk if chunk.type == pa.int64() else chunk.cast(pa.int64()))
    except pa.ArrowInvalid as error:
        raise InputError("CEP405", str(error), "cast the time column to int64") from None


def to_ticks(schema: Schema, value: object, *, down: bool = False) -> int:
    """A time as the user writes it: a number, a datetime, or the text of one, as the time column has it.

    Between two ticks it is the later one, as all events before it are those before the watermark; down: the earlier
    one, as all events after it are those of a lifetime.
    """
    column = schema.columns[schema.roles.time]
    arrow = plain(column)
    try:
        if isinstance(value, pa.Scalar):
            value = value.as_py()
        if isinstance(value, bool):
            raise TypeError("a boolean is no time")
        if column.kind is Kind.INT and isinstance(value, int | np.integer):
            return int(value)
        if column.kind is Kind.DATE and isinstance(value, str | date) and not isinstance(value, datetime):
            time = date.fromisoformat(value) if isinstance(value, str) else value
            return int(pa.scalar(time, pa.date32()).cast(pa.int32()).as_py())
        if column.kind is Kind.TIMESTAMP and isinstance(value, str | datetime):
            time = datetime.fromisoformat(value) if isinstance(value, str) else value
            if (time.tzinfo is None) != (arrow.tz is None):
                raise TypeError("one has a time zone and the other has none")
            zone = "UTC" if arrow.tz else None
            fine = int(pa.scalar(time, pa.timestamp("us", tz=zone)).cast(pa.int64()).as_py())
            nanoseconds = fine * 1000 + getattr(time, "nanosecond", 0)  # which pandas has
            unit = ARROW_UNITS[arrow.unit]
            return nanoseconds // unit if down else -(-nanoseconds // unit)
        raise TypeError(f"a {type(value).__name__}")
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        remedy = f"give a time as the column '{schema.roles.time}' has it ({column})"
        raise UsageError("CEP606", f"{value!r} can't be a time of this stream: {error}", remedy) from None


def time_value(schema: Schema, time: int) -> Any:
    """A time in ticks as a value of the time column."""
    arrow = plain(schema.columns[schema.roles.time])
    if pa.types.is_date(arrow):
        return date.fromordinal(_EPOCH + time)
    if not pa.types.is_timestamp(arrow):
        return time
    scalar = pa.scalar(time, arrow)
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):  # Python's times end at the year 9999, and at microseconds
        return scalar


def from_ticks(schema: Schema, time: int) -> str:
    """A time in ticks as a reader knows it."""
    arrow = plain(schema.columns[schema.roles.time])
    try:
        if pa.types.is_timestamp(arrow):
            return str(pa.scalar(time, arrow).as_py())
        return str(date.fromordinal(_EPOCH + time)) if pa.types.is_date(arrow) else str(time)
    except (ValueError, OverflowError):  # Python's times end at the year 9999, and at microseconds
        return str(time)
