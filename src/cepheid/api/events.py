"""Reads events in any supported form as one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from cepheid.errors import InputError, UsageError

_UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError)
_ACCEPTED = "pass a pyarrow Table or RecordBatchReader, a pandas or polars DataFrame, or a list of dicts"


def to_table(events: object) -> pa.Table:
    """Read the events.

    >>> to_table([{"ts": 1, "type": "A"}, {"ts": 2, "type": "B", "x": 1.5}]).column_names
    ['ts', 'type', 'x']
    """
    table = _read(events)
    for field in table.schema:
        if pa.types.is_uint64(field.type):
            import pyarrow.compute as pc  # slow to import, and seldom needed

            largest = pc.max(table.column(field.name)).as_py()
            if largest is not None and largest >= 2**63:
                message = f"{largest} in '{field.name}' does not fit into a signed 64-bit integer"
                raise InputError("CEP405", message, "cast the column to decimal or string")
    return table


def _read(events: object) -> pa.Table:
    if isinstance(events, pa.Table):
        return _decoded(events)
    if isinstance(events, pa.RecordBatch):
        return _decoded(pa.Table.from_batches([events]))
    if _package(events) == "pyspark":
        remedy = "use q.match(df), also for a stream; or collect it for a session in memory: df.toArrow()"
        raise UsageError("CEP601", "a session can't read a Spark DataFrame", remedy)
    try:
        if isinstance(events, pa.RecordBatchReader):
            return _decoded(events.read_all())
        if _package(events) == "pandas" and hasattr(events, "columns"):
            return pa.Table.from_pandas(_checked_names(events), preserve_index=False)
        if hasattr(events, "collect_schema") and hasattr(events, "collect"):  # a polars LazyFrame
            events = events.collect()
        if hasattr(events, "__arrow_c_stream__") and hasattr(events, "columns"):
            return _decoded(pa.table(events))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        remedy = "give each column values of one type"
        raise InputError("CEP403", f"the events can't be read as a table: {error}", remedy) from None
    if isinstance(events, Mapping | str | bytes) or not isinstance(events, Iterable):
        shown = type(events).__name__
        raise InputError("CEP401", f"a {shown} is not a stream of events", _ACCEPTED)
    return _from_rows(list(events))


def _package(events: object) -> str:
    return type(events).__module__.split(".")[0]


def _decoded(table: pa.Table) -> pa.Table:
    """Convert string views (from Polars) and run-end encoded columns to plain ones: Arrow can't take rows of them."""
    for k, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            from pyarrow.compute import run_end_decode  # costs a tenth of a second, and is hardly ever needed

            table = table.set_column(k, field.name, run_end_decode(table.column(k)))
        column = table.column(k)
        if (plain := _plain(column.type)) != column.type:
            table = table.set_column(k, field.name, _cast(column, plain))
    return table


def _cast(column: pa.ChunkedArray, plain: pa.DataType) -> pa.ChunkedArray:
    if not isinstance(plain, pa.DictionaryType):
        return column.cast(plain)
    # Arrow can't cast a dictionary of views, but its words alone.
    chunks = [
        pa.DictionaryArray.from_arrays(c.indices, c.dictionary.cast(plain.value_type), ordered=plain.ordered)
        for c in column.chunks
    ]
    return pa.chunked_array(chunks, plain)


def _plain(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        make = pa.list_ if pa.types.is_list(arrow) else pa.large_list
        return make(_plain(arrow.value_type))
    if isinstance(arrow, pa.DictionaryType):
        return pa.dictionary(arrow.index_type, _plain(arrow.value_type), arrow.ordered)
    if pa.types.is_struct(arrow):
        return pa.struct([(field.name, _plain(field.type)) for field in arrow])
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(arrow, arrow)


def _checked_names(frame: Any) -> Any:
    if not frame.columns.is_unique:
        twice = next(name for name in frame.columns if list(frame.columns).count(name) > 1)
        raise InputError("CEP404", f"two columns are named {twice!r}", "rename one of them")
    for name in frame.columns:
        if not isinstance(name, str):
            remedy = "rename the columns: df.columns = df.columns.map(str)"
            raise InputError("CEP404", f"the column name {name!r} is not a string", remedy)
    return frame


def _from_rows(rows: list[object]) -> pa.Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            shown = repr(row)[:60]
            raise InputError("CEP401", f"row {number} is {type(row).__name__} {shown}, not a dict", _ACCEPTED)
        for name in row:
            if not isinstance(name, str):
                remedy = "use strings as keys"
                raise InputError("CEP404", f"row {number} has the key {name!r}, which is not a string", remedy)
            names[name] = None
    columns = {name: _column(name, [row.get(name) for row in rows]) for name in names}  # type: ignore[attr-defined]
    try:
        return pa.table(columns)
    except UnicodeEncodeError as error:
        raise InputError("CEP404", f"a column name is not text: {error}", "rename the column") from None


def _column(name: str, values: list[object]) -> pa.Array:
    # pandas' NaT does not equal itself.
    values = [None if isinstance(value, datetime) and value != value else value for value in values]
    zones = {value.utcoffset() for value in values if isinstance(value, datetime)}
    if None in zones and len(zones) > 1:
        remedy = "give all of them a time zone, or none"
        raise InputError("CEP403", f"column '{name}' has datetimes with and without a time zone", remedy)
    try:
        # Arrow would take the zone of whichever row comes first.
        return pa.array(values, pa.timestamp("us", tz="UTC")) if len(zones) > 1 else pa.array(values)
    except _UNFIT as error:
        row, value = _culprit(values)
        raise InputError(
            "CEP403",
            f"column '{name}' can't hold {value!r} of row {row}: {str(error).splitlines()[0]}",
            f"give '{name}' values of one type in all rows",
        ) from None


def _culprit(values: list[object]) -> tuple[int, object]:
    """The first value that does not fit into a column with the values before it."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pa.array(values[:middle])
            low = middle
        except _UNFIT:
            high = middle
    return low, values[low]
