"""The columns of an Arrow table as values."""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import InputError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.paths import Path
from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.values.value import Value


def column_values(column: pa.ChunkedArray) -> list[Value]:
    """A column as Python values; dates in days, timestamps and durations in nanoseconds.

    >>> column_values(pa.chunked_array([pa.array([1, None], pa.timestamp("ms"))]))
    [1000000, None]
    """
    arrow = column.type
    if isinstance(arrow, pa.DictionaryType):
        column = column.cast(arrow.value_type)
        arrow = arrow.value_type
    kind = from_arrow(arrow).kind
    if kind in (Kind.TIMESTAMP, Kind.DURATION):
        scale = ARROW_UNITS[arrow.unit]
        return [None if v is None else v * scale for v in column.cast(pa.int64()).to_pylist()]
    if kind is Kind.DATE:
        return list(column.cast(pa.date32()).cast(pa.int32()).to_pylist())
    if kind is Kind.INT and pa.types.is_uint64(arrow):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            largest = max(v for v in column.to_pylist() if v is not None)
            remedy = "cast the column to decimal or string"
            raise InputError("CEP405", f"{largest} does not fit into a signed 64-bit integer", remedy) from None
    return list(column.to_pylist())


def read_column(table: pa.Table, schema: Schema, name: str) -> pa.ChunkedArray:
    """A column of a table, or a part of one that the schema knows by a name."""
    column, *fields = schema.path(name)
    return field_of(table.column(column), tuple(fields))


def field_of(column: pa.ChunkedArray, fields: Path) -> pa.ChunkedArray:
    """A field of a column of structs, at any depth; NULL where a struct is NULL.

    >>> field_of(pa.chunked_array([[{"x": 1}, None]]), ("x",)).to_pylist()
    [1, None]
    """
    for name in fields:
        import pyarrow.compute as pc  # takes a while to import

        if isinstance(column.type, pa.DictionaryType):
            column = column.cast(column.type.value_type)
        if pa.types.is_null(column.type):  # it has had no value yet
            return column
        column = pc.struct_field(column, column.type.get_field_index(name))
    return column
