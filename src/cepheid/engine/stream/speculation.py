"""Matches before they are certain, and what late events, retractions and revisions change of them (S15, S16).

The pipeline goes ahead of the watermark. Its state is kept at some places behind it, as are the events since the first
of these and what was given since then. An event before the place that the pipeline has reached takes it back to the
last state before the event; from there it goes over the events again, and what it gives is compared with what it gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.changes import Difference
from cepheid.engine.matches.difference import (
    FORGOTTEN,
    NOTHING,
    EmittedKeys,
    EmittedMatches,
    Keyed,
    check_count,
    difference,
    whole,
)
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import QueryCache
from cepheid.engine.stream.ahead import further
from cepheid.engine.stream.arrivals import Arrivals, Timed
from cepheid.engine.stream.conversion import convert
from cepheid.engine.stream.event_log import EventLog, Net
from cepheid.engine.stream.in_memory import MemorySink, MemorySource, size_of, written
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.snapshot import load_pipeline, write_pipeline
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.nodes import Output
from cepheid.values.json import Json

FEW_EVENTS = 1024
"""Events that are gone over again rather than that a state is kept."""
BYTES_PER_EVENT = 64
"""How much of a state is copied in the time that it takes to go over one event, about."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """The state of the pipeline when all events before a place were in (None: at the beginning)."""

    place: int | None
    state: Json
    certain: int | None  # a time before which no further match can end
    given: int  # how often matches were given until then


@dataclass
class Speculation:
    """A pipeline that is ahead of the watermark.

    ahead: how far, in ticks; None: as far as there are events, and as if the stream ended there.
    until: when the query is removed (S17), in ticks: it gets no event after that.
    """

    open: Callable[[], Pipeline]
    ahead: int | None
    until: int | None = None
    head: Pipeline = field(init=False)
    log: EventLog = field(init=False)

    def __post_init__(self) -> None:
        self.head = self.open()
        self.log = EventLog(self.head.schema)
        self.place: int | None = None  # all events before it went through the pipeline
        self.closed = False
        self.kept = [self._keep()]
        self.given: list[list[EmittedMatches]] = []  # since the first state that is kept; of each query
        self.tail: list[EmittedMatches] = []  # what there would be besides if the stream ended here; of each query
        self.older = [FORGOTTEN for _ in self.head.queries]  # given before that; their ends are not final yet
        self.forgotten = 0  # how often matches were given that are no longer in `given`
        self.since_kept = 0  # events since the last state that is kept
        self.steps = 0  # events that it went over, replays included
        self.watermark: int | None = None
        self.certain: int | None = None  # see `Ahead`
        self.trail: int | None = None  # how far the watermark was behind the last event when it moved last
        self.prompt = all(map(_is_prompt, self.head.queries))

    # A call.

    def weigh(self, events: Timed, signs: np.ndarray | None, watermark: int | None) -> Net:
        """What insertions (1), retractions (-1) and a watermark do to the events. Nothing is changed yet."""
        return self.log.weigh(events, signs, watermark)

    def change(self, net: Net, watermark: int | None, *, closes: bool = False) -> list[Difference]:
        """Insert and retract events, move the watermark; what that changes of the matches of each query."""
        self._note(watermark)
        self.log.apply(net)
        before, undone = self.tail, []
        back = net.first is not None and self.place is not None and net.first < self.place
        if back and net.first is not None:
            undone = self._go_back(net.first)
        elif net.gone:
            self._refill()
        elif net.inserted is not None:
            self.head.push(arrival_of(self.head.schema, *net.inserted))
        made = len(self.given)
        target = self._target(watermark) if not closes or self.until is None else self.until + self.prompt
        self._keep_on_the_way(target)
        if closes and self.ahead is not None and self.until is None:
            self._advance(None)
        elif target is not None and (self.place is None or target > self.place):
            self._advance(target)
        self.tail = self._close_copy() if self._ends(watermark, closes=closes) else []
        differences = self._differences(undone, before, made)
        if not closes:
            if not back and self.since_kept >= self._enough():
                self._keep_state()
            self._forget(watermark)
        return differences

    def rebuild(self, make: Callable[[], Pipeline], fits: Sequence[bool], first: int, net: Net) -> list[Difference]:
        """Another query from a time on, which goes on from the states of this one.

        fits: of which of its queries they are states. net: what is retracted at the same time.
        """
        head, self.open = self._saved(), make
        if not all(fits):
            self.kept = [replace(saved, state=self._converted(saved.state, fits, saved.place)) for saved in self.kept]
        if self.place is None or first >= self.place:
            self.head = self.open()
            convert(head, self.head, fits, self.place)
        self.prompt = all(map(_is_prompt, self.open().queries))
        return self.change(replace(net, first=first if net.first is None else min(first, net.first)), self.watermark)

    def _converted(self, state: Json, fits: Sequence[bool], place: int | None) -> Json:
        pipeline = self.open()
        convert(state, pipeline, fits, place)
        return self._saved(pipeline)

    def retime(self, make: Callable[[], Pipeline], cache: QueryCache, first: int, net: Net) -> list[Difference]:
        """The same code with other columns from a time on, for arcs that come and go."""
        from cepheid.engine.stream.retiming import retime  # seldom needed

        self.open = make
        self.head.cache = cache
        retime(self.head)
        return self.change(replace(net, first=first), self.watermark)

    def _target(self, watermark: int | None) -> int | None:
        if self.ahead is not None:
            target = further(None if watermark is None else watermark + self.ahead, self.certain)
        else:
            latest = self.log.latest
            times = None if latest is None else latest + 1, watermark, self.certain
            target = max((time for time in times if time is not None), default=None)
        if target is None or self.until is None:
            return target
        return min(target, self.until + self.prompt)  # what is absent after that is never decided

    def _ends(self, watermark: int | None, *, closes: bool) -> bool:
        """Whether there are matches besides, as if the stream ended here."""
        if self.prompt:
            return False
        if self.ahead is None:
            return True
        if self.until is None:
            return False
        return closes or (watermark is not None and watermark + self.ahead > self.until)

    def _advance(self, to: int | None) -> None:
        """Go over the events before a place, and note what is given."""
        stream = self.head.streams[EVENTS]
        was = stream.events
        if to is not None:
            self.head.reserve(to)
        matches = self.head.advance(to)
        self.steps += stream.events - was
        self.since_kept += stream.events - was
        self.place = to
        emitted = self._noted(self.head, matches)
        if any(result.matches.bound() for result in emitted):
            self.given.append(emitted)

    def _noted(self, pipeline: Pipeline, matches: Sequence[Matches]) -> list[EmittedMatches]:
        emitted = [EmittedMatches(table, query.base) for table, query in zip(matches, pipeline.queries, strict=True)]
        if self.ahead != 0:
            for table in emitted:
                check_count(table.bound())
        return emitted

    def _close_copy(self) -> list[EmittedMatches]:
        """What there would be besides if the stream ended here."""
        copy = self._restored(self._saved())
        return self._noted(copy, copy.advance(None, self.until))

    # States that are kept.

    def _saved(self, pipeline: Pipeline | None = None) -> Json:
        source = self.head if pipeline is None else pipeline
        state: Json = written(write_pipeline(source, MemorySink()))  # whose lists the machines go on with
        return state

    def _restored(self, state: Json) -> Pipeline:
        pipeline = self.open()
        load_pipeline(state, MemorySource(), pipeline)
        return pipeline

    def _keep(self) -> SavedState:
        if self.place is not None:
            self.head.compact(self.place)
        state = self._saved()
        state["streams"][0]["waiting"] = []  # they are in the log
        certain = None
        if self.place is not None:
            certain = min(query.certain(self.place) for query in self.head.queries)
        emitted = self.forgotten + len(self.given) if self.place is not None else 0
        return SavedState(self.place, state, certain, emitted)

    def _enough(self) -> int:
        """After how many events it is worth to keep the state."""
        return max(FEW_EVENTS, size_of(self.kept[-1].state) // BYTES_PER_EVENT, self.log.count // 3)

    def _note(self, watermark: int | None) -> None:
        """The watermark moves, before the events that come with it are in."""
        if watermark is not None and watermark != self.watermark:
            latest = self.log.latest
            self.trail = None if latest is None or latest < watermark else latest - watermark
        self.watermark = watermark

    def _keep_on_the_way(self, target: int | None, enough: int | None = None) -> None:
        """Keep the state where the watermark is, and where it will be next if it trails the events as before.

        Then the events before need not be held for longer than that. enough: of how many that is worth it, if known.
        """
        latest, trail = self.log.latest, self.trail
        next_ = None if latest is None or trail is None else latest - trail
        for stop in (self.watermark, next_):
            if stop is None or target is None or stop >= target or (self.place is not None and stop <= self.place):
                continue
            if self.log.count_between(self.place, stop) >= (self._enough() if enough is None else enough):
                self._advance(stop)
                self._keep_state()

    def _keep_state(self) -> None:
        if self.place != self.kept[-1].place:
            self.kept.append(self._keep())
            self.since_kept = 0

    def _go_back(self, first: int) -> list[list[EmittedMatches]]:
        """To the last state before a time. What was given after that is undone."""
        while self.kept[-1].place is not None and self.kept[-1].place > first:
            self.kept.pop()
        state = self.kept[-1]
        self.head = self._restored(state.state)
        self.place = state.place
        self.since_kept = 0
        undone = self.given[state.given - self.forgotten :]
        del self.given[state.given - self.forgotten :]
        for events, times in self.log.since(state.place):
            self.head.push(arrival_of(self.head.schema, events, times))
        return undone

    def _refill(self) -> None:
        """An event that waits was retracted: those that wait are taken from the log."""
        stream = self.head.streams[EVENTS]
        types = stream.arrivals.types
        stream.arrivals = Arrivals(self.head.schema)
        stream.arrivals.types = types
        for events, times in self.log.since(self.place):
            self.head.push(arrival_of(self.head.schema, events, times))

    def _forget(self, watermark: int | None) -> None:
        """Let go of what no change to come can need."""
        known, watermark = watermark, further(watermark, self.certain)
        if watermark is None:
            return
        while len(self.kept) > 1 and self.kept[1].place is not None and self.kept[1].place <= watermark:
            del self.kept[0]
        first = self.kept[0]
        gone = first.given - self.forgotten
        final = self.final(known)
        if not self.prompt and final is not None:
            for emitted in self.given[:gone]:
                self.older = [old.since(final, matches) for old, matches in zip(self.older, emitted, strict=True)]
            self.older = [old.since(final) for old in self.older]
        del self.given[:gone]
        self.forgotten = first.given
        self.log.forget(first.place)

    def final(self, watermark: int | None) -> int | None:
        """A time before which no change to come has its end."""
        watermark = further(watermark, self.certain)
        if watermark is None or self.prompt:
            return watermark
        places = [] if self.kept[0].certain is None else [min(self.kept[0].certain, watermark)]
        reaches = [query.query.reach for query in self.head.queries]
        if None not in reaches:  # an event changes no match that ends so long before it
            places.append(watermark - sum(reach for reach in reaches if reach is not None))
        return max(places, default=None)

    def forget_partitions(self, ahead: PartitionTimes) -> None:
        """States are of all partitions together."""

    # Differences.

    def _differences(
        self, undone: list[list[EmittedMatches]], before: list[EmittedMatches], made: int
    ) -> list[Difference]:
        nothing = [query.nothing() for query in self.head.queries]
        new = self.given[made:]
        differences = []
        for k, none in enumerate(nothing):
            old = [step[k] for step in (*undone, before) if step]
            fresh = [step[k] for step in (*new, self.tail) if step]
            kept: list[Keyed] = [self.older[k], *(step[k] for step in self.given[:made])]
            if any(len(step) for step in old):
                removed, added = difference(old, fresh)
            else:
                removed, added = NOTHING, whole(fresh)
            differences.append(Difference(removed, added, kept, none))
        return differences

    # The state.

    @property
    def debts(self) -> int:
        """How many retractions wait for their event."""
        return sum(debt.count for debt in self.log.debts.values())

    @property
    def is_blank(self) -> bool:
        """Whether it is as in the beginning: nothing came, or all was retracted."""
        return self.kept[0].place is None and not self.log.count and not self.log.debts

    @property
    def undecided(self) -> bool:
        """Whether events wait, or a match has ended that is not certain yet."""
        return self.head.undecided

    def deadlines(self) -> Iterator[int]:
        """The times at which there is something to do when it gets there, even if no event arrives."""
        return self.head.deadlines()

    @property
    def nbytes(self) -> int:
        """How much the log and the pipeline take."""
        machines = sum(query.machine.state_bytes() for query in self.head.queries if query.machine is not None)
        rows = sum(int(stream.kept.nbytes) for _, stream in self.head.every_stream())
        return self.log.nbytes + machines + rows

    def save(self, sink: Sink) -> tuple[Json, Json]:
        """The first state that is kept, and the events since then with what can't be found out from these."""
        first = self.kept[0]
        older = [
            [sink.array(f"older.{k}", old.keys.ravel()), sink.array(f"older.{k}.ends", old.ends)]
            for k, old in enumerate(self.older)
        ]
        facts = {"place": first.place, "reached": self.place, "certain": first.certain, "older": older}
        facts |= {"watermark": self.watermark, "trail": self.trail}
        return written(first.state, sink), facts | {"log": self.log.save(sink)}

    def load(self, state: Json, saved: Json, source: PartSource) -> None:
        """Take up what was written down, and go ahead again: what that gives was given before."""
        load_pipeline(state, source, self.head)
        self.place = saved["place"]
        self.kept = [SavedState(self.place, self._saved(), saved["certain"], 0)]
        self.older = [
            EmittedKeys(source.array(keys).reshape(2, -1), source.array(ends)) for keys, ends in saved["older"]
        ]
        self.log.load(saved["log"], source)
        for events, times in self.log.since(self.place):
            self.head.push(arrival_of(self.head.schema, events, times))
        self.watermark, self.trail = saved["watermark"], saved["trail"]
        if saved["reached"] != self.place:
            # To read the state has cost as much as to keep it.
            self._keep_on_the_way(saved["reached"], max(FEW_EVENTS, self.log.count // 3))
            self._advance(saved["reached"])
        if self._ends(self.watermark, closes=False):
            self.tail = self._close_copy()


def _is_prompt(query: Any) -> bool:
    """Whether each match is given as soon as its last event is in, whatever comes after it."""
    bound = query.query
    unknown = bound.into is not None and any(result.type.kind is Kind.ANY for result in bound.returns)
    return bound.output is Output.ALL and not bound.waits and not unknown
