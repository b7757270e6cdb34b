"""What the page works on: the events, read once in a thread of their own, and what makes queries of texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api import Query
from cepheid.api.files.shares import OnShare
from cepheid.api.readable import readable_schema
from cepheid.errors import CepheidError
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.pattern.tree.nodes import Program

SAMPLE = 20_000
"""How many events, the first ones, a query is tried on before it runs on all."""


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """The columns that have a role."""

    time: str
    type: str | None
    start: str | None
    unit: str


@dataclass(frozen=True)
class EventSource:
    """What the command line named.

    name: of the events, for the page. text: the query to begin with. prepare: a query of a tree, with the settings of
    the command line. read: the events; it reports the share that has been read. checkpoint, matches: folders
    of a stream that is watched, and of its output. spelt: a remedy in the words of the command line.
    """

    name: str
    text: str
    columns: ColumnRoles
    prepare: Callable[[Program], Query]
    read: Callable[[OnShare], pa.Table] | None = None
    checkpoint: Path | None = None
    matches: Path | None = None
    spelt: Callable[[str], str] = str


@dataclass
class SourceReading:
    """The events of a source: being read, there, or not readable.

    share: how much has been read, from 0 to 1. error: why they can't be read, or no query can run on them.
    """

    source: EventSource
    share: float = 0.0
    error: Exception | None = None
    over: Event = field(default_factory=Event)
    _table: pa.Table | None = None

    def start(self) -> None:
        """Read in the background, so that the page is there at once."""
        if self.source.read is None:
            self.over.set()
        else:
            Thread(target=self._read, args=(self.source.read,), daemon=True).start()

    def _read(self, read: Callable[[OnShare], pa.Table]) -> None:
        try:
            self._table = _with_codes(read(self._report), self.source.columns.type)
            self.error = _unusable(self._table.schema, self.source.columns)
        except Exception as error:  # whatever it is, the page says so
            self.error = error
        finally:
            self.over.set()

    def _report(self, share: float) -> None:
        self.share = share

    @property
    def table(self) -> pa.Table | None:
        """The events, or None as long as they are read, or if they can't be."""
        return self._table

    @property
    def sample(self) -> pa.Table | None:
        """The first events, if there are more."""
        table = self._table
        return None if table is None or table.num_rows <= SAMPLE else table.slice(0, SAMPLE)


def _unusable(schema: pa.Schema, columns: ColumnRoles) -> CepheidError | None:
    """What is wrong with the columns that have a role, whatever the query."""
    try:
        make_schema(readable_schema(schema), Roles(columns.time, columns.type, start=columns.start))
    except CepheidError as error:
        return error
    return None


def _with_codes(table: pa.Table, type_column: str | None) -> pa.Table:
    """The events with their types as codes: every run needs these, and they are found once."""
    if type_column not in table.column_names:
        return table
    place = table.column_names.index(type_column)
    column = table.column(place)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return table
    return table.set_column(place, type_column, pc.dictionary_encode(column).unify_dictionaries())
