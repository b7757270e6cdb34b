"""A session that emits matches before they are certain, and retracts events and matches (S15, S16)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import time_value
from cepheid.engine.matches.changes import Changes, Difference
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.ahead_query import AheadQuery, by_partitions_in
from cepheid.engine.session.delays import ALL
from cepheid.engine.session.history import AnyChange, Life, ticks_in
from cepheid.engine.session.outputs import with_others
from cepheid.engine.session.query_changes import sequenced_queries
from cepheid.engine.session.query_session import Emitted, OnAccepted, QuerySession
from cepheid.engine.session.refused_changes import not_counting, unmet
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.signed_rows import Signs, those, with_op
from cepheid.engine.session.stats import Stats
from cepheid.engine.session.turn import Turn
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import EventLog, Net
from cepheid.engine.stream.parts import FlatSink, Header, PartSource, Prefixed, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise
from cepheid.engine.stream.retyped import retype
from cepheid.engine.stream.rows import Arrival, RowsInMemory
from cepheid.engine.stream.snapshot import write_state
from cepheid.pattern.binding.schema import make_schema
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory

_NEVER = 2**63 - 1
_EVER = -(2**63)


class AheadSession(QuerySession[AheadQuery]):
    """What can still change is kept: events since the watermark, and matches that are not certain.

    speculates: whether matches are emitted before they are certain; else calls return the certain ones.
    ahead: how far it goes ahead of the watermark, in nanoseconds; None: as far as there are events.
    op: the column of late rows that says whether they insert or retract. sequence: the column that counts events.
    recomputes: whether all matches are found anew after each call, by the reference.
    """

    def __init__(
        self,
        query: SessionQuery,
        factory: MachineFactory,
        *,
        lateness: int | None = None,
        policy: str = "error",
        speculates: bool = True,
        ahead: int | None = 0,
        op: str | None = None,
        sequence: str | None = None,
        recomputes: bool = False,
    ) -> None:
        super().__init__(query, factory, lateness, policy)
        self.op = op
        self.sequence = sequence
        self._speculates = speculates
        self._recomputes = recomputes
        self._own = AheadQuery(self.history.own, factory, ahead, recomputes=recomputes)
        self._added: dict[str, AheadQuery] = {}
        self._record: EventLog | None = None  # all events since the watermark, if the session's own query was removed
        self._retracted = 0
        self._final: int | None = None

    @property
    def own(self) -> AheadQuery:
        return self._own

    @property
    def added(self) -> Mapping[str, AheadQuery]:
        """Queries that were added, while they live."""
        return self._added

    @property
    def _every(self) -> list[AheadQuery]:
        return [self._own, *self._added.values()]

    @property
    def corrects(self) -> bool:
        """Whether what was emitted can be retracted."""
        return self._own.ahead != 0

    @property
    def begun(self) -> bool:
        """Whether there was an event, or the retraction of one."""
        return self.events + self._retracted > 0

    @property
    def trusts(self) -> bool:
        """What is retracted may be anything: then nothing follows from promises, but which rows are late."""
        return self.op is None and not self._retracted and not self.has_replaced

    def settled(self, name: str | None) -> int | None:
        """A time before which no event is read again."""
        return (self._own if name is None else self._added[name]).settled

    def open(self, columns: pa.Schema) -> None:
        """Begin with events of some columns."""
        schema = make_schema(columns, self.roles)
        self._own.open(schema, self.promises.certain)  # which may be refused
        self.schema, self.columns, self.is_open = schema, schema.arrow, True
        self.clock.open(schema)
        for query in self._added.values():
            query.open(make_schema(self.columns, query.life.query.compiled.roles), None)
        if self._record is not None:
            self._record = EventLog(schema)

    @property
    def late_events(self) -> pa.Table:
        """With the policy "collect": the rows that were late; with `op` they have that column."""
        if not self.late.set_aside and self.is_open:
            return with_op(empty_table(self.schema.arrow), self.op, None)
        return super().late_events

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        counted = super().stats
        if not self.is_open:
            return counted
        ways = [query.way for query in self._every]
        kept, steps = sum(way.nbytes for way in ways), sum(way.steps for way in ways)
        return replace(counted, state_bytes=kept, steps=steps, debts=self._own.way.debts)

    # Events and the watermark.

    def _no_events(self) -> Timed:
        return empty_table(self.columns), np.zeros(0, np.int64)

    def reach(self, watermark: int) -> Emitted:
        """Move the watermark, in ticks; return what that changes."""
        return self.update(self._no_events(), None, watermark)

    def accept(self, arrival: Arrival, signs: Signs = None, on_accepted: OnAccepted | None = None) -> Emitted:
        """Insert and retract events; the watermark follows them, if it follows any."""
        assert isinstance(arrival.rows, RowsInMemory)
        timed = arrival.rows.events, arrival.rows.times
        return self.update(timed, signs, self.clock.watermark, on_accepted=on_accepted)

    def update(
        self,
        events: Timed,
        signs: Signs,
        watermark: int | None,
        *,
        late_before: int | None = None,
        on_accepted: OnAccepted | None = None,
    ) -> Emitted:
        """Move the watermark, then insert (1) and retract (-1) events with their times in ticks; all in one change.

        late_before: the time before which events are late, where that is not the watermark that is reached.
        on_accepted: gets the rows that are not late, once it is certain that nothing is refused.
        """
        events, signs, late = self._on_time(events, signs, watermark if late_before is None else late_before)
        times = events[1]
        if self.clock.lateness is not None and len(times):
            following = self.clock.following(int(times.max()))
            watermark = following if watermark is None else max(following, watermark)
        weighed = self._weigh(events, signs, watermark)
        self.late.put_aside(late)
        if on_accepted is not None:
            on_accepted(events, signs)
        retracted = 0 if signs is None else int((signs < 0).sum())
        self._retracted += retracted
        self.events += len(times) - retracted
        if len(times):
            self.clock.see(int(times.max()))
        return self._emitted(self._follow(events, signs, watermark, weighed))

    def end(self, horizon: int | None = None) -> Emitted:
        """End the stream; return what that changes."""
        nothing = self._no_events()
        weighed = self._weigh(nothing, None, _NEVER)
        differences = self._follow(nothing, None, self.clock.watermark, weighed, closes=True)
        self.closed = True
        return self._emitted(differences)

    def _on_time(self, events: Timed, signs: Signs, watermark: int | None) -> tuple[Timed, Signs, pa.Table]:
        """The rows that are not late, and those that are."""
        rows, times = events
        late = times < watermark if watermark is not None else np.zeros(len(times), bool)
        if self.promises.are_made and not (self.late.policy == "error" and late.any()):
            broken = self.promises.broken(rows, times, self.late.policy, self.pipeline)
            late = late if broken is None else late | broken
        if not late.any():
            return events, signs, with_op(empty_table(self.columns), self.op, None)
        table = as_table(rows)
        self.late.check(table, late, self.roles.time)
        (aside, _), undone = those(late, (table, times), signs)
        return *those(~late, (table, times), signs), with_op(as_table(aside), self.op, undone)

    def _needed(self, events: Timed, signs: Signs) -> tuple[Timed, Signs]:
        """The rows that are to be read: those that no arc can take do nothing where promises are ahead of them."""
        idle = self.promises.idle(*events, self.clock.watermark, self.pipeline) if self.promises.are_made else None
        return (events, signs) if idle is None else those(~idle, events, signs)

    def keep_promise(self, promise: Promise | None) -> Emitted:
        """Emit what a promise has made certain; None: one that says nothing new."""
        ahead, watermark = None, self.clock.watermark
        if promise is not None and self.trusts:
            ahead = self.promises.partition_times(watermark, promise, self.pipeline)
        nothing = self._no_events()
        return self._emitted(self._follow(nothing, None, watermark, self._weigh(nothing, None, watermark), ahead=ahead))

    def _weigh(self, events: Timed, signs: Signs, watermark: int | None) -> Net:
        """What events and a watermark do to the log; retractions whose event can't come any more are late."""
        net = (self._own.way if self._record is None else self._record).weigh(*self._needed(events, signs), watermark)
        if net.overdue:
            owed = net.owed
            if self.late.policy == "error":
                raise unmet(owed, self.roles.time)
            self.late.put_aside(with_op(owed, self.op, np.full(owed.num_rows, -1)))
        return net

    def _follow(
        self,
        events: Timed,
        signs: Signs,
        watermark: int | None,
        weighed: Net,
        *,
        closes: bool = False,
        ahead: PartitionTimes | None = None,
    ) -> dict[str, Sequence[Difference]]:
        """Insert and retract events, and move the watermark; return what that changes of the queries, by name."""
        self.failed = True  # until it has succeeded
        if self._record is not None:
            self._record.apply(weighed)
            self._record.forget(watermark)
            weighed = self._own.weigh(*self._needed(events, signs), watermark)
        reached = self.promises.reached(watermark, self.pipeline)
        certain = None if reached == watermark else reached
        self.clock.watermark = watermark
        differences = {"": self._own.apply(weighed, watermark, certain, closes=closes, ahead=ahead)}
        for name, query in self._added.items():
            differences[name] = query.apply(query.weigh(events, signs, watermark), watermark, None, closes=closes)
        self._check_counted(differences)
        self.failed = False
        return differences

    def _check_counted(self, differences: Mapping[str, Sequence[Difference]]) -> None:
        """With `sequence`, no match can be undone: one that is shows that events are not counted by 1."""
        for changes in differences.values():
            if self.sequence is not None and any(len(difference.removed) for difference in changes):
                self.failed = True
                raise not_counting(self.sequence, changes)

    def _emitted(self, differences: Mapping[str, Sequence[Difference]]) -> Matches | Changes:
        """What a call returns: of the session's own query, and of those that were added."""
        main, watermark = differences[""], self.clock.watermark
        self.matches += main[-1].added.count() - main[-1].removed.count()
        every = {name: self._added[name] if name else self._own for name in differences}
        self._added = {name: query for name, query in self._added.items() if not query.is_over(watermark)}
        if not self._speculates:
            matches = {name: query.new_matches(differences[name]) for name, query in every.items()}
            return with_others(matches.pop(""), matches)
        finals = [query.way.final(watermark) for query in every.values() if not query.is_over(watermark)]
        final = None if None in finals else min((time for time in finals if time is not None), default=watermark)
        if final is not None:
            final = self._final = final if self._final is None else max(final, self._final)
        shown = None if final is None else time_value(self.schema, final)
        changes = {name: query.changes(differences[name], shown) for name, query in every.items()}
        first = changes.pop("")
        return first if not changes else Changes(main[-1], shown, {**first.outputs, **changes})

    # Queries may change, come and go (S17).

    def judged(self, changes: Sequence[AnyChange]) -> Sequence[AnyChange]:
        """Changes with queries that go over no gap in the numbers of `sequence`."""
        return sequenced_queries(changes, self.sequence)

    def begin(self, life: Life) -> AheadQuery:
        """A query that is to be added."""
        query = self._query_of(life)
        query.open(make_schema(self.columns, life.query.compiled.roles), None)
        return query

    def _query_of(self, life: Life) -> AheadQuery:
        factory = replace(self._factory, choice=AUTO)  # a forced plan is one of the session's own query
        return AheadQuery(life, factory, self._own.ahead, recomputes=self._recomputes)

    def take_turns(self, main: Turn | None, turns: Mapping[str, Turn], begun: Mapping[str, AheadQuery]) -> Emitted:
        """Go on with what the queries are now; return what that changes."""
        watermark = self.clock.watermark
        if main is not None and main.life.lifetime.until is not None and self._record is None:
            self._record = self._new_record()
        # All events, also those that the session's own query is about to lose.
        recorded = self._own.recorded if self._record is None else self._record.recorded
        differences = {"": self._own.take_turn(main, watermark) if main is not None else self._own.unchanged()}
        for name, query in self._added.items():
            differences[name] = query.take_turn(turns[name], watermark) if name in turns else query.unchanged()
        for name, query in begun.items():
            events, times, signs = recorded(ticks_in(query.life.lifetime.since) + 1)
            differences[name] = query.apply(query.weigh((events, times), signs, watermark), watermark, None)
        self._added |= begun
        return self._emitted(differences)

    def _new_record(self) -> EventLog:
        record = EventLog(self.schema)
        watermark = self.clock.watermark
        events, times, signs = self._own.recorded(_EVER if watermark is None else watermark)
        record.apply(record.weigh((events, times), signs, None))
        return record

    # For Spark's state store.

    @property
    def over(self) -> int | None:
        """The watermark from which on nothing so far can matter to a change to come; None: never."""
        times = [query.over(self.clock.watermark) for query in self._every]
        if self._record is not None and self._record.latest is not None:
            times.append(self._record.latest + 1)
        return None if None in times else max(time for time in times if time is not None)

    @property
    def undecided(self) -> bool:
        """Whether events or retractions wait, or a match has ended that is not certain yet."""
        return any(query.undecided for query in self._every)

    def deadlines(self) -> Iterator[int]:
        """The watermarks at which there is something to do even if no event arrives."""
        for query in self._every:
            yield from query.deadlines()

    # Snapshots.

    def save(self, sink: Sink) -> Header:
        """The state: a header, and parts that go into a sink."""
        late = self.late_events if self.late.set_aside else None
        facts = self.facts(over=False, right_from=self._own.right_from)
        header = write_state(facts | self._besides(self.op, self.sequence, self._final), None, late, sink)
        others: Header = {}
        for name, query in self._added.items():
            part = Prefixed(sink, f"{name}/")
            facts = self.facts_of_added(query.life.query, over=False, right_from=query.right_from)
            others[name] = write_state(facts | self._besides(None, None, None), None, None, part) | query.save(part)
        if others:
            header["others"] = others
        if not self.is_open:
            return header
        record = {} if self._record is None else {"record": self._record.save(Prefixed(sink, "record/"))}
        return header | self._own.save(sink) | record

    def _besides(self, op: str | None, sequence: str | None, final: int | None) -> Header:
        """The facts that only a session of this kind has."""
        ahead = self._own.ahead
        speculate = None if not self._speculates else ALL if ahead is None else ahead
        facts = {"speculate": speculate, "ahead": ahead, "op": op, "sequence": sequence}
        return facts | {"retracted": self._retracted, "final": final}

    def load(self, header: Header, source: PartSource) -> None:
        """Restore a state that `save` has written."""
        saved = header["session"]
        facts, columns = self.load_facts(header, source)
        self._speculates, self._own.ahead, self.op = saved["speculate"] is not None, saved["ahead"], saved["op"]
        self._retracted, self._final = saved["retracted"], saved["final"]
        self.promises.certain = saved.get("certain")
        if columns is None:
            return
        self._own.life, self._own.right_from = self.history.own, facts.right_from
        self._restore(columns, header, lambda saved, pipeline: source)
        self.promises.load(saved, self.pipeline)

    def retype(self, columns: pa.Schema) -> None:
        """Go on with other types of columns."""
        flat = FlatSink()
        header = self.save(flat)
        self._restore(columns, header, lambda saved, pipeline: retype(saved, flat, pipeline))

    def _restore(
        self,
        columns: pa.Schema,
        header: Header,
        source_for: Callable[[Header, Pipeline], PartSource],
    ) -> None:
        """Go on from a state with some columns."""
        schema = make_schema(columns, self.roles)
        self._own.open(schema, self.promises.certain, by_partitions=by_partitions_in(header))
        self.schema, self.columns, self.is_open = schema, schema.arrow, True
        self.clock.open(schema)
        source = source_for(header, self.pipeline)
        self._own.load(header, source)
        if "record" in header:
            self._record = EventLog(self.schema)
            self._record.load(header["record"], source)
        self._added = {}
        for name, saved in header.get("others", {}).items():
            life = self.history.added[name]
            self._added[name] = query = self._query_of(life)
            query.right_from = saved["session"].get("right_from")
            roles_schema = make_schema(columns, life.query.compiled.roles)
            query.open(roles_schema, None, by_partitions=by_partitions_in(saved))
            query.load(saved, source_for(saved, query.pipeline))
