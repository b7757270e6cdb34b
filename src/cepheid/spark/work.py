"""What runs inside Spark's Python workers: batches of events in, batches of matches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.api import Matches, Query, Session
from cepheid.engine.times import ticks
from cepheid.pattern.schema import START, make_schema

SLICE = "__cepheid_slice"
"""The column that tells which part of time a row is for: its number times 64, and the bits of the parts' length."""

_ENOUGH = 262_144  # rows that are pushed at once: a push has costs of its own
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Work:
    """A query as it is sent to the workers. `events`: the columns that arrive; `given`: those of a match."""

    query: Query
    events: pa.Schema
    given: pa.Schema
    output: int
    engine: str = "auto"
    plan: str = "auto"

    def session(self, **options: Any) -> Session:
        """A session of the query, which knows the columns of its events."""
        session = known(self.query).session(engine=self.engine, plan=self.plan, **options)
        session.push(self.events.empty_table())
        return session

    def match(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """The matches of tables that come in the order of their times: each begins where the one before ended."""
        session = self.session()
        schema = make_schema(self.events, self.query._roles)
        for table in tables:
            session.push(table)
            times = ticks(schema, table)
            if len(times):
                yield from self.tables(session.reach(int(times[-1])))
        yield from self.tables(session.close())

    def tables(self, matches: Matches) -> Iterator[pa.Table]:
        """Matches in the types that Spark was told."""
        chosen = list(matches.outputs.values())[self.output]
        for table in chosen.to_batches():
            yield table.cast(self.given)

    def conform(self, table: pa.Table) -> pa.Table:
        """Events in the names and types that the query is bound to; more columns may come after theirs."""
        names = self.events.names
        return table.select(list(range(len(names)))).rename_columns(names).cast(self.events)


_KNOWN: dict[str, Query] = {}


def known(query: Query) -> Query:
    """The same query as an earlier task of this worker had, with all that was made for it."""
    if query._functions:  # which might be others of the same names
        return query
    if len(_KNOWN) > 64:
        _KNOWN.clear()
    return _KNOWN.setdefault(query._fingerprint(), query)


def in_order(work: Work) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow`: rows come in the order of time."""

    def cepheid_match(batches: Batches) -> Batches:
        for table in work.match(gathered(work, batches)):
            yield from table.to_batches()

    return cepheid_match


def in_slices(work: Work) -> Callable[[Batches], Batches]:
    """The same where rows come slice by slice, by time. A slice gives the matches that start in it."""

    def cepheid_match_slices(batches: Batches) -> Batches:
        schema = make_schema(work.events, work.query._roles)
        rows = _Slices(work, batches)
        while rows.more():
            code = rows.code
            for table in work.match(rows.of(code)):
                if code is not None:
                    length = 1 << (code & 63)
                    low = (code >> 6) * length
                    starts = ticks(schema, table, START)
                    table = table.filter(pa.array((starts >= low) & (starts < low + length)))
                yield from table.to_batches()

    return cepheid_match_slices


class _Slices:
    """Tables of one slice after the other."""

    def __init__(self, work: Work, batches: Batches) -> None:
        self.work = work
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

    def of(self, code: int | None) -> Iterator[pa.Table]:
        """All rows of a slice."""

        def parts() -> Batches:
            while self.more() and self.code == code:
                batch = self.rest
                assert batch is not None
                codes = batch.column(SLICE)
                own = codes.is_null() if code is None else pa.array(codes.fill_null(code - 1).to_numpy() == code)
                count = own.true_count  # its rows come first: they are sorted by slice
                self.rest = batch.slice(count)
                yield batch.slice(0, count)

        return gathered(self.work, parts())


def gathered(work: Work, batches: Batches) -> Iterator[pa.Table]:
    """Spark's batches, joined until there are enough rows for a push."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _ENOUGH:
            yield work.conform(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield work.conform(pa.Table.from_batches(waiting))
