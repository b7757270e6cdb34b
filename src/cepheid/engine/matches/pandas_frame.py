"""A table as a data frame of pandas that keeps all times.

pyarrow converts times in nanoseconds as integers if they are inside structs, and times without their zone if they are
inside lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.values.value import Value

if TYPE_CHECKING:
    import pandas


def to_frame(table: pa.Table) -> pandas.DataFrame:
    """A data frame with a column for each column of a table."""
    repaired = [name for name in table.column_names if _loses_times(table.schema.field(name).type)]
    frame = _converted(table.drop_columns(repaired))
    for name in repaired:
        frame[name] = _objects(table.column(name), frame.index)
    return frame[table.column_names]


def _converted(table: pa.Table) -> pandas.DataFrame:
    """As pyarrow does it; a column that it can't convert stays in Arrow's form."""
    import pandas

    try:
        return table.to_pandas()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        frame = table.select([]).to_pandas()
        for field, column in zip(table.schema, table.columns, strict=True):
            try:
                frame[field.name] = column.to_pandas()
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
                frame[field.name] = pandas.Series(pandas.arrays.ArrowExtensionArray(column))
        return frame


def _loses_times(arrow: pa.DataType, inside: str = "") -> bool:
    """Whether pyarrow's conversion loses times. inside: "struct" or "list", what a value of the type is in."""
    if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
        zoned = pa.types.is_timestamp(arrow) and arrow.tz is not None
        return (inside == "struct" and arrow.unit == "ns") or (inside == "list" and zoned)
    if not pa.types.is_nested(arrow):
        return False
    container = "struct" if pa.types.is_struct(arrow) or pa.types.is_map(arrow) else "list"
    return any(_loses_times(arrow.field(k).type, container) for k in range(arrow.num_fields))


def _objects(column: pa.ChunkedArray, index: pandas.Index) -> pandas.Series:
    """Values as Python has them, with the times of pandas; a list is an array, as elsewhere."""
    import pandas

    values = column.to_pylist()
    if not pa.types.is_struct(column.type):
        values = [None if value is None else _array(value) for value in values]
    return pandas.Series(values, index=index, dtype=object)


def _array(values: list[Value]) -> np.ndarray:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
