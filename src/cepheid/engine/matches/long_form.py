"""Matches in long form: one row for each event of a match, as SQL's ALL ROWS PER MATCH."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_table import MatchTable
from cepheid.errors import InputError
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import MATCH_ID, Schema
from cepheid.values.match_id import event_digest, match_digest
from cepheid.values.rows import read_rows

VARIABLE, INDEX = "variable", "index"
EVENTS, EVENT = "events", "event"
"""The events of a match in one column, and the columns of each."""


def long_schema(schema: Schema) -> pa.Schema:
    """The columns of the long form: which match, which event of it, and the columns of the event."""
    first_columns = [pa.field(MATCH_ID, pa.string()), pa.field(VARIABLE, pa.string()), pa.field(INDEX, pa.int64())]
    for field in first_columns:
        if field.name in schema.columns:
            message = f"the events have a column '{field.name}', and so has the long form of matches"
            raise InputError("CEP404", message, f"rename the column of the events before you match them: {field.name}")
    return pa.schema([*first_columns, *schema.arrow])


def write_long(query: Runnable, table: pa.Table, matched: MatchTable) -> pa.Table:
    """The events of matches, in the order of the matches and, in each, of the stream."""
    schema = long_schema(query.schema)
    names = [component.variable for component in query.positive]
    lengths = np.diff(matched.offsets)
    ids = np.array(identifiers(query, table, matched), dtype=object)
    columns: list[pa.Array] = [
        pa.array(np.repeat(ids, lengths), pa.string()),
        pa.array([names[k] for k in matched.variables.tolist()], pa.string()),
        pa.array(_indexes(matched), pa.int64()),
    ]
    events = table.select(query.schema.arrow.names).take(from_numpy(matched.rows))
    return pa.Table.from_arrays([*columns, *events.columns], schema=schema)


def events_type(events: pa.Schema) -> pa.DataType:
    """The type of a column with all events of a match."""
    fields = [(VARIABLE, pa.string()), (INDEX, pa.int64()), (EVENT, pa.struct(list(events)))]
    return pa.list_(pa.struct(fields))


def write_events(query: Runnable, table: pa.Table, matched: MatchTable, type_: pa.DataType) -> pa.Array:
    """The events of each match in one column, in the order of the stream. Columns that these do not have are NULL."""
    event = type_.value_type.field(EVENT).type
    names = pa.array([component.variable for component in query.positive], pa.string())
    rows, known = from_numpy(matched.rows), set(query.schema.arrow.names)
    columns = [
        _one(table.column(field.name).take(rows)).cast(field.type)
        if field.name in known
        else pa.nulls(len(rows), field.type)
        for field in event
    ]
    parts = [names.take(from_numpy(matched.variables)), pa.array(_indexes(matched), pa.int64())]
    structs = pa.StructArray.from_arrays(columns, fields=list(event))
    items = pa.StructArray.from_arrays([*parts, structs], fields=list(type_.value_type))
    return pa.ListArray.from_arrays(from_numpy(matched.offsets.astype(np.int32)), items).cast(type_)


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def identifiers(query: Runnable, table: pa.Table, matched: MatchTable) -> list[str]:
    """The identifier of each match."""
    used, place = np.unique(matched.rows, return_inverse=True)
    rows = read_rows(table.take(from_numpy(used)), query.schema)
    digests = [event_digest(event.values, query.schema.columns) for event in rows]
    names = [component.variable for component in query.positive]
    made = []
    for k in range(len(matched)):
        events: list[list[bytes]] = [[] for _ in names]
        for at in range(matched.offsets[k], matched.offsets[k + 1]):
            events[matched.variables[at]].append(digests[place[at]])
        made.append(match_digest(zip(names, events, strict=True)))
    return made


def _indexes(matched: MatchTable) -> np.ndarray:
    """Which event of its variable each is, from 1."""
    match = np.repeat(np.arange(len(matched)), np.diff(matched.offsets))
    order = np.lexsort((matched.variables, match))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(match[order]) != 0) | (np.diff(matched.variables[order]) != 0)
    begins = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    made = np.empty(len(order), np.int64)
    made[order] = np.arange(len(order)) - begins + 1
    return made
