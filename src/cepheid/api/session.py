"""A session: a query on a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from cepheid.api.readable import check_text
from cepheid.api.session_state import SessionState
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import to_ticks
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.history import History, Life
from cepheid.engine.session.outputs import with_others
from cepheid.engine.session.query_changes import ReplaceQuery
from cepheid.engine.session.refused_calls import advanced_too_early, check_forward, only_waits
from cepheid.engine.session.turn import Turn
from cepheid.engine.stream.conversion import convert
from cepheid.engine.stream.in_memory import MemorySink, written
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import EVER, Promise
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.pattern.tree.flow import EVENTS
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.api.query import Query


class Session(SessionState):
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

    _others: dict[str, Session]

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

    def advance(self, watermark: object) -> Matches:
        """Move the watermark: all events before it have arrived. Returns the matches that became certain."""
        self._check_open()
        if self._pipeline is None:
            raise advanced_too_early()
        return self.reach(to_ticks(self._pipeline.schema, watermark), shown=watermark)

    def reach(self, to: int, *, shown: object = None) -> Matches:
        """Like `advance`, with the time in ticks of the time column."""
        check_forward(to, self._watermark, to if shown is None else shown)
        return self._move(to)

    def close(self) -> Matches:
        """End the stream. Returns the remaining matches."""
        return self.end(None)

    def retract(self, rows: object) -> Any:
        """Take events back, in a session with `speculate` or `op`."""
        raise only_waits("retract")

    def revise(self, old: object, new: object) -> Any:
        """Take events back and put others in their place, in a session with `speculate` or `op`."""
        raise only_waits("revise")

    # Queries may change, come and go (S17).

    @property
    def _companions(self) -> dict[str, Session]:
        return self._others

    def _companion(self, life: Life) -> Session:
        factory = replace(self._factory, choice=AUTO)  # a plan that is forced is one of the session's own query
        found = Session(cast("Query", life.query), factory, late="drop")
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
        self._cache, self._pipeline = turn.query.cache, pipeline
        self._outputs.forget()
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
        began = life.lifetime.since is None or arrival.low > life.lifetime.since
        if not arrival.count or (began and (life.lifetime.until is None or arrival.high <= life.lifetime.until)):
            return arrival
        events, times = self._opened.streams[EVENTS].arrivals.read(arrival)
        return arrival_of(self._opened.schema, *life.lifetime.events(as_table(events), times))

    # For whoever keeps many sessions, as Spark's state store does.

    def take(self, arrival: Arrival, *, late: str | None = None) -> int:
        """Like `push`, of events that have the columns of the first batch. Returns how many of them are not late.

        late: another policy for late events from now on.
        """
        self._check_open()
        self.treat_late(late or self._late.policy)
        return self._take(arrival).count

    def end(self, horizon: int | None) -> Matches:
        """Like `close`, without the absences that are not over at a time, in ticks; None: the end ends them all."""
        self._check_open()
        if self._pipeline is None:
            self._conform(self._no_table())
        if self._watch is not None:
            self._watch.end(self._opened.schema)
        self._closed = True
        own = self._given(self._run(None, horizon))
        return with_others(own, {name: other.end(horizon) for name, other in self._others.items()})

    def reserve(self, to: int) -> None:
        """Make room for the events that `reach` of the same time will order."""
        for one in self._every:
            one._opened.reserve(to)

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
        return with_others(own, found)

    def _keep_promise(self, promise: Promise | None) -> Any:
        now = self._reached(self._watermark)
        ahead = None if promise is None else self._trusted.partition_times(now, promise)
        if ahead is not None and not self._opened.may_go_ahead(EVER if now is None else now):
            ahead = None
        if promise is not None:
            self._end_runs(now)
        if now is None and ahead is None:
            return self._give_nothing()
        own = self._given(self._run(EVER if now is None else now, ahead=ahead))
        return with_others(own, {name: other._give_nothing() for name, other in self._others.items()})

    @property
    def _trusts(self) -> bool:
        return not self._over and not any(isinstance(change, ReplaceQuery) for change in self._log)

    def _end_runs(self, now: int | None) -> None:
        """Give up runs that nothing to come can complete."""
        for query in self._opened.readers(EVENTS):
            before = self._trusted.ends_from(query.query, now, self._opened.streams[EVENTS].arrivals)
            if before is not None and query.machine is not None:
                query.machine.end_runs(before)

    def _run(self, now: int | None, horizon: int | None = None, ahead: PartitionTimes | None = None) -> list[Matches]:
        until = self._history.own.lifetime.until
        if until is not None and (now is None or now > until):
            if self._over:
                return [query.nothing() for query in self._opened.queries]
            now, horizon, self._over = None, self._history.own.lifetime.known(horizon), True
        self._failed = True  # until it has succeeded
        given = self._opened.advance(now, horizon, ahead)
        self._failed = False
        if self._over:
            self._pipeline = self._new_pipeline(self._opened.schema)  # which holds nothing
        return given

    def _give_nothing(self) -> Matches:
        """No matches, of any query; nearly every push of one event gives these."""
        nothing = self._outputs.nothing([query.nothing() for query in self._opened.queries])
        if not self._others:
            return nothing
        return with_others(nothing, {name: other._give_nothing() for name, other in self._others.items()})

    def _given(self, matches: list[Matches]) -> Matches:
        if all(given is query.nothing() for given, query in zip(matches, self._opened.queries, strict=True)):
            return self._give_nothing() if not self._others else self._outputs.of(matches)
        self._matches += matches[-1].count()
        return self._outputs.of(matches)


def _latest(times: Sequence[int | None]) -> int | None:
    """The greatest of some times; None is after all of them."""
    return None if None in times else max((time for time in times if time is not None), default=None)
