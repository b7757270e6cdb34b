"""Columns that had no value, and so no type, and have one from now on: the state of a session with the new types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.engine.stream.parts import FlatSink, FlatSource
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.rows import RowsInMemory, StoredRows
from cepheid.engine.stream.snapshot import saved_source
from cepheid.pattern.expressions.types import is_untyped
from cepheid.values.json import Json


def with_types(known: pa.DataType, typed: pa.DataType) -> pa.DataType:
    """A type whose parts without one have that of another type.

    >>> with_types(pa.list_(pa.null()), pa.list_(pa.string()))
    ListType(list<item: string>)
    """
    if pa.types.is_null(known):
        return typed
    if not is_untyped(known) or known.id != typed.id:
        return known
    if pa.types.is_struct(known):
        return pa.struct([_typed_field(field, typed) for field in known])
    if pa.types.is_list(known):
        return pa.list_(known.value_field.with_type(with_types(known.value_type, typed.value_type)))
    if pa.types.is_map(known):
        return pa.map_(known.key_type, with_types(known.item_type, typed.item_type))
    return known


def _typed_field(field: pa.Field, typed: pa.DataType) -> pa.Field:
    """A field of a struct, which may be elsewhere in another one, or not there."""
    place = typed.get_field_index(field.name)
    return field if place < 0 else field.with_type(with_types(field.type, typed.field(place).type))


def typed_like(known: pa.Schema, typed: pa.Schema) -> pa.Schema:
    """A schema of the same columns, where parts without a type have that of another schema."""
    return pa.schema([field.with_type(with_types(field.type, typed.field(field.name).type)) for field in known])


def as_types(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """A table whose columns without a type have one."""
    for k, field in enumerate(wanted):
        column = table.column(k)
        if column.type != field.type:
            table = table.set_column(k, field, _cast(column, field.type))
    return table


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_null(column.type):
        return pa.chunked_array([pa.nulls(len(column), wanted)], wanted)
    try:
        return column.cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # of nested types, Arrow casts only some
        return pa.chunked_array([pa.array(column.to_pylist(), wanted)], wanted)


class _RetypedSource(FlatSource):
    """Gives tables back with the types that their columns have from now on."""

    def __init__(self, body: memoryview, schemas: dict[tuple[str, ...], pa.Schema]) -> None:
        super().__init__(body)
        self._schemas = schemas

    def table(self, entry: list[int]) -> pa.Table:
        table = super().table(entry)
        wanted = self._schemas.get(tuple(table.column_names))
        return table if wanted is None or table.schema.equals(wanted) else as_types(table, wanted)

    def held(self, entry: Any) -> StoredRows:
        return RowsInMemory(self.table(entry))


def retype(header: Json, flat: FlatSink, pipeline: Pipeline) -> FlatSource:
    """Fit a state, which was written by `write_state`, to a pipeline in which some columns have a type at last."""
    schemas: dict[tuple[str, ...], pa.Schema] = {}
    written = FlatSource(memoryview(b"".join(flat.parts)))
    for saved in header["streams"]:
        known = pa.ipc.read_schema(pa.py_buffer(written.part(saved["schema"])))
        wanted = pipeline.streams[saved_source(saved)].schema.arrow
        # Of composite events, what user-defined functions return has types that only the state knows.
        schema = schemas[tuple(known.names)] = typed_like(known, wanted)
        saved["schema"] = flat.add("schema", schema.serialize())
    for saved in header["queries"]:
        if not any(saved["machine"].values()):  # nothing is under way: a machine of any kind can begin
            saved["kind"], saved["machine"] = None, {}
    return _RetypedSource(memoryview(b"".join(flat.parts)), schemas)
