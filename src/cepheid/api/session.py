"""A session: a query on a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_not
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from cepheid.api.changing import Changing, Turn
from cepheid.api.events import to_table
from cepheid.api.fits import check_fits
from cepheid.api.history import History, Life
from cepheid.api.options import check_limit, read_delay
from cepheid.api.punctuating import Punctuating
from cepheid.api.query_changes import ReplaceQuery
from cepheid.api.readable import check_text, is_checked
from cepheid.api.recent import read_recent
from cepheid.api.row_reader import RowReader
from cepheid.api.watch import Watch
from cepheid.api.written_changes import read_changes, write_changes
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.times import from_ticks, to_ticks
from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.conversion import convert
from cepheid.engine.stream.in_memory import MemorySink, written
from cepheid.engine.stream.lane_times import LaneTimes
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import FlatSink, Prefixed, Sink, Source
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import EVER, Promise
from cepheid.engine.stream.retyped import as_types, retype, typed_like
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.snapshot import read_state, to_bytes, write_pipeline, write_state
from cepheid.errors import InputError, UsageError, did_you_mean
from cepheid.language import print_query
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.durations import NANOSECONDS
from cepheid.pattern.flow import EVENTS
from cepheid.pattern.schema import Roles, Schema, make_schema
from cepheid.pattern.types import is_untyped
from cepheid.pictures import fact_table
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.diagnosis.trace import Trace
    from cepheid.engine.machines.factory import MachineFactory

_SHOWN = 80  # characters of the query

LATE = ("error", "drop", "collect")


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of a session and the size of its state.

    events: how many were accepted.
    runs: live runs, merged ones counted once; with a plan of stacks, stored events.
    merged: how many runs were merged into another; 0 with stacks.
    state_bytes: how large the state is.
    matches: how many were given.
    late: how many events came after the watermark had passed them.
    plan: that of each query, separated by semicolons.
    replans: how often the plan was changed.
    tests: how often conditions over several events were evaluated, the steps of a search included.
    steps: with speculation: how many events were gone over, again and again if others came late.
    debts: retractions that wait for their event.
    """

    events: int
    runs: int
    merged: int
    state_bytes: int
    matches: int
    late: int
    plan: str = ""
    replans: int = 0
    tests: int = 0
    steps: int = 0
    debts: int = 0


T = TypeVar("T")


class Session(Changing, Punctuating):
    """A query on a stream of batches. The matches do not depend on how the stream is split into batches.

    push: adds events, with any number of keys and in any order, as long as none is before the watermark.
    advance: moves the watermark: all events before this time have arrived. Emits the matches that became certain.
    close: ends the stream and emits the remaining matches.

    >>> from cepheid import Query
    >>> s = Query("PATTERN SEQ(A a, B b) WITHIN 1 second").session()
    >>> s.push([{"ts": 2, "type": "B"}, {"ts": 1, "type": "A"}])
    <0 matches: match_start, match_end, a, b>
    >>> s.advance(3)
    <1 match>
    match_start  match_end  a                 b
    1            2          {ts: 1, type: A}  {ts: 2, type: B}
    """

    def __init__(
        self,
        query: Query,
        factory: MachineFactory,
        *,
        lateness: object = None,
        late: str = "error",
        trace: object = None,
    ) -> None:
        if late not in LATE:
            raise UsageError(
                "CEP601", f"unknown policy {late!r} for late events", did_you_mean(str(late), LATE, "policies")
            )
        self._history = History(Life(query))
        self._cache = query.lasting.cache
        self._program = query.compiled
        self._roles = query.compiled.roles
        self._factory = factory
        self._surprises = query.surprises
        self._watch: Watch | None = Watch(query.surprises)
        self._lateness = None if lateness is None else read_delay("lateness", lateness, self._roles.unit)
        self._late = LateFilter(late)
        self._recent = read_recent(trace)
        self._names = query.compiled.names
        self._pipeline: Pipeline | None = None
        self._columns = pa.schema([])
        self._lateness_ticks = 0
        self._nothing: Matches | None = None
        self._nothing_of: list[Matches] = []
        self._watermark: int | None = None
        self._closed = False
        self._failed = False
        self._events = 0
        self._matches = 0
        self._latest = None
        self._log, self._shapes = [], []
        self._others: dict[str, Session] = {}  # of queries that were added, while they live
        self._over = False  # the query was removed, and has given all that it gives
        self._right_from: int | None = None  # the time from which on the query that runs is right (S17)

    def __repr__(self) -> str:
        text = " ".join("; ".join(print_query(analysed.query) for analysed in self._program.queries).split())
        shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        state = "closed" if self._closed else "stopped by an error" if self._failed else "open"
        counts = f"{self._events} event{'s' * (self._events != 1)}, {self._matches} match{'es' * (self._matches != 1)}"
        reached = "" if self._watermark is None else f", watermark {from_ticks(self._opened.schema, self._watermark)}"
        return f"<Session of {shown}: {state}, {counts}{reached}>"

    def _repr_html_(self) -> str:
        stats = self.stats
        reached = None if self._watermark is None else from_ticks(self._opened.schema, self._watermark)
        facts = {
            "events": stats.events,
            "matches": stats.matches,
            "matches in 1,000 events": f"{1000 * stats.matches / stats.events:.3g}" if stats.events else "",
            "watermark": reached or "none yet",
            "runs": stats.runs,
            "state": f"{stats.state_bytes:,} bytes",
            "late events": stats.late,
            "plan": stats.plan,
        }
        return fact_table(repr(self), facts)

    def push(self, events: object) -> Matches:
        """Add events. With `lateness` the watermark follows them; otherwise only `advance` moves it."""
        self._check_open()
        given = self._read(events)
        if isinstance(given, pa.Table):  # the session would be lost if it were found later
            check_text(given)
        arrival = arrival_of(self._opened.schema, given)
        if self._watch is not None and not self._watch.see(self._opened.schema, arrival):
            self._watch = None
        on_time = self._take(arrival)
        if self._recent is not None:
            self._recent.see(self._opened.streams[EVENTS].arrivals.read(on_time)[0])
        if self._lateness is None or not on_time.count:
            return self._give_nothing()
        latest = on_time.high - self._lateness_ticks
        return self._move(latest if self._watermark is None else max(latest, self._watermark))

    def _read(self, events: object) -> Events:
        """Events of the columns of those before: where a look shows that they are, no column is converted."""
        if self._begun:
            if isinstance(events, pa.Table) and events.schema.equals(self._columns) and not self._checked:
                return events
            rows = self._rows.read(events)
            if rows is not None:
                return rows
        return self._fitted(to_table(events, self._roles.type), listed=not hasattr(events, "columns"))

    def _fitted(self, table: pa.Table, *, listed: bool) -> pa.Table:
        """A table with the columns of those before. listed: it is made of dicts, which may lack keys."""
        if self._pipeline is not None and self._begun and listed:
            table = self._completed(table)
        return self._conform(table)

    def advance(self, watermark: object) -> Matches:
        """Move the watermark: all events before it have arrived. Returns the matches that became certain."""
        self._check_open()
        if self._pipeline is None:
            raise UsageError(
                "CEP606",
                "advance was called before the first push",
                "push first, if only an empty table, to define the columns",
            )
        return self.reach(to_ticks(self._pipeline.schema, watermark), shown=watermark)

    def reach(self, to: int, *, shown: object = None) -> Matches:
        """Like `advance`, with the time in ticks of the time column."""
        self._check_forward(to, shown)
        return self._move(to)

    def _check_forward(self, to: int, shown: object) -> None:
        if self._watermark is not None and to < self._watermark:
            told = to if shown is None else shown
            remedy = "pass a time that is not before the current watermark"
            raise UsageError("CEP606", f"the watermark {told!r} is before the current one", remedy)

    def close(self) -> Matches:
        """End the stream. Returns the remaining matches."""
        return self.end(None)

    def retract(self, rows: object) -> Any:
        """Take events back, in a session with `speculate` or `op`."""
        raise _only_waits("retract")

    def revise(self, old: object, new: object) -> Any:
        """Take events back and put others in their place, in a session with `speculate` or `op`."""
        raise _only_waits("revise")

    # Queries may change, come and go (S17).

    @property
    def _companions(self) -> dict[str, Session]:
        return self._others

    def _companion(self, life: Life) -> Session:
        factory = replace(self._factory, choice=AUTO)  # a plan that is forced is one of the session's own query
        found = Session(life.query, factory, late="drop")
        found._begin_late(life, self)
        return found

    def _begin_late(self, life: Life, leader: Session) -> None:
        """Begin to follow a session that has been open for a while."""
        self._watch = None
        self._history = History(life)
        if life.changes:
            self._cache = life.now(leader._opened.schema).cache
        self._pipeline = self._open(leader._columns)
        self._events = leader._events
        if leader._watermark is not None:
            self._watermark = leader._watermark
            self._run(leader._watermark)

    def _take_turns(self, own: Turn | None, turns: dict[str, Turn], begun: dict[str, Any]) -> Any:
        for session, turn in ((self, own), *((self._others[name], turn) for name, turn in turns.items())):
            if turn is not None:
                session._take_turn(turn)
        self._others |= begun
        return self._give_nothing()

    def _take_turn(self, turn: Turn) -> None:
        """Go on with another query, or with an end of its own. Nothing is given: no event after it was gone over."""
        from cepheid.engine.stream.retiming import retime  # kernels are not needed before

        self._history = replace(self._history, own=turn.life)
        if turn.cache is not None:
            self._cache = self._opened.cache = turn.cache
            retime(self._opened)
        if turn.query is None:
            return
        state = written(write_pipeline(self._opened, MemorySink()))
        pipeline = Pipeline(turn.query.cache, self._factory, self._opened.schema, once=False)
        convert(state, pipeline, turn.fits, self._watermark)
        self._cache, self._pipeline, self._nothing = turn.query.cache, pipeline, None
        self._right_from = turn.settled

    def _feed(self, arrival: Arrival, needed: Arrival | None = None) -> None:
        """Events that are not late, for all queries. needed: those that the session's own is to go over."""
        if not self._over:
            self._opened.push(self._seen(arrival if needed is None else needed))
        for other in self._others.values():
            other._feed(arrival)

    def _seen(self, arrival: Arrival) -> Arrival:
        """The events that come while the query lives."""
        life = self._history.own
        began = life.since is None or arrival.low > life.since
        if not arrival.count or (began and (life.until is None or arrival.high <= life.until)):
            return arrival
        events, times = self._opened.streams[EVENTS].arrivals.read(arrival)
        return arrival_of(self._opened.schema, *life.of(as_table(events), times))

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        pipelines = [one._pipeline for one in (self, *self._others.values()) if one._pipeline is not None]
        machines = [query.machine for pipeline in pipelines for query in pipeline.queries]
        streams = [stream for pipeline in pipelines for _, stream in pipeline.every_stream()]
        return Stats(
            events=self._events,
            runs=sum(machine.runs for machine in machines),
            merged=sum(machine.merged for machine in machines),
            state_bytes=sum(m.state_bytes() for m in machines) + sum(stream.kept.nbytes for stream in streams),
            matches=self._matches,
            late=self._late.count,
            plan="; ".join(machine.plan for machine in machines),
            replans=sum(machine.replans for machine in machines),
            tests=sum(machine.tests for machine in machines),
        )

    def trace(self, limit: int | None = 10_000) -> Trace:
        """What the runs of the query do on the last events, as `q.trace(events)` tells it.

        The session must keep them: `q.session(trace=n)` keeps the last n that were pushed and not late. They are gone
        over as if the stream had begun with the first of them and ended with the last: a run that began before is not
        in it. Queries that were added to the session are not traced.
        """
        from cepheid.api.diagnosing import trace  # seldom needed

        if self._recent is None:
            raise UsageError("CEP606", "the session keeps no events to trace", "open it with q.session(trace=1000)")
        check_limit(limit)
        table, before = self._recent.events(self._roles) if self._recent else (self._no_table(), 0)
        query = self._history.own.now(make_schema(table.schema, self._roles), self._right_from)
        return replace(trace(query, table, limit), before=before)

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the events that arrived after the watermark had passed them."""
        if not self._late.set_aside:
            return empty_table(self._pipeline.schema.arrow) if self._pipeline is not None else pa.table({})
        return pa.concat_tables(self._late.set_aside)

    def snapshot(self) -> bytes:
        """The state as bytes: `q.restore(blob)` continues from here."""
        flat = FlatSink()
        return to_bytes(self.save(flat), flat)

    def save(self, sink: Sink) -> dict[str, Any]:
        """The state: a header, and parts that go into a sink."""
        return self._facts(sink, self._pipeline)

    def _facts(self, sink: Sink, pipeline: Pipeline | None) -> dict[str, Any]:
        """The header of a state."""
        self._check_open()
        facts = {
            "fingerprint": self._program.fingerprint,
            "functions": sorted(self._program.functions),
            "watermark": self._watermark,
            "delay": self._lateness,
            "policy": self._late.policy,
            "late": self._late.count,
            "events": self._events,
            "matches": self._matches,
            "latest": self._latest,
            "changes": write_changes(self._log, self._history.own.query),
            "over": self._over,
            "right_from": self._right_from,
            **self._written_promises(),
        }
        header = write_state(facts, pipeline, self.late_events if self._late.set_aside else None, sink)
        others = {name: other.save(Prefixed(sink, f"{name}/")) for name, other in self._others.items()}
        return header | ({"others": others} if others else {})

    def load(self, header: dict[str, Any], source: Source) -> None:
        """Take up a state that `save` has written, in a new session of the same query."""
        self._load_facts(header, source)
        _, schema, load, _ = read_state(header, source, self._program.fingerprint)
        if schema is not None:
            self._load_history(schema)
            self._pipeline = self._open(schema)
            load(self._pipeline)
            self._load_others(header, source)
            self._read_promises(header["session"])

    def _load_others(self, header: dict[str, Any], source: Source) -> None:
        """Take up the queries that were added."""
        for name, saved in header.get("others", {}).items():
            life = self._history.added[name]
            saved["session"]["fingerprint"] = life.query.compiled.fingerprint
            self._others[name] = other = self._companion(life)
            other.load(saved, source)
            other._history = History(life)

    def _load_facts(self, header: dict[str, Any], source: Source) -> dict[str, Any]:
        """What a header has besides streams and machines."""
        self._watch = None  # the first events have been
        facts, _, _, late = read_state(header, source, self._program.fingerprint)
        self._watermark = facts["watermark"]
        self._lateness = facts["delay"] if "delay" in facts else _delay_in_units(facts["lateness"], self._roles)
        self._late.policy, self._late.count = facts["policy"], facts["late"]
        self._events, self._matches = facts["events"], facts["matches"]
        self._late.set_aside = [late] if late is not None else []
        self._latest = facts.get("latest")
        self._over, self._right_from = facts.get("over", False), facts.get("right_from")
        query = self._history.own.query
        self._log = read_changes(facts.get("changes", ()), type(query), query)
        return facts

    def _load_history(self, columns: pa.Schema) -> None:
        """What the log of changes has made of the queries."""
        schema = make_schema(columns, self._roles)
        self._history = self._history.after(self._judged(self._log), schema)
        self._use(self._history.own.now(schema, self._right_from))

    def _use(self, query: Query) -> None:
        """Run the query as it is now."""
        self._cache = query.lasting.cache

    # For whoever keeps many sessions, as Spark's state store does.

    def take(self, arrival: Arrival, *, late: str | None = None) -> int:
        """Like `push`, of events that have the columns of the first batch. Returns how many of them are not late.

        late: another policy for late events from now on.
        """
        self._check_open()
        self.treat_late(late or self._late.policy)
        return self._take(arrival).count

    def treat_late(self, policy: str) -> None:
        """Another policy for late events from now on."""
        self._late.policy = policy

    @property
    def late_count(self) -> int:
        """How many events came late."""
        return self._late.count

    def end(self, horizon: int | None) -> Matches:
        """Like `close`, without the absences that are not over at a time, in ticks; None: the end ends them all."""
        self._check_open()
        if self._pipeline is None:
            self._conform(self._no_table())
        if self._watch is not None:
            self._watch.end(self._opened.schema)
        self._closed = True
        own = self._given(self._run(None, horizon))
        return self._with_others(own, {name: other.end(horizon) for name, other in self._others.items()})

    def reserve(self, to: int) -> None:
        """Make room for the events that `reach` of the same time will order."""
        for one in self._every:
            one._opened.reserve(to)

    @property
    def _every(self) -> tuple[Session, ...]:
        """This session, and those of queries that were added."""
        return (self, *self._others.values())

    def compact(self) -> None:
        """Let go of everything that no match to come can need; by itself a session waits until there is much of it."""
        for one in self._every:
            if one._watermark is not None and not one._over:
                one._opened.compact(one._watermark)

    @property
    def window(self) -> int | None:
        """For how many ticks an event can matter to a query, or None if one of them is not bounded in time."""
        return _latest([one._opened.window for one in self._every])

    @property
    def over(self) -> int | None:
        """The watermark, in ticks, from which on no event so far can be in a new match; those that wait are no such."""
        return _latest([one._opened.over for one in self._every if one._opened.streams[EVENTS].last is not None])

    @property
    def undecided(self) -> bool:
        """Whether events wait to be ordered, or a match has ended that is not certain yet."""
        return any(one._opened.undecided for one in self._every)

    def deadlines(self) -> Iterator[int]:
        """The watermarks, in ticks, at which there is something to do even if no event arrives."""
        for one in self._every:
            yield from one._opened.deadlines()

    @property
    def _begun(self) -> bool:
        """Whether the columns are known for good."""
        return self._events > 0

    @property
    def _opened(self) -> Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    def _open(self, columns: pa.Schema) -> Pipeline:
        schema = make_schema(columns, self._roles)
        pipeline = self._new_pipeline(schema)  # which may not fit the query
        self._columns = schema.arrow
        self._checked = any(is_checked(arrow) for arrow in self._columns.types)
        self._rows = RowReader(schema)
        if self._lateness is not None:
            self._lateness_ticks = -(-self._lateness // schema.tick)
        self._nothing = None
        return pipeline

    def _begin(self, columns: pa.Schema) -> None:
        """Begin with events of some columns, with what the queries are after changes that came before the events."""
        if self._history.own.changes:
            self._use(self._history.own.now(make_schema(columns, self._roles), self._right_from))
        self._pipeline = self._open(columns)

    def _new_pipeline(self, schema: Schema) -> Pipeline:
        return Pipeline(self._cache, self._factory, schema, once=False)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("CEP606", "the session is closed", "open a new one with q.session()")
        if self._failed:
            remedy = "fix the cause, and continue from the last snapshot with q.restore(…)"
            raise UsageError("CEP606", "the session was stopped by an earlier error", remedy)

    def _no_table(self) -> pa.Table:
        """No events, where nobody has said which columns they have."""
        return self._history.own.query.empty_table()

    def _conform(self, table: pa.Table) -> pa.Table:
        """The first batch defines the columns; later ones must have the same."""
        if not table.num_columns:
            table = self._no_table() if self._pipeline is None else empty_table(self._pipeline.schema.arrow)
        if self._pipeline is None or not self._begun:  # before the first event, the columns may still change
            for one in self._every:
                one._begin(table.schema)
            assert self._pipeline is not None
            self._surprises.warn(self._surprises.of_schema(self._pipeline.schema))
            return table
        wanted = self._columns
        if table.schema.equals(wanted):
            return table
        if set(table.column_names) != set(wanted.names):
            missing = sorted(set(wanted.names) - set(table.column_names))
            extra = sorted(set(table.column_names) - set(wanted.names))
            told = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"adds {', '.join(extra)}"] * bool(extra)
            remedy = f"give every batch the columns of the first: {', '.join(wanted.names)}"
            raise InputError("CEP409", f"the batch {' and '.join(told)}", remedy)
        table = table.select(wanted.names)
        if any(map(is_untyped, wanted.types)):
            wanted = self._retyped(table.schema)
        table = as_types(table, typed_like(table.schema, wanted))
        for field in wanted:
            check_fits(field.name, field.type, table.schema.field(field.name).type)
        try:
            return table.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            remedy = "give every batch the column types of the first"
            raise InputError("CEP409", f"the batch does not fit the first one: {error}", remedy) from None

    def _retyped(self, given: pa.Schema) -> pa.Schema:
        """Columns that had only NULL so far get the types that a batch has for them."""
        wanted = typed_like(self._columns, given)
        if wanted.equals(self._columns):
            return self._columns
        queries = [query for one in self._every for query in one._opened.queries]
        if any(query.query.untyped and query.machine.kind != "interpreted" for query in queries):
            message = "a column that the query reads had only NULL when the snapshot was taken, by an earlier release"
            raise InputError("CEP409", message, "run the stream anew")
        for one in self._every:
            one._retype(wanted)
        return self._columns

    def _retype(self, columns: pa.Schema) -> None:
        """Go on with other types of columns."""
        flat = FlatSink()
        header = self.save(flat)
        pipeline = self._open(columns)
        source = retype(header, flat, pipeline)
        _, _, load, late = read_state(header, source, self._program.fingerprint)
        load(pipeline)
        self._pipeline = pipeline
        self._late.set_aside = [late] if late is not None else []

    def _completed(self, table: pa.Table) -> pa.Table:
        """Add columns that no row of a list of dicts has, as NULL."""
        for field in self._opened.schema.arrow:
            if table.num_columns and field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table

    def _take(self, arrival: Arrival) -> Arrival:
        """Let the events that are not late wait for the watermark, and return them."""
        on_time = self._late.on_time(arrival, self._opened.streams[EVENTS].arrivals, self._watermark)
        on_time, needed = self._kept(on_time)
        self._feed(on_time, needed)
        self._events += on_time.count
        if on_time.count:
            self._latest = on_time.high if self._latest is None else max(self._latest, on_time.high)
        return on_time

    def _move(self, watermark: int) -> Matches:
        self._watermark = watermark
        own = self._given(self._run(self._reached(watermark)))
        if not self._others:
            return own
        found = {name: other._move(watermark) for name, other in self._others.items()}
        self._others = {name: other for name, other in self._others.items() if not other._over}
        return self._with_others(own, found)

    def _keep_promise(self, promise: Promise | None) -> Any:
        now = self._reached(self._watermark)
        ahead = None if promise is None else self._trusted.lane_times(now, promise)
        if ahead is not None and not self._opened.may_go_ahead(EVER if now is None else now):
            ahead = None
        if promise is not None:
            self._end_runs(now)
        if now is None and ahead is None:
            return self._give_nothing()
        own = self._given(self._run(EVER if now is None else now, ahead=ahead))
        return self._with_others(own, {name: other._give_nothing() for name, other in self._others.items()})

    @property
    def _trusts(self) -> bool:
        return not self._over and not any(isinstance(change, ReplaceQuery) for change in self._log)

    def _end_runs(self, now: int | None) -> None:
        """Give up runs that nothing to come can complete."""
        for query in self._opened.readers(EVENTS):
            before = self._trusted.ends_from(query.query, now, self._opened.streams[EVENTS].arrivals)
            if before is not None:
                query.machine.end_runs(before)

    def _run(self, now: int | None, horizon: int | None = None, ahead: LaneTimes | None = None) -> list[Matches]:
        until = self._history.own.until
        if until is not None and (now is None or now > until):
            if self._over:
                return [query.nothing() for query in self._opened.queries]
            now, horizon, self._over = None, self._history.own.known(horizon), True
        self._failed = True  # until it has succeeded
        given = self._opened.advance(now, horizon, ahead)
        self._failed = False
        if self._over:
            self._pipeline = self._new_pipeline(self._opened.schema)  # which holds nothing
        return given

    def _with_others(self, own: Matches, others: Mapping[str, Matches]) -> Matches:
        """The matches of the session's own query, with those of queries that were added among the outputs."""
        return own.with_outputs({**own.outputs, **others}) if others else own

    def _give_nothing(self) -> Matches:
        """No matches, of any query; nearly every push of one event gives these."""
        nothing = [query.nothing() for query in self._opened.queries]
        if self._nothing is None or any(map(is_not, nothing, self._nothing_of)):  # a query may have begun anew
            self._nothing, self._nothing_of = (
                nothing[-1].with_outputs(self._named(nothing)),
                nothing,
            )
        if not self._others:
            return self._nothing
        return self._with_others(self._nothing, {name: other._give_nothing() for name, other in self._others.items()})

    def _given(self, matches: list[Matches]) -> Matches:
        if all(given is query.nothing() for given, query in zip(matches, self._opened.queries, strict=True)):
            return self._give_nothing() if not self._others else matches[-1].with_outputs(self._named(matches))
        self._matches += matches[-1].count()
        return matches[-1].with_outputs(self._named(matches))

    def _named(self, found: Sequence[T]) -> dict[str, T]:
        """What each query gives, by its name; the reference has no derived streams to begin with."""
        shown = [name for name in self._names if not is_hidden(name)]
        names = self._names if len(found) == len(self._names) else shown
        return {name: one for name, one in zip(names, found, strict=True) if not is_hidden(name)}


def _latest(times: Sequence[int | None]) -> int | None:
    """The greatest of some times; None is after all of them."""
    return None if None in times else max((time for time in times if time is not None), default=None)


def _delay_in_units(lateness: int | None, roles: Roles) -> int | None:
    """The lateness of a snapshot that has it in the unit of the query."""
    return None if lateness is None else lateness * NANOSECONDS[roles.unit]


def _only_waits(call: str) -> UsageError:
    message = f"{call} needs a session that keeps its events until they are certain"
    return UsageError("CEP606", message, "open it with q.session(speculate=0), or with op= for a stream of changes")
