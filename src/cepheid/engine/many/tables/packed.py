"""Columns of constants in which few values come often: each value once, and for each row which it is."""

from __future__ import annotations

import pyarrow as pa


def packed(table: pa.Table) -> pa.Table:
    """The same values, in one or two bytes each where there are so few."""
    return pa.table({name: _packed(table.column(name)) for name in table.column_names})


def unpacked(table: pa.Table) -> pa.Table:
    """The columns as they were."""
    types = [type_.value_type if isinstance(type_, pa.DictionaryType) else type_ for type_ in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def _packed(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if isinstance(column.type, pa.DictionaryType) or not pa.types.is_primitive(column.type):
        return column
    coded = column.combine_chunks().dictionary_encode()
    for index in (pa.int8(), pa.int16()):
        if len(coded.dictionary) <= 1 << index.bit_width - 1:
            return pa.DictionaryArray.from_arrays(coded.indices.cast(index), coded.dictionary)
    return column
