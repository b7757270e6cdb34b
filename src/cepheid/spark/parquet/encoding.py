"""How events are encoded on their way from the tasks that read to those that match: in as few bytes as possible."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.pattern.expressions.types import Kind, from_arrow

_OFFSET = b"offset"  # in the metadata of a column: what was subtracted from its values
_SAMPLE = 4096  # rows that show whether the strings of a column repeat
_NARROW = ((2**8, pa.uint8()), (2**16, pa.uint16()), (2**32, pa.uint32()))


def narrow(table: pa.Table) -> pa.Table:
    """Store 64-bit integers and times as their distance from the least one, in the fewest bytes that hold it.

    Each byte is copied about six times on its way, so this pays. Strings that repeat are encoded likewise.
    """
    for k, field in enumerate(table.schema):
        column = table.column(k)
        if pa.types.is_string(field.type) and _repeats(column):
            column = column.dictionary_encode().unify_dictionaries()
        if isinstance(column.type, pa.DictionaryType):
            index = _index_type(max((len(chunk.dictionary) for chunk in column.chunks), default=0))
            column = pa.chunked_array([_with_index_type(chunk, index) for chunk in column.chunks])
            table = table.set_column(k, field.with_type(column.type), column)
        elif from_arrow(field.type).kind in (Kind.INT, Kind.TIMESTAMP) and field.type.bit_width == 64:
            numbers = column.cast(pa.int64())
            ends = pc.min_max(numbers).as_py()
            if ends["min"] is None:
                continue
            narrower = next((arrow for size, arrow in _NARROW if ends["max"] - ends["min"] < size), None)
            if narrower is not None:
                shifted = field.with_type(narrower).with_metadata({_OFFSET: str(ends["min"]).encode()})
                table = table.set_column(k, shifted, pc.subtract(numbers, ends["min"]).cast(narrower))
    return table


def widen(blob: bytes | memoryview | pa.Buffer, events: pa.Schema) -> pa.Table:
    """Read the events of a blob that `narrow` has encoded, in the types of a schema."""
    table = pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
    columns = []
    for field, wanted in zip(table.schema, events, strict=True):
        column = table.column(field.name)
        if _OFFSET in (field.metadata or {}):
            column = pc.add(column.cast(pa.int64()), pa.scalar(int(field.metadata[_OFFSET]), pa.int64()))
        if isinstance(wanted.type, pa.DictionaryType):
            chunks = [_with_index_type(chunk, wanted.type.index_type) for chunk in column.chunks]
            column = pa.chunked_array(chunks, wanted.type)
        columns.append(column.cast(wanted.type))
    return pa.table(columns, schema=events)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Tell whether the strings of a column repeat."""
    return 16 * len(column.slice(0, _SAMPLE).unique()) <= min(len(column), _SAMPLE)


def _index_type(words: int) -> pa.DataType:
    """Return the narrowest type of codes for a dictionary of so many words."""
    return pa.int8() if words < 2**7 else pa.int16() if words < 2**15 else pa.int32()


def _with_index_type(codes: pa.DictionaryArray, index: pa.DataType) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(codes.indices.cast(index), codes.dictionary)
