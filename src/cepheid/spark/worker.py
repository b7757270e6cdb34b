"""What runs inside Spark's Python workers: batches of events in, batches of matches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api import Changes, Matches, Query
from cepheid.api.hosting import How, match_arrivals
from cepheid.engine.matches.changes import OP, REMOVED
from cepheid.engine.session.ahead_session import AheadSession
from cepheid.engine.session.engines import read_choice
from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.opening import open_ahead, open_waiting
from cepheid.engine.session.waiting_session import WaitingSession
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.pattern.binding.schema import MATCH_ID, Schema, make_schema
from cepheid.pattern.expressions.paths import Path
from cepheid.spark.netting import Changed, Unmet, net_arrivals
from cepheid.spark.outputs import QUERY
from cepheid.spark.signs import signs_of

SLICE = "__cepheid_slice"
"""The column with the code of a row's time slice: the number of the slice times 64, plus the bits of its length."""

HORIZON = "__cepheid_horizon"
"""The column with the last time of all rows, in ticks, where the end of the input does not end absences."""

AT_ONCE = 1 << 21
"""Events of a task up to which they are matched in one call. Of more, a session holds only those it still needs."""

PUSH = 1 << 18
"""Events that a session orders and matches together: each call has a cost of its own."""

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class WorkerQuery:
    """A query as it is shipped to the workers.

    event_schema: the columns that arrive in Python.
    match_schema: the columns of a match, in types that Spark has.
    output: the number of the query of a program whose matches are returned.
    """

    query: Query
    event_schema: pa.Schema
    match_schema: pa.Schema
    output: int
    engine: str = "auto"
    plan: str = "auto"
    long: bool = False  # one row for each event of a match
    op: str | None = None  # the column that says which rows insert events, and which retract them
    speculate: str | None = None  # how far ahead of the watermark matches are given; None: not at all
    sequence: str | None = None  # the column that counts events, if no match spans a gap in it
    control: bool = False  # the query changes while it runs, and matches say which query emitted them
    key: tuple[Path, ...] = ()  # what divides the events, which other queries must have too

    @property
    def schema(self) -> Schema:
        """The event columns with their roles."""
        return self.query.compiled.schema(self.event_schema)

    def new_session(self) -> WaitingSession:
        """Open a session that knows no columns yet."""
        return open_waiting(cached_query(self.query), self.engine, self.plan)

    def session(self, log: Sequence[AnyChange] = ()) -> WaitingSession:
        """Open a session that knows the event columns. log: how the query has changed before."""
        session = self.new_session()
        session.conform(self.event_schema.empty_table())
        if log:
            session.make(log)
        return session

    @property
    def changes(self) -> bool:
        """Whether a stream needs sessions that go ahead of the watermark, or in which events can be retracted."""
        return any(option is not None for option in (self.op, self.speculate, self.sequence))

    def change_session(self) -> AheadSession:
        """Open such a session; it knows no columns yet."""
        query = cached_query(self.query)
        return open_ahead(query, self.engine, self.plan, speculate=self.speculate, op=self.op, sequence=self.sequence)

    def match(
        self, events: Iterable[Arrival], starts: range | None = None, horizon: int | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matches of events that arrive in the order of their first times.

        Few events are matched by one call, which is faster, and many by a session.

        starts: the ticks at which the matches may start; None: all matches.
        horizon: until when absences are known, in ticks; None: the end of the events ends them.
        """
        buffered: list[Arrival] = []
        rows = 0
        events = iter(events)
        for arrival in events:
            buffered.append(arrival)
            rows += arrival.count
            if rows > AT_ONCE:
                yield from self._match_in_session(chain(buffered, events), starts, horizon)
                return
        if buffered:
            query, how = cached_query(self.query), How(self.engine, read_choice(self.engine, self.plan))
            schema = make_schema(self.event_schema, query.compiled.roles)
            matches = match_arrivals(query, schema, buffered, how, horizon)
            yield from self.tables(matches, starts)

    def _match_in_session(
        self, events: Iterable[Arrival], starts: range | None, horizon: int | None
    ) -> Iterator[pa.Table]:
        session = self.session()
        rows = 0
        for arrival in events:
            if rows >= PUSH:
                yield from self.tables(session.reach(arrival.low), starts)  # what is before this time is complete
                rows = 0
            rows += session.take(arrival).count
        yield from self.tables(session.end(horizon), starts)

    def tables(
        self, emitted: Matches | Changes, starts: range | None = None, *, bucket: int | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matches of the chosen query, or their events, in the types that were declared to Spark.

        bucket: where changes come from, if there are several such places.
        """
        outputs: dict[str, Matches | Changes] = dict(emitted.outputs)
        names = self.query.compiled.names
        yield from self._rows(outputs[names[self.output]], names[self.output], starts, bucket)
        for name, other in outputs.items() if self.control else ():
            if name not in names:  # a query that was added
                yield from self._rows(other, name, starts, bucket)

    def _rows(
        self, emitted: Matches | Changes, name: str, starts: range | None, bucket: int | None
    ) -> Iterator[pa.Table]:
        """Yield the matches of one query."""
        if isinstance(emitted, Changes):
            if len(emitted):
                yield self._declared(self._distinct(emitted.to_arrow(ids=True), name, bucket), name)
            return
        for part in emitted.parts():
            if starts is not None:
                part = part.starting(starts)
            yield self._declared(part.to_long() if self.long else part.to_arrow(), name)

    def _declared(self, table: pa.Table, name: str) -> pa.Table:
        """Give rows the columns that were declared to Spark; where there may be several queries, with the name."""
        if self.control:
            table = table.append_column(QUERY, pa.repeat(pa.scalar(name, pa.string()), table.num_rows))
            table = table.select(self.match_schema.names)
        return table.cast(self.match_schema)

    def _distinct(self, changes: pa.Table, name: str, bucket: int | None) -> pa.Table:
        """Give matches of different queries and buckets different identifiers.

        Those of a match that has its events are different anyway. Of a RETURN, different keys may have equal rows.
        """
        added = name not in self.query.compiled.names
        more = f"{crc32(name.encode()):08x}" if added else ""
        if bucket is not None and (added or self.query.compiled.queries[self.output].query.returns):
            more += f"{bucket & 0xFFFFFFFF:08x}"
        if not more:
            return changes
        k = changes.schema.get_field_index(MATCH_ID)
        longer = pc.binary_join_element_wise(changes.column(k), more, "")
        return changes.set_column(k, changes.schema.field(k), longer)

    def count(self, table: pa.Table) -> tuple[int, int]:
        """Return how many matches a table of the output has, and how many it retracts."""
        if self.long:
            return int(pc.count_distinct(table[MATCH_ID]).as_py()), 0
        removed = 0 if self.speculate is None else int(pc.sum(pc.equal(table[OP], REMOVED)).as_py() or 0)
        return int(table.num_rows) - removed, removed

    def conform(self, table: pa.Table) -> pa.Table:
        """Give the event columns, which come first, the names and types that the query is bound to."""
        return conform(table, self.event_schema)

    def read(self, table: pa.Table) -> Changed:
        """Read rows of Spark: the events, and which of them are inserted and retracted."""
        return self.conform(table), signs_of(table, self.op)

    def arrivals(self, changes: Iterable[Changed], unmet: Unmet) -> Iterator[Arrival]:
        """Yield the events that are left of rows which come in the order of their first times."""
        schema = self.schema
        if self.op is not None:
            return net_arrivals(schema, changes, unmet)
        return (arrival_of(schema, events) for events, _ in changes)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give the event columns, which come first, the names and types of a schema."""
    return table.select(list(range(len(schema)))).rename_columns(schema.names).cast(schema)


_QUERIES: dict[str, Query] = {}


def cached_query(query: Query) -> Query:
    """Return the same query of an earlier task of this worker, with all that was compiled for it."""
    if query.compiled.functions:  # the fingerprint has their names, and others may have the same
        return query
    if len(_QUERIES) > 64:
        _QUERIES.clear()
    return _QUERIES.setdefault(query.compiled.fingerprint, query)


Report = Callable[[int], None]
"""Called by a task with the number of its retractions without an event."""


def match_in_order(worker_query: WorkerQuery, report: Report | None = None) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that matches rows which arrive in time order."""

    def cepheid_match(batches: Batches) -> Batches:
        horizon, batches = _horizon(batches)
        unmet = UnmetRetractions()
        for table in worker_query.match(_arrivals(worker_query, batches, unmet.counted()), horizon=horizon):
            yield from table.to_batches()
        unmet.send(report)

    return cepheid_match


def match_in_slices(worker_query: WorkerQuery, report: Report | None = None) -> Callable[[Batches], Batches]:
    """Make the function that matches rows which arrive slice by slice, and within a slice in time order.

    A slice returns the matches that start in it. Rows without a slice come first, and return all their matches.
    """

    def cepheid_match_slices(batches: Batches) -> Batches:
        horizon, batches = _horizon(batches)
        unmet = UnmetRetractions()
        rows = SliceRows(batches)
        while rows.more():
            code = rows.code
            starts = starts_of(code)
            events = _arrivals(worker_query, rows.of(code), unmet.counted(starts))
            for table in worker_query.match(events, starts, horizon):
                yield from table.to_batches()
        unmet.send(report)

    return cepheid_match_slices


def starts_of(code: int | None) -> range | None:
    """The ticks of a slice, by its code; None: rows without a slice, of which all matches are wanted."""
    if code is None:
        return None
    length = 1 << (code & 63)
    return range((code >> 6) * length, ((code >> 6) + 1) * length)


def _horizon(batches: Batches) -> tuple[int | None, Batches]:
    """The last time of all events, if the rows have it, and the batches."""
    for batch in batches:
        if batch.num_rows:
            known = HORIZON in batch.schema.names
            return batch.column(HORIZON)[0].as_py() if known else None, chain([batch], batches)
    return None, iter(())


def _arrivals(worker_query: WorkerQuery, batches: Batches, unmet: Unmet) -> Iterator[Arrival]:
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    return worker_query.arrivals(map(worker_query.read, tables), unmet)


class UnmetRetractions:
    """Counts the retractions of a task that had no event."""

    def __init__(self) -> None:
        self.count = 0

    def counted(self, times: range | None = None) -> Unmet:
        """Return what counts those of some times: a slice also has rows of its neighbours, which count them."""

        def count(time: int, number: int) -> None:
            if times is None or time in times:
                self.count += number

        return count

    def send(self, report: Report | None) -> None:
        """Tell how many there are, if that was asked."""
        if report is not None:
            report(self.count)


class SliceRows:
    """Reads batches that are sorted by slice, one slice after the other."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.rest: pa.RecordBatch | None = None
        self.code: int | None = None

    def more(self) -> bool:
        """Tell whether there are more rows, and set `code` to the slice of the next one."""
        while self.rest is None or not self.rest.num_rows:
            self.rest = next(self.batches, None)
            if self.rest is None:
                return False
        self.code = self.rest.column(SLICE)[0].as_py()
        return True

    def of(self, code: int | None) -> Batches:
        """Yield the rows of the slice that comes next."""
        while self.more() and self.code == code:
            batch = self.rest
            assert batch is not None
            codes = batch.column(SLICE)
            is_member = codes.is_null() if code is None else pa.array(codes.fill_null(code - 1).to_numpy() == code)
            count = is_member.true_count  # they come first, because rows are sorted by slice
            self.rest = batch.slice(count)
            yield batch.slice(0, count)
