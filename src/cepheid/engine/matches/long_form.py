"""Matches in long form: one row for each event of a match, as SQL's ALL ROWS PER MATCH."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_table import MatchTable
from cepheid.errors import InputError
from cepheid.pattern.bind import Bound
from cepheid.pattern.schema import MATCH_ID, Schema
from cepheid.values.match_id import event_digest, match_digest
from cepheid.values.rows import read_rows

VARIABLE, INDEX = "variable", "index"


def long_schema(schema: Schema) -> pa.Schema:
    """The columns of the long form: which match, which event of it, and the columns of the event."""
    own = [pa.field(MATCH_ID, pa.string()), pa.field(VARIABLE, pa.string()), pa.field(INDEX, pa.int64())]
    for field in own:
        if field.name in schema.columns:
            message = f"the events have a column '{field.name}', and so has the long form of matches"
            raise InputError("CEP404", message, f"rename the column of the events before you match them: {field.name}")
    return pa.schema([*own, *schema.arrow])


def write_long(query: Bound, table: pa.Table, found: MatchTable) -> pa.Table:
    """The events of matches, in the order of the matches and, in each, of the stream."""
    schema = long_schema(query.schema)
    names = [component.variable for component in query.positive]
    lengths = np.diff(found.offsets)
    ids = np.array(identifiers(query, table, found), dtype=object)
    columns: list[Any] = [
        pa.array(np.repeat(ids, lengths), pa.string()),
        pa.array([names[k] for k in found.variables.tolist()], pa.string()),
        pa.array(_indexes(found), pa.int64()),
    ]
    events = table.select(query.schema.arrow.names).take(from_numpy(found.rows))
    return pa.Table.from_arrays([*columns, *events.columns], schema=schema)


def identifiers(query: Bound, table: pa.Table, found: MatchTable) -> list[str]:
    """The identifier of each match."""
    used, place = np.unique(found.rows, return_inverse=True)
    rows = read_rows(table.take(from_numpy(used)), query.schema)
    digests = [event_digest(event.values, query.schema.columns) for event in rows]
    names = [component.variable for component in query.positive]
    made = []
    for k in range(len(found)):
        events: list[list[bytes]] = [[] for _ in names]
        for at in range(found.offsets[k], found.offsets[k + 1]):
            events[found.variables[at]].append(digests[place[at]])
        made.append(match_digest(zip(names, events, strict=True)))
    return made


def _indexes(found: MatchTable) -> list[int]:
    """Which event of its variable each is, from 1."""
    made: list[int] = []
    for k in range(len(found)):
        seen: dict[int, int] = {}
        for variable in found.variables[found.offsets[k] : found.offsets[k + 1]].tolist():
            seen[variable] = seen.get(variable, 0) + 1
            made.append(seen[variable])
    return made
