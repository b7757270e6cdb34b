"""The types of composite events: what a user-defined function returns has a type once it has returned a value."""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import EvaluationError


def known_columns(before: pa.Schema, after: pa.Schema) -> pa.Schema:
    """The columns of a stream as they are known by now: a column of NULLs has no type yet."""
    return pa.schema([old if pa.types.is_null(new.type) else new for old, new in zip(before, after, strict=True)])


def fitted(events: pa.Table, columns: pa.Schema) -> pa.Table:
    """Events in the columns of their stream."""
    if events.schema == columns:
        return events
    made = []
    for field, column in zip(columns, events.columns, strict=True):
        try:
            made.append(column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            message = f"column '{field.name}' was {field.type} in earlier composite events, and is {column.type} now"
            remedy = "let the user function always return one type"
            raise EvaluationError("CEP502", message, remedy) from None
    return pa.Table.from_arrays(made, schema=columns)
