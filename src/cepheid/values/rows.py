"""The rows of an Arrow table as events, and their order (S1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa

from cepheid.errors import InputError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.pattern.expressions.types import Kind
from cepheid.values.columns import column_values, read_column
from cepheid.values.keys import sort_key
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A row. Equal rows are still distinct events."""

    row: int  # in the table as it was given
    position: int  # in the order of S1
    time: int  # nanoseconds
    start: int  # of a composite event (S13); else its time
    type: str | None
    values: Mapping[str, Value]  # of the columns, and of the parts that the schema names


def read_events(table: pa.Table, schema: Schema, base: int = 0) -> list[Event]:
    """The events of a table in the order of S1: time, order_by, then the whole content, never arrival.

    `base` is the position of the first one: where a stream comes in parts, how many came before.
    """
    rows = read_rows(table, schema)

    def rank(event: Event) -> tuple[Value, ...]:
        names = (*schema.roles.order_by, *schema.columns)
        return event.time, *(sort_key(event.values[name]) for name in names)

    ordered: list[Event] = []
    for _, instant in groupby(sorted(rows, key=_time), key=_time):
        tied = list(instant)
        ordered += sorted(tied, key=rank) if len(tied) > 1 else tied  # only ties need the whole content
    return [replace(event, position=base + k) for k, event in enumerate(ordered)]


def _time(event: Event) -> int:
    return event.time


def read_rows(table: pa.Table, schema: Schema) -> list[Event]:
    """The events of a table in the order of its rows."""
    roles = schema.roles
    columns = {name: column_values(read_column(table, schema, name)) for name in (*schema.columns, *schema.parts)}
    times = _times(columns[roles.time], schema)
    starts = _times(columns[schema.start], schema, schema.start) if schema.start is not None else times
    if schema.start is not None and schema.start == roles.start:
        for row in (row for row in range(table.num_rows) if starts[row] > times[row]):
            raise starts_late(schema, row, table.column(schema.start)[row], table.column(roles.time)[row])
    kinds = columns[roles.type] if roles.type is not None else None
    return [
        Event(
            row=row,
            position=row,
            time=times[row],
            start=starts[row],
            type=kinds[row] if kinds is not None else None,
            values={name: column[row] for name, column in columns.items()},
        )
        for row in range(table.num_rows)
    ]


def starts_late(schema: Schema, row: int, start: pa.Scalar, end: pa.Scalar) -> InputError:
    """The error for an event that ends before it starts (S19)."""
    message = f"row {row} starts at {start} ('{schema.start}'), after its end at {end} ('{schema.roles.time}')"
    return InputError(
        "CEP414", message, f"correct the row, or exchange time= and start= if '{schema.start}' is the end"
    )


def _times(values: list[Value], schema: Schema, start: str | None = None) -> list[int]:
    roles = schema.roles
    kind = schema.columns[roles.time].kind
    scale = {Kind.INT: NANOSECONDS[roles.unit], Kind.DATE: NANOSECONDS["days"]}.get(kind, 1)
    for row, value in enumerate(values):
        if value is None:
            remedy = "give every event a time, or drop the rows without one"
            name = f"the time '{roles.time}'" if start is None else f"the start '{start}'"
            raise InputError("CEP402", f"{name} of row {row} is NULL", remedy)
    return [value * scale for value in values]
