"""The composite events that INTO makes (S13), and streams of several, raw and composite (S25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from cepheid.engine.matches.matches import Matches
from cepheid.errors import BindError, EvaluationError, Span
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import HIDDEN_START, MERGED_TYPE, RAW, is_hidden
from cepheid.pattern.binding.schema import END, START, Roles, Schema, make_schema
from cepheid.pattern.expressions.declared import declared_type, how_to_declare
from cepheid.pattern.expressions.types import FLOAT, INT, NUMERIC, STRING, Kind, from_arrow, plain
from cepheid.pattern.tree.flow import EVENTS, StreamSource


def composite_columns(query: Runnable, roles: Roles) -> pa.Schema:
    """The columns of the events that a query makes; what a user-defined function returns has no type yet."""
    time = query.schema.columns[query.schema.roles.time].arrow
    start = HIDDEN_START if is_hidden(query.into) else START
    fields: dict[str, pa.DataType] = {roles.time: time, roles.type or "type": pa.string(), start: time}
    fields |= {result.name: result.type.arrow for result in query.returns}
    return pa.schema(list(fields.items()))


def composite_schema(columns: pa.Schema, roles: Roles, order_by: tuple[str, ...] = ()) -> Schema:
    """The schema of composite events, or of raw and composite ones, which have an order_by."""
    start = HIDDEN_START if HIDDEN_START in columns.names else START
    return make_schema(columns, replace(roles, order_by=order_by, types=None, type=roles.type or "type"), start)


def composite_events(query: Runnable, matches: Matches, roles: Roles) -> pa.Table:
    """Matches as events: the time of one is its end, it carries its start, its type is the name of INTO."""
    table = matches.to_arrow()
    columns = {
        roles.time: table[END],
        roles.type or "type": pa.repeat(pa.scalar(query.into, pa.string()), table.num_rows),
        HIDDEN_START if is_hidden(query.into) else START: table[START],
        **{result.name: table[result.name] for result in query.returns},
    }
    return pa.table(columns)


def schema_of(source: StreamSource, events: Schema, made: Mapping[str, Runnable], roles: Roles) -> Schema:
    """The schema of what a query reads. made: the queries whose composite events there are, by the name of INTO."""
    if source == EVENTS:
        return events
    if len(source) > 1 and None in source and roles.type is None:
        roles = replace(roles, type=MERGED_TYPE)
    parts = {name: events.arrow if name is None else composite_columns(made[name], roles) for name in source}
    copies = {column: key for name in source if name is not None for column, key in made[name].copies.items()}
    origins = {column: origin for name in source if name is not None for column, origin in made[name].origins.items()}
    if len(source) == 1:
        return replace(composite_schema(parts[source[0]], roles), copies=copies, origins=origins)
    if None in source and not any(map(is_hidden, source)):
        _check_reserved(events)
    typed = {name: part if name is None else _declared(made[name], part) for name, part in parts.items()}
    merged = composite_schema(_merged_columns(typed, made), roles, roles.order_by if None in source else ())
    known = {c: key for c, key in copies.items() if merged.columns.get(key) == merged.columns[c]}
    streams = {name or "": tuple(part.names) for name, part in parts.items()}
    return replace(merged, streams=streams, copies=known, origins=origins)


def as_merged(table: pa.Table, schema: Schema, stream: str | None) -> pa.Table:
    """Events of one stream in the columns of several.

    A column that their stream lacks is NULL; a raw event starts at its time.
    """
    columns, of_stream = [], {*schema.streams[stream or ""], schema.roles.time, schema.roles.type}
    for field in schema.arrow:
        name = field.name
        if name == MERGED_TYPE:
            columns.append(pa.chunked_array([pa.repeat(pa.scalar(stream or RAW, pa.string()), table.num_rows)]))
            continue
        if name == schema.start:
            name = schema.roles.start or schema.roles.time
            if stream is not None:
                name = HIDDEN_START if is_hidden(stream) else START
            columns.append(_fitted(table.column(name), field))
            continue
        if stream is not None and name not in of_stream:
            # The key of what the event is made of: the same column then splits all events.
            name = next((c for c, key in schema.copies.items() if key == name and c in of_stream), name)
        here = name in of_stream or (stream is None and name == schema.roles.start)
        column = table.column(name) if here and name in table.column_names else None
        if column is None or pa.types.is_null(column.type):
            column = pa.chunked_array([pa.nulls(table.num_rows, field.type)], field.type)
        columns.append(_fitted(column, field))
    return pa.Table.from_arrays(columns, schema=schema.arrow)


def _fitted(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    return column if column.type == field.type else _cast(column, field)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    actual, wanted = from_arrow(column.type).kind, from_arrow(field.type).kind
    try:
        if actual is wanted or {actual, wanted} <= NUMERIC:
            return column.cast(field.type)
    except pa.ArrowInvalid:
        pass
    message = f"column '{field.name}' is {column.type}, but the function that gives it declares {field.type}"
    raise EvaluationError("CEP502", message, "correct the annotation of the function, or what it returns")


def _check_reserved(events: Schema) -> None:
    if START in events.columns:
        message = f"the events have a column '{START}', which is the start of composite events"
        raise BindError("CEP314", message, "rename the column, or read the events and the composite events separately")


def _declared(query: Runnable, columns: pa.Schema) -> pa.Schema:
    """The columns of composite events, with the types that user-defined functions declare."""
    for result in query.returns:
        if result.type.kind is Kind.ANY:
            name, declared = declared_type(result.expression, query.functions)
            if declared is None:
                message = (
                    f"FROM with several streams must know the type of '{result.name}' of {query.into} before it runs"
                )
                remedy = f"{how_to_declare(name, query.functions)}; or write CAST(… AS double) AS {result.name}"
                raise BindError("CEP314", message, remedy, _span(query, result.name))
            columns = columns.set(columns.get_field_index(result.name), pa.field(result.name, declared))
    return columns


def _span(query: Runnable, column: str) -> Span | None:
    return next((result.expression.span for result in query.returns if result.name == column), None)


def _merged_columns(parts: Mapping[str | None, pa.Schema], made: Mapping[str, Runnable]) -> pa.Schema:
    """The columns of all streams by name, in the order of FROM; those of one name have one type."""
    columns: dict[str, tuple[pa.DataType, str | None]] = {}
    for stream, of_stream in parts.items():
        for field in of_stream:
            known, first = columns.get(field.name, (field.type, stream))
            merged = _merged_type(known, field.type)
            if merged is None:
                left, right = (name or "the events" for name in (first, stream))
                message = f"column '{field.name}' is {known} in {left}, and {field.type} in {right}"
                composite = stream or first
                span = None if composite is None else _span(made[composite], field.name)
                raise BindError("CEP314", message, "give it another name with AS, or the same type with CAST", span)
            columns[field.name] = merged, first
    return pa.schema([(name, arrow) for name, (arrow, _) in columns.items()])


def _merged_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type of a column that has two types; None if no type has the values of both."""
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    left, right = from_arrow(first), from_arrow(second)
    if plain(left) == plain(right):
        return plain(left)
    if left.kind is not right.kind or pa.types.is_uint64(plain(left)) or pa.types.is_uint64(plain(right)):
        return None
    return {Kind.INT: INT.arrow, Kind.FLOAT: FLOAT.arrow, Kind.STRING: STRING.arrow}.get(left.kind)
