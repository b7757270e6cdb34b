"""How events are encoded on their way from the tasks that read to those that match: in as few bytes as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.pattern.types import Kind, from_arrow
from cepheid.spark.packing import code_type
from cepheid.spark.worker import WorkerQuery

_OFFSET = b"offset"  # in the metadata of a column: what was subtracted from its values
_NARROW = ((2**8, pa.uint8()), (2**16, pa.uint16()), (2**32, pa.uint32()))


def dictionary_columns(worker_query: WorkerQuery, key: Sequence[str]) -> list[str]:
    """Return the string columns whose values repeat: they stay dictionary-encoded from the file to the engine."""
    names = dict.fromkeys([worker_query.query.compiled.roles.type, *key])
    return [name for name in names if name and pa.types.is_string(worker_query.event_schema.field(name).type)]


def with_dictionaries(worker_query: WorkerQuery, key: Sequence[str]) -> WorkerQuery:
    """Return the same query for events whose repeating strings are dictionary-encoded."""
    events = worker_query.event_schema
    for name in dictionary_columns(worker_query, key):
        k = events.get_field_index(name)
        events = events.set(k, events.field(k).with_type(pa.dictionary(pa.int32(), pa.string())))
    return replace(worker_query, event_schema=events)


def narrow(table: pa.Table) -> pa.Table:
    """Store 64-bit integers and times as their distance from the least one, in the fewest bytes that hold it.

    Each byte is copied about six times on its way, so this pays.
    """
    for k, field in enumerate(table.schema):
        column = table.column(k)
        if isinstance(field.type, pa.DictionaryType):
            chunks = [_with_index_type(chunk, code_type(len(chunk.dictionary))) for chunk in column.chunks]
            table = table.set_column(k, field.with_type(chunks[0].type), pa.chunked_array(chunks))
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


def widen(blob: Any, events: pa.Schema) -> pa.Table:
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


def _with_index_type(codes: pa.DictionaryArray, index: pa.DataType) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(codes.indices.cast(index), codes.dictionary)
