"""The rows of a stream that matches may need, as one table: rows are added at its end and let go at its start."""

from __future__ import annotations

import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.dictionaries import without_unused_words
from cepheid.engine.encoding.few_events import Events, as_table, joined
from cepheid.engine.encoding.reordered import Reordered

MANY_CHUNKS = 64
LARGE = 4_096
"""Rows of a piece that is worth having: it is copied into a larger one only if there are many."""


class RowLog:
    """Rows in pieces, small ones at the end: a row that is added alone is copied a few times in all.

    added: rows that come after all others, in the order in which they came, until somebody reads the log.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._pieces: list[pa.Table] = []
        self.added: list[Events] = []
        self._table: pa.Table | None = None  # all of them, if they were read

    @property
    def table(self) -> pa.Table:
        """All rows in one table, which is kept until another row is added."""
        if self._table is None or self.added:
            self._take_added()
            self._table = pa.concat_tables(self._pieces) if self._pieces else empty_table(self._schema)
        return self._table

    @property
    def events(self) -> Events:
        """All rows, as they came if they came together: no column is moved before it is read."""
        only = self.added[0] if len(self.added) == 1 and not self._pieces else None
        return only if isinstance(only, Reordered) else self.table

    def cut(self, count: int) -> None:
        """Let go of the first rows."""
        self._take_added()
        self._table = None
        while self._pieces and count >= self._pieces[0].num_rows:
            count -= self._pieces.pop(0).num_rows
        if self._pieces:
            self._pieces[0] = self._pieces[0].slice(count)

    def restore(self, table: pa.Table) -> None:
        """Go on with rows that were kept."""
        self._pieces, self.added, self._table = [table] if table.num_rows else [], [], None

    def _take_added(self) -> None:
        """Make a piece of what was added, and one of this and those before it that are not larger."""
        if not self.added:
            return
        pieces = self._pieces
        pieces.append(as_table(joined(self.added)))
        self.added = []
        most = LARGE if len(pieces) <= MANY_CHUNKS else None
        first, rows = len(pieces) - 1, pieces[-1].num_rows
        while first and pieces[first - 1].num_rows <= rows and (most is None or rows < most):
            first -= 1
            rows += pieces[first].num_rows
        chunks = pieces[-1].column(0).num_chunks
        if first < len(pieces) - 1 or chunks > (1 if rows < LARGE else MANY_CHUNKS):
            pieces[first:] = [_in_one(pa.concat_tables(pieces[first:]))]


def _in_one(table: pa.Table) -> pa.Table:
    try:
        return without_unused_words(table.combine_chunks())
    except pa.ArrowInvalid:  # dictionaries whose words together are too many for the type of their numbers
        return table
