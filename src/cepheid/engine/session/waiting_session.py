"""A session that emits matches once the watermark has passed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.history import Life
from cepheid.engine.session.outputs import with_others
from cepheid.engine.session.query_session import OnAccepted, QuerySession
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.signed_rows import Signs
from cepheid.engine.session.turn import Turn
from cepheid.engine.session.waiting_query import WaitingQuery
from cepheid.engine.stream.parts import FlatSink, Header, PartSource, Prefixed, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import EVER, Promise
from cepheid.engine.stream.retyped import retype
from cepheid.engine.stream.rows import Arrival
from cepheid.engine.stream.shared_stream import SharedStream
from cepheid.engine.stream.snapshot import load_pipeline, telling_damage, write_pipeline, write_state
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.tree.flow import EVENTS
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory


class WaitingSession(QuerySession[WaitingQuery]):
    """Events wait for the watermark; what was emitted stands.

    The session's own query has its stream for itself, since promises may take it ahead. Queries that were added share
    one: `take` puts events into it once, however many they are.
    """

    def __init__(
        self, query: SessionQuery, factory: MachineFactory, *, lateness: int | None = None, policy: str = "error"
    ) -> None:
        super().__init__(query, factory, lateness, policy)
        self._own = WaitingQuery(self.history.own, factory)
        self._added: dict[str, WaitingQuery] = {}
        self._shared: list[SharedStream] = []
        self._empty: Matches | None = None  # what the own query emits for `_empty_of`: no matches of any of its queries
        self._empty_of: list[Matches] = []

    @property
    def own(self) -> WaitingQuery:
        return self._own

    @property
    def added(self) -> Mapping[str, WaitingQuery]:
        """Queries that were added, while they live."""
        return self._added

    @property
    def corrects(self) -> bool:
        return False

    @property
    def begun(self) -> bool:
        """Whether there was an event."""
        return self.events > 0

    @property
    def trusts(self) -> bool:
        """Whether more follows from promises than which events are late: they are about the query of the beginning."""
        return not self._own.is_over and not self.has_replaced

    def settled(self, name: str | None) -> int | None:
        """A time before which no event is read again."""
        certain = self.promises.certain if name is None else None
        return self.clock.watermark if certain is None else certain

    def open(self, columns: pa.Schema) -> None:
        """Begin with events of some columns."""
        schema = make_schema(columns, self.roles)
        self._own.open(schema)  # which may be refused
        self.schema, self.columns, self.is_open = schema, schema.arrow, True
        self.clock.open(schema)
        self._shared = []
        for query in self._added.values():
            self._share(query)

    def _share(self, query: WaitingQuery, stream: SharedStream | None = None) -> None:
        """Open a query on the stream of others, or of its own, which the session has from then on."""
        shared = self._stream_for(query) if stream is None else stream
        shared.add(query.open(shared.stream.schema, shared.stream))
        if shared not in self._shared:
            self._shared.append(shared)

    def _stream_for(self, query: WaitingQuery) -> SharedStream:
        """A stream that a query can share. Columns that it derives must mean the same for all who read it."""
        schema = self._schema_of(query)
        for shared in self._shared:
            if shared.stream.schema == schema and shared.functions == query.functions is not None:
                return shared
        return SharedStream.of(schema, query.functions)

    def _schema_of(self, query: WaitingQuery) -> Schema:
        return make_schema(self.columns, query.life.query.compiled.roles)

    # Events and the watermark.

    def take(self, arrival: Arrival) -> Arrival:
        """Let the events that are not late wait for the watermark, and return them."""
        query, watermark = self._own, self.clock.watermark
        pipeline = query.pipeline
        if watermark is not None and arrival.low < watermark:
            arrival = self.late.on_time(arrival, pipeline.events.arrivals, watermark)
        seen = arrival
        if self.promises.are_made:
            arrival, seen = self.promises.kept(arrival, self.late, watermark, pipeline)
        if query.life.lifetime.until is None:
            pipeline.events.arrivals.add(seen)
        elif not query.is_over:
            pipeline.push(query.see(seen))
        for shared in self._shared:
            shared.stream.arrivals.add(arrival)
        if arrival.count:
            clock = self.clock
            self.events += arrival.count
            if clock.latest is None or arrival.high > clock.latest:  # as `see` has it, without a call for each event
                clock.latest = arrival.high
        return arrival

    def accept(self, arrival: Arrival, signs: Signs = None, on_accepted: OnAccepted | None = None) -> Matches:
        """Take events in, and let the watermark follow those that are not late, if it follows any."""
        on_time = self.take(arrival)
        if on_accepted is not None:
            on_accepted(self.pipeline.events.arrivals.read(on_time), None)
        clock = self.clock
        if clock.lateness is None or not on_time.count:
            return self.nothing()
        watermark = on_time.high - clock.trail  # as `following` has it
        return self.reach(watermark if clock.watermark is None else max(watermark, clock.watermark))

    def reach(self, watermark: int) -> Matches:
        """Move the watermark, in ticks: all events before it are in. Return the matches that became certain."""
        self.clock.watermark = watermark
        reached = self.promises.reached(watermark, self._own.pipeline) if self.promises.are_made else watermark
        matches = self._advance(reached)
        return matches if not self._added else self._with_added(matches, watermark, None)

    def end(self, horizon: int | None = None) -> Matches:
        """End the stream. horizon: until when absences are known, in ticks; None: the end ends them all."""
        self.closed = True
        matches = self._advance(None, horizon)
        return matches if not self._added else self._with_added(matches, None, horizon)

    def _advance(self, reached: int | None, horizon: int | None = None, ahead: PartitionTimes | None = None) -> Matches:
        """The matches of the session's own query."""
        query = self._own
        self.failed = True  # until it has succeeded
        if query.life.lifetime.until is None:
            matches = query.pipeline.advance(reached, horizon, ahead)
        else:
            matches = query.advance(reached, horizon, ahead)
        self.failed = False
        if self._empty is not None and matches == self._empty_of:
            return self._empty
        emitted = query.result(matches)
        if emitted is query.outputs.empty:
            self._empty, self._empty_of = emitted, matches
        else:
            self.matches += matches[-1].count()
        return emitted

    def _with_added(self, main_matches: Matches, reached: int | None, horizon: int | None) -> Matches:
        """The matches of all queries; those that are over are dropped."""
        self.failed = True
        matches: dict[int, list[Matches]] = {}
        for shared in self._shared:
            matches |= zip(map(id, shared.readers), shared.advance(reached, horizon), strict=True)
        emitted = {name: query.result(matches[id(query.reader)]) for name, query in self._added.items()}
        for name in [name for name, query in self._added.items() if query.is_over and reached is not None]:
            self._leave(self._added.pop(name))
        self.failed = False
        return with_others(main_matches, emitted)

    def _leave(self, query: WaitingQuery) -> None:
        """A query does not read its stream any more."""
        for shared in self._shared:
            if query.reader is not None:
                shared.remove(query.reader)
        self._shared = [shared for shared in self._shared if shared.readers]

    def nothing(self) -> Matches:
        """No matches, of any query; nearly every push of one event returns these."""
        empty = self._own.nothing()
        return empty if not self._added else with_others(empty, {name: q.nothing() for name, q in self._added.items()})

    def keep_promise(self, promise: Promise | None) -> Matches:
        """Emit what a promise has made certain; None: one that says nothing new."""
        pipeline = self.pipeline
        reached = self.promises.reached(self.clock.watermark, pipeline)
        ahead = None if promise is None else self.promises.partition_times(reached, promise, pipeline)
        if ahead is not None and not pipeline.may_go_ahead(EVER if reached is None else reached):
            ahead = None
        if promise is not None:
            self._end_runs(reached)
        if reached is None and ahead is None:
            return self.nothing()
        matches = self._advance(EVER if reached is None else reached, ahead=ahead)
        return with_others(matches, {name: query.nothing() for name, query in self._added.items()})

    def _end_runs(self, reached: int | None) -> None:
        """Give up runs that nothing to come can complete."""
        promises = self.promises.trusted(self.pipeline)
        for query in self.pipeline.readers(EVENTS):
            before = promises.ends_from(query.query, reached, self.pipeline.events.arrivals)
            if before is not None and query.machine is not None:
                query.machine.end_runs(before)

    # Queries may change, come and go (S17).

    def begin(self, life: Life) -> WaitingQuery:
        """A query that is to be added, as its columns allow; it is opened when nothing can be wrong any more."""
        query = WaitingQuery(life, replace(self._factory, choice=AUTO))  # a forced plan is the own query's
        query.open(self._schema_of(query))
        return query

    def take_turns(self, main: Turn | None, turns: Mapping[str, Turn], begun: Mapping[str, WaitingQuery]) -> Matches:
        """Go on with the queries as they are after that. Nothing is emitted: no event after the change was read."""
        watermark = self.clock.watermark
        if main is not None:
            self._own.take_turn(main, watermark)
        for name, turn in turns.items():
            query = self._added[name]
            if turn.query is None:
                query.take_turn(turn, watermark)
            else:
                self._leave(query)
                reader = query.take_turn(turn, watermark)
                self._shared.append(SharedStream(reader.pipeline.events, None, [reader]))
        for name, query in begun.items():
            self._added[name] = query
            self._share(query)
        return self.nothing()

    # For Spark's state store.

    def reserve(self, to: int) -> None:
        """Make room for the events that `reach` of the same time will order."""
        for pipeline in self.pipelines:
            pipeline.reserve(to)

    def compact(self) -> None:
        """Drop everything that no match to come can need; by itself a session waits until there is much of it."""
        watermark = self.clock.watermark
        if watermark is not None:
            if not self._own.is_over:
                self.pipeline.compact(watermark)
            for shared in self._shared:
                shared.compact(watermark)

    @property
    def window(self) -> int | None:
        """For how many ticks an event can matter to a query, or None if one of them is not bounded in time."""
        return _latest([pipeline.window for pipeline in self.pipelines])

    @property
    def over(self) -> int | None:
        """The watermark from which on no event so far can be in a new match; those that wait are no such."""
        return _latest([pipeline.over for pipeline in self.pipelines if pipeline.events.last is not None])

    @property
    def undecided(self) -> bool:
        """Whether events wait to be ordered, or a match has ended that is not certain yet."""
        return any(pipeline.undecided for pipeline in self.pipelines)

    def deadlines(self) -> Iterator[int]:
        """The watermarks at which there is something to do even if no event arrives."""
        for pipeline in self.pipelines:
            yield from pipeline.deadlines()

    # Snapshots.

    def save(self, sink: Sink) -> Header:
        """The state: a header, and parts that go into a sink. A stream that queries share is written once."""
        main = self._own
        late = self.late_events if self.late.set_aside else None
        facts = self.facts(over=main.is_over, right_from=main.right_from)
        header = write_state(facts, main.pipeline if self.is_open else None, late, sink)
        others: Header = {}
        streams: dict[int, Header] = {}
        for name, query in self._added.items():
            part, events = Prefixed(sink, f"{name}/"), query.pipeline.events
            facts = self.facts_of_added(query.life.query, over=False, right_from=query.right_from)
            saved = write_pipeline(query.pipeline, part, streams.get(id(events)))
            streams[id(events)] = saved["streams"][0]
            others[name] = write_state(facts, None, None, part) | saved
        return header | ({"others": others} if others else {})

    def load(self, header: Header, source: PartSource) -> None:
        """Restore a state that `save` has written."""
        facts, columns = self.load_facts(header, source)
        if columns is None:
            return
        self._own.life, self._own.right_from = self.history.own, facts.right_from
        self.open(columns)
        assert self._own.reader is not None
        self._own.reader.is_over = facts.over
        with telling_damage():
            load_pipeline(header, source, self.pipeline)
            self._load_added(header, lambda saved, pipeline: source)
        self.promises.load(header["session"], self.pipeline)

    def _load_added(self, header: Header, source_for: Callable[[Header, Pipeline], PartSource]) -> None:
        """Restore queries that were added: those whose streams are saved in the same place share one."""
        streams: dict[str, SharedStream] = {}
        self._shared, self._added = [], {}
        others = header.get("others", {})
        places = {name: repr(saved["streams"][0]) for name, saved in others.items()}
        for name, saved in others.items():
            query = WaitingQuery(self.history.added[name], replace(self._factory, choice=AUTO))
            query.right_from = saved["session"].get("right_from")
            place = places[name]
            is_known = place in streams
            if not is_known:
                streams[place] = SharedStream.of(self._schema_of(query), query.functions)
            self._added[name] = query
            self._share(query, streams[place])
            load_pipeline(saved, source_for(saved, query.pipeline), query.pipeline, has_events=is_known)

    def retype(self, columns: pa.Schema) -> None:
        """Go on with other types of columns."""
        flat = FlatSink()
        header = self.save(flat)
        main, over = self._own, self._own.is_over
        self._added = {}
        self.open(columns)
        assert main.reader is not None
        main.reader.is_over = over
        source = retype(header, flat, self.pipeline)
        load_pipeline(header, source, self.pipeline)
        if header["late"] is not None:
            self.late.set_aside = [source.table(header["late"])]
        self._load_added(header, lambda saved, pipeline: retype(saved, flat, pipeline))


def _latest(times: Sequence[int | None]) -> int | None:
    """The greatest of some times; None is after all of them."""
    return None if None in times else max((time for time in times if time is not None), default=None)
