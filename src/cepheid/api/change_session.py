"""A session that gives matches before they are certain, and takes events and matches back (S15, S16)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.changing import Turn
from cepheid.api.events import to_table
from cepheid.api.history import AnyChange, History, Life, ticks_in
from cepheid.api.options import read_delay
from cepheid.api.outputs import with_others
from cepheid.api.query_changes import sequenced_queries
from cepheid.api.readable import check_text
from cepheid.api.recomputed import Recomputed
from cepheid.api.refused_calls import check_forward
from cepheid.api.session import Session
from cepheid.api.stats import Stats
from cepheid.engine.encoding.arrow import empty_table, from_numpy
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.times import time_value
from cepheid.engine.matches.changes import ADDED, OP, REMOVED, Changes, Difference
from cepheid.engine.matches.difference import NOTHING
from cepheid.engine.matches.matches import Matches
from cepheid.engine.matches.shown import one_row
from cepheid.engine.program import CompiledProgram, QueryCache
from cepheid.engine.stream.ahead import Ahead, Replaying
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import EventLog, Net
from cepheid.engine.stream.lane_times import LaneTimes
from cepheid.engine.stream.operations import split_operations
from cepheid.engine.stream.parts import FlatSink, Prefixed, Sink, Source
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise
from cepheid.engine.stream.retyped import retype
from cepheid.engine.stream.rows import RowsInMemory, arrival_of
from cepheid.engine.stream.snapshot import read_state, telling_damage
from cepheid.engine.stream.speculation import Speculation
from cepheid.errors import InputError, PatternError, UsageError
from cepheid.pattern.durations import spell
from cepheid.pattern.flow import EVENTS
from cepheid.pattern.schema import Schema
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.engine.machines.factory import MachineFactory
    from cepheid.engine.stream.lane_replay import LaneReplay

ALL = "all"
_NEVER = 2**63 - 1
_EVER = -(2**63)


class ChangeSession(Session):
    """A query on a stream of batches whose matches are given before they are certain.

    Each call returns `Changes`: matches that are new, and matches that are taken back because an event came late, was
    retracted or revised. Without `speculate` it returns the certain matches.

    >>> from cepheid import Query
    >>> s = Query("PATTERN SEQ(A a, !(N n), B b) WITHIN 1 second").session(lateness=10, speculate="all")
    >>> s.push([{"ts": 1, "type": "A"}, {"ts": 5, "type": "B"}])
    <1 change>
    op  match_start  match_end  a                 b
    +   1            5          {ts: 1, type: A}  {ts: 5, type: B}
    >>> s.push([{"ts": 3, "type": "N"}])
    <1 change>
    op  match_start  match_end  a                 b
    -   1            5          {ts: 1, type: A}  {ts: 5, type: B}
    """

    def __init__(
        self,
        query: Query,
        factory: MachineFactory,
        *,
        lateness: object = None,
        late: str = "error",
        speculate: object = None,
        op: str | None = None,
        sequence: str | None = None,
        recomputes: bool = False,
        trace: object = None,
    ) -> None:
        super().__init__(query, factory, lateness=lateness, late=late, trace=trace)
        if speculate is not None:
            _check_columns(query.compiled)
        self._speculate = speculate
        self._ahead = read_speculation(speculate, self._roles.unit)
        if sequence is not None:
            self._ahead = None  # no match goes over a gap, so that none can be undone
        self._op = op
        self._sequence = sequence
        # How all matches of each query are found, where that is done after each call.
        self._match = query.all_by_reference if recomputes else None
        self._speculation: Ahead | None = None
        self._record: EventLog | None = None  # all events since the watermark, if the session's own query was removed
        self._by_lanes = True  # late events are handled lane by lane, where the query allows it
        self._retracted = 0
        self._final: int | None = None

    # Calls.

    def push(self, events: object) -> Any:
        """Add events and, where `op` names a column, retract some. With `lateness` the watermark follows them."""
        self._check_open()
        if self._op is None:
            return self._push(self._read(events), None)
        table, signs = split_operations(to_table(events, self._roles.type), self._op)
        return self._push(self._fitted(table, listed=not hasattr(events, "columns")), signs)

    def retract(self, rows: object) -> Any:
        """Take events back. Each row takes back one event that is equal in every column."""
        self._check_retractable()
        given = self._plain("retract", rows)
        return self._push(given, np.full(given.num_rows, -1, np.int8))

    def revise(self, old: object, new: object) -> Any:
        """Take events back and put others in their place, in one call."""
        self._check_retractable()
        after, before = as_table(self._plain("revise", new)), as_table(self._plain("revise", old))
        signs = np.repeat(np.array([-1, 1], np.int8), [before.num_rows, after.num_rows])
        return self._push(pa.concat_tables([before, after]), signs)

    def _plain(self, call: str, rows: object) -> Events:
        """Events that do not say themselves what is done with them."""
        if self._op is None:
            return self._read(rows)
        table = to_table(rows, self._roles.type)
        if self._op in table.column_names:
            message = f"the rows that {call} is given have the column '{self._op}'"
            raise InputError("CEP409", message, "leave it out, or pass the rows to push, which reads it")
        return self._fitted(table, listed=not hasattr(rows, "columns"))

    def _check_retractable(self) -> None:
        self._check_open()
        if self._sequence is not None:
            raise retracts_numbers()

    def advance(self, watermark: object) -> Any:
        """Move the watermark: all events before it have arrived."""
        return super().advance(watermark)

    def close(self) -> Any:
        """End the stream."""
        return super().close()

    def _push(self, given: Events, signs: Any) -> Any:
        if isinstance(given, pa.Table):
            check_text(given)
        arrival = arrival_of(self._opened.schema, given)
        assert isinstance(arrival.rows, RowsInMemory)
        if self._watch is not None and not self._watch.see(self._opened.schema, arrival):
            self._watch = None
        return self.update((given, arrival.rows.times), signs, self._watermark)

    def reach(self, to: int, *, shown: object = None) -> Any:
        """Like `advance`, with the time in ticks of the time column."""
        check_forward(to, self._watermark, to if shown is None else shown)
        return self.update(self._no_events(), None, to)

    def end(self, horizon: int | None) -> Any:
        """Like `close`."""
        self._check_open()
        if self._pipeline is None:
            self._conform(self._no_table())
        weighed = self._weigh(self._no_events(), None, _NEVER)
        if self._watch is not None:
            self._watch.end(self._opened.schema)
        found = self._follow(self._no_events(), None, self._watermark, weighed, closes=True)
        self._closed = True
        return self._told(found)

    def update(
        self,
        events: Timed,
        signs: Any,
        watermark: int | None,
        *,
        late_before: int | None = None,
    ) -> Any:
        """Move the watermark, then insert (1) and retract (-1) events with their times in ticks; all in one change.

        late_before: the time before which events are late, where that is not the watermark that is reached.
        """
        events, signs, late = self._on_time(events, signs, watermark if late_before is None else late_before)
        times = events[1]
        if self._lateness is not None and len(times):
            latest = int(times.max()) - self._lateness_ticks
            watermark = latest if watermark is None else max(latest, watermark)
        weighed = self._weigh(events, signs, watermark)
        self._late.put_aside(late)
        if self._recent is not None:
            self._recent.see(events[0], signs)
        retracted = 0 if signs is None else int((signs < 0).sum())
        self._retracted += retracted
        self._events += len(times) - retracted
        if len(times):
            latest = int(times.max())
            self._latest = latest if self._latest is None else max(self._latest, latest)
        return self._told(self._follow(events, signs, watermark, weighed))

    def _no_events(self) -> Timed:
        return empty_table(self._columns), np.zeros(0, np.int64)

    def _on_time(self, events: Timed, signs: Any, watermark: int | None) -> tuple[Timed, Any, pa.Table]:
        """The rows that are not late, and those that are."""
        given, times = events
        late = times < watermark if watermark is not None else np.zeros(len(times), bool)
        broken = self._broken(given, times) if not (self._late.policy == "error" and late.any()) else None
        late = late if broken is None else late | broken
        if not late.any():
            return events, signs, self._with_op(empty_table(self._columns), None)
        table = as_table(given)
        self._late.check(table, late, self._roles.time)
        kept = table.filter(from_numpy(~late)), times[~late]
        aside = self._with_op(table.filter(from_numpy(late)), None if signs is None else signs[late])
        return kept, None if signs is None else signs[~late], aside

    def _needed(self, events: Timed, signs: Any) -> tuple[Timed, Any]:
        """The rows that are to be gone over: those that no arc can take do nothing where promises are ahead of them."""
        idle = self._idle(*events)
        if idle is None:
            return events, signs
        kept = as_table(events[0]).filter(from_numpy(~idle)), events[1][~idle]
        return kept, None if signs is None else signs[~idle]

    @property
    def _trusts(self) -> bool:
        """What is retracted may be anything: then nothing follows from promises, but which rows are late."""
        return super()._trusts and self._op is None and not self._retracted

    def _keep_promise(self, promise: Promise | None) -> Any:
        ahead = None if promise is None or not self._trusts else self._trusted.lane_times(self._watermark, promise)
        nothing, now = self._no_events(), self._watermark
        return self._told(self._follow(nothing, None, now, self._weigh(nothing, None, now), ahead=ahead))

    def _weigh(self, events: Timed, signs: Any, watermark: int | None) -> Net:
        """What events and a watermark do to the log; retractions whose event can't come any more are late."""
        weighing = self._speculating if self._record is None else self._record
        net = weighing.weigh(*self._needed(events, signs), watermark)
        if net.overdue:
            owed = net.owed
            if self._late.policy == "error":
                raise _unmet(owed, self._roles.time)
            self._late.put_aside(self._with_op(owed, np.full(owed.num_rows, -1)))
        return net

    def _with_op(self, table: pa.Table, signs: Any) -> pa.Table:
        """Late rows as they came: those of a session with `op` have that column."""
        if self._op is None:
            return table
        words = [ADDED] * table.num_rows if signs is None else [ADDED if sign > 0 else REMOVED for sign in signs]
        return table.append_column(self._op, pa.array(words, pa.string()))

    def _follow(
        self,
        events: Timed,
        signs: Any,
        watermark: int | None,
        weighed: Net,
        *,
        closes: bool = False,
        ahead: LaneTimes | None = None,
    ) -> dict[str, Sequence[Difference]]:
        """Insert and retract events, and move the watermark; what that changes of the queries, by name."""
        if self._record is not None:
            self._record.apply(weighed)
            self._record.forget(watermark)
        own = self._own_net(events, signs, watermark, weighed)
        found = {"": self._apply(own, watermark, closes=closes, ahead=ahead)}
        for name, other in self._others.items():
            net = other._own_net(events, signs, watermark, None)
            found[name] = other._apply(net, watermark, closes=closes)
        return found

    def _own_net(self, events: Timed, signs: Any, watermark: int | None, weighed: Net | None) -> Net:
        """What events do to the log of the query: it sees those that come while it lives."""
        if weighed is not None and self._record is None:
            return weighed
        events, signs = self._needed(events, signs)
        given, times = events
        life = self._history.own
        seen = life.sees(times)
        if not seen.all():
            events = as_table(given).filter(from_numpy(seen)), times[seen]
            signs = None if signs is None else signs[seen]
        return self._speculating.weigh(events, signs, watermark)

    def _apply(
        self, net: Net, watermark: int | None, *, closes: bool = False, ahead: LaneTimes | None = None
    ) -> Sequence[Difference]:
        self._failed = True  # until it has succeeded
        reached = self._reached(watermark)
        self._speculating.certain = None if reached == watermark else reached
        found = self._speculating.change(net, watermark, closes=closes)
        if ahead is not None:
            self._speculating.forget_lanes(ahead)
        self._failed = False
        self._pipeline = self._speculating.head
        self._watermark = watermark
        if self._sequence is not None and any(len(one.removed) for one in found):
            self._failed = True
            raise _not_counting(self._sequence, found)
        return found

    def _told(self, found: Mapping[str, Sequence[Difference]]) -> Any:
        """What a call gives: of the session's own query, and of those that were added."""
        own = found[""]
        self._matches += own[-1].added.count() - own[-1].removed.count()
        every = {name: self._others[name] if name else self for name in found}
        if self._speculate is None:
            told = {name: session._added(found[name]) for name, session in every.items()}
            self._drop_over()
            return with_others(told.pop(""), told)
        finals = [session._final_now() for session in every.values() if not session._is_over]
        final = None if None in finals else min((time for time in finals if time is not None), default=self._watermark)
        if final is not None:
            final = self._final = final if self._final is None else max(final, self._final)
        shown = None if final is None else time_value(self._opened.schema, final)
        changes = {name: session._changes(found[name], shown) for name, session in every.items()}
        first = changes.pop("")
        self._drop_over()
        return first if not changes else Changes(own[-1], shown, {**first.outputs, **changes})

    def _final_now(self) -> int | None:
        return self._speculating.final(self._watermark)

    @property
    def _is_over(self) -> bool:
        """Whether the query was removed, and nothing that it gives can change any more."""
        until = self._history.own.until
        return until is not None and self._watermark is not None and self._watermark > until

    def _drop_over(self) -> None:
        self._others = {name: other for name, other in self._others.items() if not other._is_over}

    def _changes(self, found: Sequence[Difference], shown: object) -> Changes:
        every = [Changes(one, shown) for one in found]
        return Changes(found[-1], shown, self._outputs.named(every))

    def _added(self, found: Sequence[Difference]) -> Matches:
        every = [Changes(one, None).added for one in found]
        return self._outputs.of(every)

    # Queries may change, come and go (S17).

    _others: dict[str, ChangeSession]  # type: ignore[assignment]

    @property
    def _settled(self) -> int | None:
        own = self._speculation
        if isinstance(own, Speculation):
            return own.kept[0].place
        if own is None or isinstance(own, Recomputed):
            return None
        return min((int(chunk.times.min()) for chunk in self._replaying.log.chunks if len(chunk.times)), default=None)

    @property
    def _corrects(self) -> bool:
        return self._ahead != 0

    def _judged(self, changes: Sequence[AnyChange]) -> Sequence[AnyChange]:
        return sequenced_queries(changes, self._sequence)

    def _companion(self, life: Life) -> ChangeSession:
        factory = replace(self._factory, choice=AUTO)
        found = ChangeSession(
            life.query, factory, late="drop", speculate=self._speculate, recomputes=self._match is not None
        )
        found._ahead = self._ahead
        found._retracted = self._retracted
        found._begin_late(life, self)
        return found

    def _begin_late(self, life: Life, leader: Session) -> None:
        assert isinstance(leader, ChangeSession)
        self._watch = None
        self._history = History(life)
        self._use(life.now(leader._opened.schema, self._right_from))
        self._pipeline = self._open(leader._columns)
        self._speculating.until = life.until
        self._events = leader._events

    def _fitting(self, query: Query) -> Sequence[bool]:
        if isinstance(self._speculation, Speculation):
            return super()._fitting(query)
        return [True] * len(query.compiled.queries)  # all that can change is gone over again

    def _check_turn(self, query: Query, fits: Sequence[bool]) -> None:
        own = self._speculation
        if isinstance(own, Speculation):
            super()._check_turn(query, fits)
        elif own is not None and not isinstance(own, Recomputed):
            from cepheid.engine.stream.lane_replay import why_not_by_lanes

            why = why_not_by_lanes(query.cache.query(0, self._opened.schema))
            if why:
                message = f"'{query.compiled.names[0]}' can't change to this query while it runs: {why}"
                raise PatternError(
                    "CEP229", message, "open the session with engine='interpreted', or add it under another name"
                )

    def _take_turns(self, own: Turn | None, turns: dict[str, Turn], begun: dict[str, Any]) -> Any:
        if own is not None and own.life.until is not None and self._record is None:
            self._record = self._new_record()
        recorded = self._recorded  # which has all events, also those that the session's own query is about to lose
        found = {"": self._take_turn(own) if own is not None else self._unchanged()}
        for name, other in self._others.items():
            found[name] = other._take_turn(turns[name]) if name in turns else other._unchanged()
        for name, other in begun.items():
            events, times, signs = recorded(ticks_in(other._history.own.since) + 1)
            net = other._own_net((events, times), signs, self._watermark, None)
            found[name] = other._apply(net, self._watermark)
        self._others |= begun
        return self._told(found)

    def _unchanged(self) -> Sequence[Difference]:
        return [Difference(NOTHING, NOTHING, (), query.nothing()) for query in self._opened.queries]

    @property
    def _recorded(self) -> Callable[[int], tuple[pa.Table, Any, Any]]:
        """What gives all events from a time on that can still change, and the retractions that wait for theirs."""
        own = self._speculating
        if self._record is not None:
            return self._record.recorded
        return own.recorded if isinstance(own, Recomputed) else self._replaying.log.recorded

    def _new_record(self) -> EventLog:
        found = EventLog(self._opened.schema)
        events, times, signs = self._recorded(_EVER if self._watermark is None else self._watermark)
        found.apply(found.weigh((events, times), signs, None))
        return found

    def _take_turn(self, turn: Turn) -> Sequence[Difference]:  # type: ignore[override]
        own, schema, until = self._speculating, self._opened.schema, turn.life.until
        found: Sequence[Difference]
        gone = self._no_events(), None
        if until is not None and until != self._history.own.until:
            events, times, signs = self._known(until + 1)
            gone = (events, times), -signs
        net = own.weigh(*gone, self._watermark)
        own.until = until
        self._history = replace(self._history, own=turn.life)
        if turn.cache is not None:
            found = self._retimed_by(turn.cache, turn.first, net)
        elif turn.query is None:
            first = turn.first if net.first is None else min(turn.first, net.first)
            found = own.change(replace(net, first=first), self._watermark)
        else:
            found = self._rebuilt(turn, net, schema)
        self._pipeline = own.head
        return found

    def _known(self, since: int) -> tuple[pa.Table, Any, Any]:
        own = self._speculating
        return own.recorded(since) if isinstance(own, Recomputed) else self._replaying.log.recorded(since)

    def _retimed_by(self, cache: QueryCache, first: int, net: Net) -> Sequence[Difference]:
        self._cache, schema, own = cache, self._opened.schema, self._speculating
        assert isinstance(own, Speculation)
        return own.retime(lambda: Pipeline(cache, self._factory, schema, once=False), cache, first, net)

    def _rebuilt(self, turn: Turn, net: Net, schema: Schema) -> Sequence[Difference]:
        assert turn.query is not None
        self._use(turn.query)
        self._right_from = turn.settled
        cache, own = turn.query.cache, self._speculating

        def make() -> Pipeline:
            return Pipeline(cache, self._factory, schema, once=False)

        if isinstance(own, Recomputed):
            return own.rebuild(make, turn.query.all_by_reference, net)
        if isinstance(own, Speculation):
            return own.rebuild(make, turn.fits, turn.first, net)
        return cast("LaneReplay", own).rebuild(make, cache.query(0, schema), turn.first, net)

    def _use(self, query: Query) -> None:
        super()._use(query)
        if self._match is not None:
            self._match = query.all_by_reference

    # The state.

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        found = super().stats
        if self._speculation is None:
            return found
        every = [session._speculating for session in (self, *self._others.values())]
        return replace(
            found,
            state_bytes=sum(own.nbytes for own in every),
            steps=sum(own.steps for own in every),
            debts=self._speculation.debts,
        )

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the rows that came after the watermark had passed them; with `op=` they have that."""
        if not self._late.set_aside and self._pipeline is not None:
            return self._with_op(empty_table(self._pipeline.schema.arrow), None)
        return super().late_events

    # For whoever keeps many sessions, as Spark's state store does.

    @property
    def over(self) -> int | None:
        """The watermark, in ticks, from which on nothing so far can matter to a change to come; None: never."""
        times = [one._over_alone for one in (self, *self._others.values())]
        if self._record is not None and self._record.latest is not None:
            times.append(self._record.latest + 1)
        return None if None in times else max(time for time in times if time is not None)

    @property
    def _over_alone(self) -> int | None:
        known = self._replaying
        return self._watermark if known.is_blank else self._opened.over_after(known.log.latest)

    @property
    def undecided(self) -> bool:
        """Whether events or retractions wait, or a match has ended that is not certain yet."""
        every = [one._replaying for one in (self, *self._others.values())]
        return any(own.undecided or own.log.debts for own in every)

    def deadlines(self) -> Iterator[int]:
        """The watermarks, in ticks, at which there is something to do even if no event arrives."""
        for one in (self, *self._others.values()):
            ahead = one._replaying.ahead
            if ahead is not None:  # else all is done at once that can be done
                yield from (time - ahead for time in one._replaying.deadlines())
            yield from (debt.time + 1 for debt in one._replaying.log.debts.values())

    # Snapshots.

    def save(self, sink: Sink) -> dict[str, Any]:
        """The state: a header, and parts that go into a sink."""
        header = self._facts(sink, None)
        speculate = None if self._speculate is None else ALL if self._ahead is None else self._ahead
        header["session"] |= {
            "speculate": speculate,
            "ahead": self._ahead,
            "op": self._op,
            "sequence": self._sequence,
            "retracted": self._retracted,
            "final": self._final,
        }
        if self._speculation is None:
            return header
        state, saved = self._speculation.save(sink)
        record = {} if self._record is None else {"record": self._record.save(Prefixed(sink, "record/"))}
        return header | state | {"speculation": saved} | record

    def load(self, header: dict[str, Any], source: Source) -> None:
        """Take up a state that `save` has written, in a new session of the same query."""
        facts = self._load_facts(header, source)
        self._speculate, self._ahead, self._op = facts["speculate"], facts["ahead"], facts["op"]
        self._retracted, self._final = facts["retracted"], facts["final"]
        _, schema, _, _ = read_state(header, source, self._program.fingerprint)
        self._certain = facts.get("certain")
        if schema is not None:
            self._load_history(schema)
            self._take_up(schema, header, source)
            self._load_others(header, source)
            self._read_promises(facts)

    def _take_up(self, columns: pa.Schema, header: dict[str, Any], source: Source) -> None:
        self._by_lanes = "replay" in header["speculation"]
        self._open(columns)
        if ("rows" in header["speculation"]) != isinstance(self._speculation, Recomputed):
            message = "the snapshot is of engine 'reference', or this is, and the other one is not"
            raise UsageError("CEP607", message, "restore it with the engine that it was taken with")
        self._speculating.until = self._history.own.until
        with telling_damage():
            self._speculating.load(header, header["speculation"], source)
        self._pipeline = self._speculating.head
        if "record" in header:
            self._record = EventLog(self._opened.schema)
            self._record.load(header["record"], source)

    def _retype(self, columns: pa.Schema) -> None:
        flat = FlatSink()
        header = self.save(flat)
        self._take_up(columns, header, retype(header, flat, self._open(columns)))

    @property
    def _begun(self) -> bool:
        return self._events + self._retracted > 0

    def _begin(self, columns: pa.Schema) -> None:
        super()._begin(columns)
        self._speculating.until = self._history.own.until
        if self._record is not None:
            self._record = EventLog(self._opened.schema)

    def _new_pipeline(self, schema: Schema) -> Pipeline:
        def make() -> Pipeline:
            return Pipeline(self._cache, self._factory, schema, once=False)

        ahead = None if self._ahead is None else -(-self._ahead // schema.tick)
        self._speculation = self._new_speculation(make, schema, ahead)
        self._speculation.certain = self._certain
        return self._speculation.head

    def _new_speculation(self, make: Callable[[], Pipeline], schema: Schema, ahead: int | None) -> Ahead:
        if self._match is not None:
            return Recomputed(make, ahead, self._match)
        factory = self._factory
        if self._by_lanes and ahead != 0 and factory.choice == AUTO and self._program.sources == (EVENTS,):
            from cepheid.engine.stream.lane_replay import LaneReplay, why_not_by_lanes  # kernels are not needed before

            compiled = self._cache.query(0, schema)
            if factory.engine != "interpreted" and not compiled.query.untyped and not why_not_by_lanes(compiled):
                return LaneReplay(make, ahead, compiled, factory.engine)
        return Speculation(make, ahead)

    @property
    def _speculating(self) -> Ahead:
        assert self._speculation is not None
        return self._speculation

    @property
    def _replaying(self) -> Replaying:
        assert self._speculation is not None
        assert not isinstance(self._speculation, Recomputed)
        return cast("Replaying", self._speculation)


def read_speculation(value: object, unit: str) -> int | None:
    """How far a session goes ahead of the watermark, in nanoseconds; None: as far as there are events."""
    if value is None:
        return 0
    if isinstance(value, str) and value == ALL:
        return None
    try:
        return read_delay("speculate", value, unit)
    except UsageError as error:
        remedy = 'pass "all", a duration such as "10 minutes", a timedelta, or a whole number in the unit of the query'
        raise UsageError(error.code, error.message, remedy) from None


def _check_columns(program: CompiledProgram) -> None:
    """Refuse matches with a column of the name that the column of changes has."""
    for analysed in program.queries:
        places = {result.name: result.span for result in analysed.query.returns}
        remedy = "rename it with AS"
        if not places:
            places = {component.variable: component.span for component in analysed.positive}
            remedy = "rename the variable"
        if OP in places:
            raise PatternError("CEP212", f"every change already has a column '{OP}'", remedy, places[OP])


def spelt_speculation(value: object, unit: str) -> str | None:
    """The one spelling of all values that mean the same: "all", or a duration.

    >>> spelt_speculation(600_000, "milliseconds"), spelt_speculation("10 min", "seconds")
    ('10 minutes', '10 minutes')
    """
    ahead = read_speculation(value, unit)
    return None if value is None else ALL if ahead is None else spell(ahead)


def _not_counting(sequence: str, found: Sequence[Difference]) -> InputError:
    (undone, *_) = [Changes(one, None).removed for one in found if len(one.removed)]
    row = next(iter(undone))
    message = f"an event came between others whose '{sequence}' is consecutive, in the match that ends at "
    remedy = "number the events of each partition by 1, in the order of their times, or leave out sequence="
    return InputError("CEP413", f"{message}{row['match_end']}", remedy)


def retracts_numbers() -> UsageError:
    """An event that has a number can't be taken back."""
    remedy = "leave out sequence=: a number that can be retracted says nothing about what is missing"
    return UsageError("CEP603", "sequence can't be combined with op or with retractions", remedy)


def _unmet(owed: pa.Table, time: str) -> InputError:
    first = owed.take(pc.sort_indices(owed.column(time))[:1])
    value = first.column(time)[0].as_py()
    if owed.num_rows == 1:
        what = "a retraction is of an event that has not come, and can't come any more, at"
    else:
        what = f"{owed.num_rows} retractions are of events that have not come, and can't come any more, the first at"
    message = f"{what} {value}: {one_row(first)}"
    remedy = 'push what is retracted, which cancels both, or open the session with late="drop" or late="collect"'
    return InputError("CEP408", message, remedy)
