"""What runs inside Spark's Python workers: batches of events in, batches of matches out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.api import Matches, Query, Session
from cepheid.engine.times import ticks
from cepheid.errors import CepheidWarning
from cepheid.pattern.schema import START, make_schema

SLICE = "__cepheid_slice"
"""The column that tells which part of time a row is for: its number times 64, and the bits of the parts' length."""

AT_ONCE = 1 << 21
"""Events of a task that are matched at once; of more only those are held that a match can still need."""
PUSH = 1 << 18
"""Events that a session is given at once: a push has costs of its own."""

Batches = Iterator[pa.RecordBatch]
Part = tuple[int, pa.Table]
"""Some events, and a time in ticks before which neither they nor those of later parts are."""


@dataclass(frozen=True)
class WorkerQuery:
    """A query as it is sent to the workers. `events`: the columns that arrive; `given`: those of a match."""

    query: Query
    event_schema: pa.Schema
    match_schema: pa.Schema
    output: int
    engine: str = "auto"
    plan: str = "auto"

    def session(self, **options: Any) -> Session:
        """A session of the query, which knows the columns of its events."""
        session = known(self.query).session(engine=self.engine, plan=self.plan, **options)
        session.push(self.event_schema.empty_table())
        return session

    def match(self, parts: Iterable[Part]) -> Iterator[pa.Table]:
        """The matches: at once if the events are not too many, which is faster than a session."""
        waiting: list[pa.Table] = []
        rows = 0
        parts = iter(parts)
        for _, table in parts:
            waiting.append(table)
            rows += table.num_rows
            if rows > AT_ONCE:
                yield from self._in_parts(waiting, parts)
                return
        if waiting:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CepheidWarning)  # of types that a task does not have
                found = known(self.query).match(_joined(waiting), engine=self.engine, plan=self.plan)
            yield from self.tables(found)

    def _in_parts(self, waiting: list[pa.Table], parts: Iterator[Part]) -> Iterator[pa.Table]:
        session = self.session()
        for low, table in parts:
            if sum(some.num_rows for some in waiting) >= PUSH:
                session.push(_joined(waiting))
                waiting = []
                yield from self.tables(session.reach(low))  # so far is certain, and can be let go of
            waiting.append(table)
        session.push(_joined(waiting))
        yield from self.tables(session.close())

    def tables(self, matches: Matches) -> Iterator[pa.Table]:
        """Matches in the types that Spark was told."""
        chosen = list(matches.outputs.values())[self.output]
        for table in chosen.to_batches():
            yield table.cast(self.match_schema)

    def conform(self, table: pa.Table) -> pa.Table:
        """Events in the names and types that the query is bound to; more columns may come after theirs."""
        names = self.event_schema.names
        return table.select(list(range(len(names)))).rename_columns(names).cast(self.event_schema)


_KNOWN: dict[str, Query] = {}


def known(query: Query) -> Query:
    """The same query as an earlier task of this worker had, with all that was made for it."""
    if query._functions:  # which might be others of the same names
        return query
    if len(_KNOWN) > 64:
        _KNOWN.clear()
    return _KNOWN.setdefault(query._fingerprint(), query)


def in_order(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow`: rows come in the order of time."""

    def cepheid_match(batches: Batches) -> Batches:
        for table in worker_query.match(_parts(worker_query, batches)):
            yield from table.to_batches()

    return cepheid_match


def in_slices(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """The same where rows come slice by slice, in each by time. A slice gives the matches that start in it."""

    def cepheid_match_slices(batches: Batches) -> Batches:
        schema = make_schema(worker_query.event_schema, worker_query.query._roles)
        rows = _Slices(batches)
        while rows.more():
            code = rows.code
            for table in worker_query.match(_parts(worker_query, rows.of(code))):
                if code is not None:
                    length = 1 << (code & 63)
                    low = (code >> 6) * length
                    starts = ticks(schema, table, START)
                    table = table.filter(pa.array((starts >= low) & (starts < low + length)))
                yield from table.to_batches()

    return cepheid_match_slices


def _parts(worker_query: WorkerQuery, batches: Batches) -> Iterator[Part]:
    schema = make_schema(worker_query.event_schema, worker_query.query._roles)
    for batch in batches:
        if batch.num_rows:
            table = worker_query.conform(pa.Table.from_batches([batch]))
            yield int(ticks(schema, table.slice(0, 1))[0]), table


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """One table with one dictionary for each column of words."""
    return pa.concat_tables(tables).unify_dictionaries()


class _Slices:
    """The rows of one slice after the other."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.rest: pa.RecordBatch | None = None
        self.code: int | None = None

    def more(self) -> bool:
        """Whether there is another slice; `code` is its own."""
        while self.rest is None or not self.rest.num_rows:
            self.rest = next(self.batches, None)
            if self.rest is None:
                return False
        self.code = self.rest.column(SLICE)[0].as_py()
        return True

    def of(self, code: int | None) -> Batches:
        """All rows of a slice."""
        while self.more() and self.code == code:
            batch = self.rest
            assert batch is not None
            codes = batch.column(SLICE)
            own = codes.is_null() if code is None else pa.array(codes.fill_null(code - 1).to_numpy() == code)
            count = own.true_count  # its rows come first: they are sorted by slice
            self.rest = batch.slice(count)
            yield batch.slice(0, count)
