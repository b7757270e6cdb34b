"""The queries of a program over one flow of events: one's INTO feeds another's FROM (S13, S25)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from cepheid.engine.composites import as_merged, composite_events, schema_of
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.plans import Plans
from cepheid.engine.machines.protocol import Machine
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import CompiledProgram, QueryCache
from cepheid.engine.progress import Report
from cepheid.engine.stream.composite_types import fitted, known_columns
from cepheid.engine.stream.input_stream import InputStream, orders_partitions, types_in_order
from cepheid.engine.stream.query_stream import QueryStream
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.view import View
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.flow import EVENTS, StreamSource
from cepheid.pattern.tree.nodes import Output
from cepheid.pattern.tree.scope import VisibleEvents

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery

PlansFactory: TypeAlias = "Callable[[CompiledQuery, StreamCodes, str | None], Plans]"
"""The plans for a query of a stream. The last argument: the kind of machine whose state is restored, if any."""


class Pipeline:
    """The streams of a program and the queries that read them.

    Whoever has it pushes events and calls `advance` with the watermark. Where others read the events too, they are
    given as `events`, and whoever shares them releases them and calls `process` in place of that.

    since: the queries see no event up to this time, in ticks, though the stream may have some.
    """

    def __init__(
        self,
        cache: QueryCache,
        factory: PlansFactory,
        schema: Schema,
        *,
        once: bool,
        report: Report | None = None,
        events: InputStream | None = None,
        since: int | None = None,
    ) -> None:
        self.cache = cache
        self.program: CompiledProgram = cache.program
        self.factory = factory
        self.schema = schema
        self.once = once
        self.report = report
        self.since = since
        self.events = InputStream(schema, once=once) if events is None else events
        self.streams: dict[StreamSource, InputStream] = {EVENTS: self.events}
        self.views: dict[tuple[StreamSource, VisibleEvents], View] = {}
        self.queries: list[QueryStream] = []
        made: dict[str, Runnable] = {}
        for number, source in enumerate(self.program.sources):
            if source not in self.streams:
                columns = schema_of(source, schema, made, self.program.roles)
                self.streams[source] = InputStream(columns, once=once)
            self.queries.append(self.query(number))
            query = self.queries[-1].query
            if query.into is not None:
                made[query.into] = query.result
        for source in self.streams:
            if events is None or source != EVENTS:
                self._order(source)

    def _order(self, source: StreamSource) -> None:
        """Say which events of a stream need the order of S1: of composites, all, unless only CESAR reads them."""
        stream, queries = self.streams[source], [query.query for query in self.readers(source)]
        types = types_in_order(queries)
        stream.arrivals.types = types if source == EVENTS or not types else None
        if self.once and len(self.queries) == 1 and orders_partitions(queries, stream.schema):
            stream.arrivals.index = stream.codes.partitions(queries[0].partitions)

    def query(self, number: int, kind: str | None = None) -> QueryStream:
        """A query over the stream that it sees, ready to run."""
        source = self.program.sources[number]
        stream = self.streams[source]
        compiled = self.cache.query(number, stream.schema)
        if compiled.query.scope is not None:
            key = source, compiled.query.scope
            if key not in self.views:
                self.views[key] = View(compiled.query, once=self.once)
            stream = self.views[key].stream

        def plans_for(kind: str | None) -> Plans:
            return self.factory(self.cache.query(number, self.streams[source].schema), stream.codes, kind)

        since = self.since if stream is self.events else None
        return QueryStream(compiled.query, stream, plans_for, kind, since=since)

    def push(self, arrival: Arrival) -> None:
        """Events for the queries that read the stream itself."""
        self.events.arrivals.add(arrival)

    def advance(
        self, watermark: int | None, horizon: int | None = None, ahead: PartitionTimes | None = None
    ) -> list[Matches]:
        """What each query gives when all events before a time (None: all) are in.

        horizon: where all are in, until when absences are known; None: the end of the input ends them.
        ahead: partitions of which all events before other times are in, where `may_go_ahead`.
        """
        events = self.events
        released = events.arrivals.release(watermark)
        batch = None if released is None else events.append(*released)
        if self.is_simple and ahead is None:
            query = self.queries[0]
            if batch is not None:
                query.feed(batch)
            matches = [query.settle(watermark, horizon)]
        else:
            matches = self.process(batch, watermark, horizon, ahead)
        if watermark is not None and (ahead is not None or events.events >= events.look_at):
            events.compact(watermark, self.machines_of(events), eager=ahead is not None)
        if ahead is not None:
            self.queries[0].reach_partitions(None)
        return matches

    def process(
        self,
        batch: Batch | None,
        watermark: int | None,
        horizon: int | None = None,
        ahead: PartitionTimes | None = None,
    ) -> list[Matches]:
        """Like `advance`, with events that were released by whoever shares the stream, and compacts it."""
        results: list[Matches] = []
        until: dict[StreamSource, int | None] = {EVENTS: watermark}
        released: set[StreamSource] = {EVENTS}
        batches: dict[InputStream, Batch] = {} if batch is None else self.distribute(EVENTS, batch)
        for number, source in enumerate(self.program.sources):
            if source not in released:
                if source not in until:
                    # An event is handed on when all that come before it in any of the streams are certain.
                    limits = [until[name,] for name in source]
                    until[source] = min((limit for limit in limits if limit is not None), default=None)
                composites = self.streams[source].release(until[source])
                batches |= {} if composites is None else self.distribute(source, composites)
                released.add(source)
            query = self.queries[number]
            seen, whole = batches.get(query.stream), batches.get(self.streams[source])
            if self.report is not None and source == EVENTS and whole is not seen and whole is not None:
                self.report(len(whole) - (0 if seen is None else len(seen)))  # that it does not see
            if seen is not None:
                seen.report = self.report if source == EVENTS else None
                query.feed(seen)
            if ahead is not None:
                self._go_ahead(query, ahead, watermark)
            matches = query.settle(until[source], horizon)
            results.append(matches)
            if query.query.into is not None:
                # No match that ends before this time is still to come, so that the next query may go so far.
                limit = until[source]
                self.receive(query.query.into, composite_events(query.query.result, matches, self.program.roles))
                certain = None if limit is None else query.certain(limit)
                until[query.query.into,] = self.held_until(query.query.result, certain)
        for source, stream in self.every_stream():
            limit = until[source]
            if (
                limit is not None
                and stream is not self.events
                and (ahead is not None or stream.events >= stream.look_at)
            ):
                stream.compact(limit, self.machines_of(stream), eager=ahead is not None)
        return results

    @cached_property
    def is_simple(self) -> bool:
        """Whether one query reads the events, and nothing else is there."""
        return len(self.queries) == 1 and self.queries[0].stream is self.events and self.report is None

    def may_go_ahead(self, watermark: int) -> bool:
        """Whether partitions can be ahead of others: matches of each are found, and certain, without the others."""
        if len(self.queries) != 1 or self.queries[0].query.output is not Output.ALL:
            return False
        return self.queries[0].run_by_partitions(watermark)

    def _go_ahead(self, query: QueryStream, ahead: PartitionTimes, watermark: int | None) -> None:
        """Hand on the events of partitions that are ahead."""
        stream = self.events
        released = stream.arrivals.take_out(ahead.before)
        batch = None if released is None else stream.append(*released)
        if batch is not None and query.stream is not stream:
            batch = self.views_of(EVENTS)[0].see(batch)
        if batch is not None:
            batch.floor = watermark
            query.feed(batch)
        query.reach_partitions(ahead)

    def distribute(self, source: StreamSource, batch: Batch) -> dict[InputStream, Batch]:
        """The next events of a stream, and those of its views. Events of the input also go where they are merged."""
        batches = {self.streams[source]: batch}
        for view in self.views_of(source):
            seen = view.see(batch)
            if seen is not None:
                batches[view.stream] = seen
        if source == EVENTS:
            for stream in self.merging(None):
                stream.arrivals.add(arrival_of(stream.schema, as_merged(batch.table, stream.schema, None), batch.times))
        return batches

    def views_of(self, source: StreamSource) -> list[View]:
        """What queries see of a stream."""
        return [view for (origin, _), view in self.views.items() if origin == source]

    def every_stream(self) -> Iterator[tuple[StreamSource, InputStream]]:
        """The streams that events come in, then what queries see of them, each with where its events come from."""
        yield from self.streams.items()
        yield from ((source, view.stream) for (source, _), view in self.views.items())

    def merging(self, name: str | None) -> list[InputStream]:
        """The streams that a stream is merged into with others."""
        return [stream for source, stream in self.streams.items() if len(source) > 1 and name in source]

    def readers(self, source: StreamSource) -> list[QueryStream]:
        """The queries that read a stream, or see a part of it."""
        return [query for query, origin in zip(self.queries, self.program.sources, strict=True) if origin == source]

    def machines_of(self, stream: InputStream) -> list[Machine]:
        """The machines of the queries that read a stream."""
        return [query.machine for query in self.queries if query.stream is stream and query.machine is not None]

    def compact(self, watermark: int) -> None:
        """Drop everything that no match to come can need, all events before a time being in."""
        self.events.compact(watermark, self.machines_of(self.events), eager=True)
        self.compact_composites(watermark)

    def compact_composites(self, watermark: int) -> None:
        """The same of all streams but that of the events, which others may read."""
        for _, stream in self.every_stream():
            if stream is not self.events:
                stream.compact(watermark, self.machines_of(stream), eager=True)

    def reserve(self, end: int) -> None:
        """Make room for the events that wait and are before a time, and compile if that pays."""
        events = self.events.arrivals.before(end)
        for query in self.readers(EVENTS):
            if query.machine is not None:
                query.machine.reserve(events)

    @property
    def undecided(self) -> bool:
        """Whether events wait for their order, or a match has ended that is not certain yet."""
        waits = any(stream.arrivals.waiting for stream in self.streams.values())
        return waits or any(query.unsettled() is not None for query in self.queries)

    @property
    def window(self) -> int | None:
        """For how many ticks an event can matter to a query, or None if one of them is not bounded in time."""
        windows = [query.query.reach for query in self.queries]
        return None if None in windows else max(window for window in windows if window is not None)

    @property
    def over(self) -> int | None:
        """The time from which on no event so far matters to a match to come; None if that never comes."""
        return self.over_after(self.events.last)

    def over_after(self, last: int | None) -> int | None:
        """The time from which on no event up to a time matters to a match to come; None if that never comes."""
        window = self.window
        cooldown = max(-(-query.query.cooldown // query.query.schema.tick) for query in self.queries)
        return None if last is None or window is None else last + max(window, cooldown)

    def deadlines(self) -> Iterator[int]:
        """The times at which there is something to do even if no event arrives.

        Events that wait are released, and a negation at the end of a match is decided.
        """
        yield from (arrival.low + 1 for arrival in self.events.arrivals.waiting)
        for query in self.queries:
            end, stream, bound = query.unsettled(), query.stream, query.query
            if end is None or not stream.rows:
                continue
            first, last = (int(ticks(stream.schema, stream.kept.slice(at, 1))[0]) for at in (0, end - stream.base))
            moments = [last + bound.ticks(bound.periods[n]) for n in bound.trailing if bound.periods[n] is not None]
            if bound.timed and bound.window is not None and len(moments) < max(1, len(bound.trailing)):
                moments.append(first + bound.window)
            if moments:
                yield max(min(moments), last + 1)

    def receive(self, name: str, events: pa.Table) -> None:
        """Composite events. What a user-defined function returns has no type before there is a value."""
        for merged in self.merging(name):
            merged.arrivals.add(arrival_of(merged.schema, as_merged(events, merged.schema, name)))
        stream = self.streams.get((name,))
        if stream is None:  # only others, or none, read it
            return
        if events.num_rows and not stream.events:
            columns = known_columns(stream.schema.arrow, events.schema)
            if columns != stream.schema.arrow:
                waiting = [stream.arrivals.read(arrival) for arrival in stream.arrivals.waiting]
                self.replace_stream((name,), columns)
                stream = self.streams[name,]
                for rows, times in waiting:
                    stream.arrivals.add(arrival_of(stream.schema, fitted(as_table(rows), columns), times))
        stream.arrivals.add(arrival_of(stream.schema, fitted(events, stream.schema.arrow)))

    def held_until(self, query: Runnable, limit: int | None) -> int | None:
        """How far the reader of composite events may go.

        A query is made for the types of its columns. So events wait while a user-defined function has given NULL only;
        when the stream ends, it has no type.
        """
        assert query.into is not None
        stream = self.streams.get((query.into,))
        unknown = {result.name for result in query.returns if result.type.kind is Kind.ANY}
        if limit is None or stream is None:
            return limit
        if not any(pa.types.is_null(f.type) for f in stream.schema.arrow if f.name in unknown):
            return limit
        return min([limit, *(arrival.low for arrival in stream.arrivals.waiting)])

    def replace_stream(self, source: StreamSource, columns: pa.Schema) -> None:
        """A stream turns out to have other columns before it had an event: its queries begin anew."""
        known = self.streams[source].schema
        columns_of = make_schema(columns, known.roles, known.start).columns
        schema = replace(known, columns=columns_of)
        stream = InputStream(schema, once=self.once)
        self.streams[source] = stream
        self.views = {key: view for key, view in self.views.items() if key[0] != source}
        for number, origin in enumerate(self.program.sources):
            if origin == source:
                self.queries[number] = self.query(number)
        self._order(source)
