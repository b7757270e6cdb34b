"""A session that gives matches before they are certain, and takes events and matches back (S15, S16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from cepheid.api.ahead_session import AheadSession
from cepheid.api.events import to_table
from cepheid.api.readable import check_text
from cepheid.api.session import Session
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import time_value
from cepheid.engine.matches.changes import Changes, Difference
from cepheid.engine.matches.difference import NOTHING
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import QueryCache
from cepheid.engine.session.history import AnyChange, History, Life, ticks_in
from cepheid.engine.session.outputs import with_others
from cepheid.engine.session.query_changes import sequenced_queries
from cepheid.engine.session.recomputed import Recomputed
from cepheid.engine.session.refused_calls import check_forward
from cepheid.engine.session.refused_changes import not_counting, retracts_numbers, unmet
from cepheid.engine.session.signed_rows import those, with_op
from cepheid.engine.session.turn import Turn
from cepheid.engine.session.ways_ahead import check_by_partitions, rebuild, recorded_by
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import EventLog, Net
from cepheid.engine.stream.operations import split_operations
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise
from cepheid.engine.stream.rows import RowsInMemory, arrival_of
from cepheid.engine.stream.speculation import Speculation
from cepheid.errors import InputError
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.api.query import Query

_NEVER = 2**63 - 1
_EVER = -(2**63)


class ChangeSession(AheadSession):
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

    def _on_time(self, events: Timed, signs: Any, watermark: int | None) -> tuple[Timed, Any, pa.Table]:
        """The rows that are not late, and those that are."""
        given, times = events
        late = times < watermark if watermark is not None else np.zeros(len(times), bool)
        broken = self._broken(given, times) if not (self._late.policy == "error" and late.any()) else None
        late = late if broken is None else late | broken
        if not late.any():
            return events, signs, with_op(empty_table(self._columns), self._op, None)
        table = as_table(given)
        self._late.check(table, late, self._roles.time)
        (aside, _), undone = those(late, (table, times), signs)
        return *those(~late, (table, times), signs), with_op(as_table(aside), self._op, undone)

    def _needed(self, events: Timed, signs: Any) -> tuple[Timed, Any]:
        """The rows that are to be gone over: those that no arc can take do nothing where promises are ahead of them."""
        idle = self._idle(*events)
        if idle is None:
            return events, signs
        return those(~idle, events, signs)

    @property
    def _trusts(self) -> bool:
        """What is retracted may be anything: then nothing follows from promises, but which rows are late."""
        return super()._trusts and self._op is None and not self._retracted

    def _keep_promise(self, promise: Promise | None) -> Any:
        ahead = None if promise is None or not self._trusts else self._trusted.partition_times(self._watermark, promise)
        nothing, now = self._no_events(), self._watermark
        return self._told(self._follow(nothing, None, now, self._weigh(nothing, None, now), ahead=ahead))

    def _weigh(self, events: Timed, signs: Any, watermark: int | None) -> Net:
        """What events and a watermark do to the log; retractions whose event can't come any more are late."""
        weighing = self._speculating if self._record is None else self._record
        net = weighing.weigh(*self._needed(events, signs), watermark)
        if net.overdue:
            owed = net.owed
            if self._late.policy == "error":
                raise unmet(owed, self._roles.time)
            self._late.put_aside(with_op(owed, self._op, np.full(owed.num_rows, -1)))
        return net

    def _follow(
        self,
        events: Timed,
        signs: Any,
        watermark: int | None,
        weighed: Net,
        *,
        closes: bool = False,
        ahead: PartitionTimes | None = None,
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
        seen = self._history.own.lifetime.has(events[1])
        if not seen.all():
            events, signs = those(seen, events, signs)
        return self._speculating.weigh(events, signs, watermark)

    def _apply(
        self, net: Net, watermark: int | None, *, closes: bool = False, ahead: PartitionTimes | None = None
    ) -> Sequence[Difference]:
        self._failed = True  # until it has succeeded
        reached = self._reached(watermark)
        self._speculating.certain = None if reached == watermark else reached
        found = self._speculating.change(net, watermark, closes=closes)
        if ahead is not None:
            self._speculating.forget_partitions(ahead)
        self._failed = False
        self._pipeline = self._speculating.head
        self._watermark = watermark
        if self._sequence is not None and any(len(one.removed) for one in found):
            self._failed = True
            raise not_counting(self._sequence, found)
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

    def _judged(self, changes: Sequence[AnyChange]) -> Sequence[AnyChange]:
        return sequenced_queries(changes, self._sequence)

    def _companion(self, life: Life) -> ChangeSession:
        factory = replace(self._factory, choice=AUTO)
        found = ChangeSession(
            cast("Query", life.query),
            factory,
            late="drop",
            speculate=self._speculate,
            recomputes=self._match is not None,
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
        self._speculating.until = life.lifetime.until
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
            check_by_partitions(query, self._opened.schema)

    def _take_turns(self, own: Turn | None, turns: dict[str, Turn], begun: dict[str, Any]) -> Any:
        if own is not None and own.life.lifetime.until is not None and self._record is None:
            self._record = self._new_record()
        recorded = self._recorded  # which has all events, also those that the session's own query is about to lose
        found = {"": self._take_turn(own) if own is not None else self._unchanged()}
        for name, other in self._others.items():
            found[name] = other._take_turn(turns[name]) if name in turns else other._unchanged()
        for name, other in begun.items():
            events, times, signs = recorded(ticks_in(other._history.own.lifetime.since) + 1)
            net = other._own_net((events, times), signs, self._watermark, None)
            found[name] = other._apply(net, self._watermark)
        self._others |= begun
        return self._told(found)

    def _unchanged(self) -> Sequence[Difference]:
        return [Difference(NOTHING, NOTHING, (), query.nothing()) for query in self._opened.queries]

    @property
    def _recorded(self) -> Callable[[int], tuple[pa.Table, Any, Any]]:
        """What gives all events from a time on that can still change, and the retractions that wait for theirs."""
        return recorded_by(self._speculating) if self._record is None else self._record.recorded

    def _new_record(self) -> EventLog:
        found = EventLog(self._opened.schema)
        events, times, signs = self._recorded(_EVER if self._watermark is None else self._watermark)
        found.apply(found.weigh((events, times), signs, None))
        return found

    def _take_turn(self, turn: Turn) -> Sequence[Difference]:  # type: ignore[override]
        own, until = self._speculating, turn.life.lifetime.until
        found: Sequence[Difference]
        gone = self._no_events(), None
        if until is not None and until != self._history.own.lifetime.until:
            events, times, signs = recorded_by(own)(until + 1)
            gone = (events, times), -signs
        net = own.weigh(*gone, self._watermark)
        own.until = until
        self._history = replace(self._history, own=turn.life)
        if turn.cache is None and turn.query is None:
            first = turn.first if net.first is None else min(turn.first, net.first)
            found = own.change(replace(net, first=first), self._watermark)
        else:
            found = self._rebuilt(turn, net)
        self._pipeline = own.head
        return found

    def _rebuilt(self, turn: Turn, net: Net) -> Sequence[Difference]:
        """Go on with another query, or with other data where its code stays."""
        if turn.cache is not None:
            self._cache = turn.cache
        elif turn.query is not None:
            self._use(turn.query)
            self._right_from = turn.settled
        schema = self._opened.schema

        def make(cache: QueryCache) -> Pipeline:
            return Pipeline(cache, self._factory, schema, once=False)

        return rebuild(self._speculating, make, turn, net, schema)
