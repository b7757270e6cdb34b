"""Columns that have had only NULL in a session, and so no type: with their type, the events are gone over once more.

What a column is decides how rules find their events, so that nothing is known of a column without a type.
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.engine.stream.retyped import as_types, typed_like
from cepheid.pattern.expressions.types import is_untyped

MOST_EVENTS = 1_000_000
"""So many events are kept for that; after more, a column that gets a type is an error."""


class EventsWithoutTypes:
    """All events so far, while a column has no type."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._tables: list[pa.Table] = []
        self._count = 0

    @staticmethod
    def of(schema: pa.Schema) -> EventsWithoutTypes | None:
        """None: all columns have types."""
        return EventsWithoutTypes(schema) if any(map(is_untyped, schema.types)) else None

    def add(self, table: pa.Table) -> None:
        self._count += table.num_rows
        self._tables = [*self._tables, table] if self._count <= MOST_EVENTS else []

    def typed(self, types: pa.Schema) -> pa.Schema | None:
        """The columns with the types that they have in other events; None: they are not new, or it is too late."""
        if set(types.names) != set(self.schema.names) or self._count > MOST_EVENTS:
            return None
        wanted = typed_like(self.schema, types)
        return None if wanted.equals(self.schema) else wanted

    def table(self) -> pa.Table | None:
        """All of them; None: there were too many."""
        return None if self._count > MOST_EVENTS else pa.concat_tables([self.schema.empty_table(), *self._tables])

    def as_types(self, wanted: pa.Schema) -> list[pa.Table]:
        """All of them, with types, as they came."""
        return [as_types(table, wanted) for table in self._tables]
