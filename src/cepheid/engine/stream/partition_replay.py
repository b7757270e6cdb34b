"""Matches before they are certain, of one query whose matches are certain with their last event (S15).

Runs of different partitions have nothing to do with each other, and a run knows nothing of what was before its first
event. So a late event changes only its partition, and there only a stretch: from the last event before it after which
no run was under way, or from a window before it, to the first event after it where that is so again, before and now, or
a window after it. These stretches are gone over again, each as a partition of its own, and the matches that end in them
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.encoding.grown import Grown
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.policy import read_policy
from cepheid.engine.machines.replay_scan import ReplayScan
from cepheid.engine.matches.changes import Difference
from cepheid.engine.matches.difference import EmittedMatches, check_count, difference, whole
from cepheid.engine.matches.having import keep_having
from cepheid.engine.matches.match_table import NONE, MatchTable, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.engine.matches.standing import Standing
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.ahead import further
from cepheid.engine.stream.arrivals import Timed, arrange
from cepheid.engine.stream.event_arrays import NOWHERE, EventArrays
from cepheid.engine.stream.event_log import EventLog, Net, rows_by_number
from cepheid.engine.stream.forgetting import forget
from cepheid.engine.stream.partition_order import PartitionOrder, Parts
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.past import Past
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.errors import InputError
from cepheid.kernel.runtime import NEVER
from cepheid.kernel.stretches import APPENDED, CUT
from cepheid.pattern.tree.nodes import Language, Output, Ties
from cepheid.values.json import Json

NO_EVENTS: Any = np.zeros(0, np.int64)
EVER = -(2**62)
FEW = 4096
"""Events that are kept at least before it is asked which can go."""


class PartitionReplay:
    """What `Speculation` does, for one query on the events themselves.

    ahead: how far it is ahead of the watermark, in ticks; None: as far as there are events.
    """

    def __init__(self, make: Callable[[], Pipeline], ahead: int | None, compiled: CompiledQuery, engine: str) -> None:
        self.ahead = ahead
        self.compiled = compiled
        self.query = compiled.query
        self.engine = engine
        self.head = make()  # which knows the columns, and never gets an event
        self.log = EventLog(self.head.schema)
        self.until: int | None = None
        self.steps = 0
        self.certain: int | None = None  # see `Ahead`
        self.window = self.query.window
        # After how many ticks, or events of a partition, an event matters no longer; None: where its partition is idle.
        self.reach = None if is_contiguous(compiled) else (self.window or 0) + self.query.behind
        self.begin()

    def begin(self) -> None:
        """Before the first event, or all over again."""
        self.codes = StreamCodes(self.head.schema)
        self.machine = ReplayScan(self.compiled, self.codes, read_policy(self.engine, once=False))
        self.events = EventArrays(self.log)
        self.order = PartitionOrder(self.events)
        self.errors: Errors = {}  # what could not be computed of an event
        self.waiting: np.ndarray = NO_EVENTS  # events that are too far ahead
        self.version: np.ndarray = np.zeros(
            0, np.int64
        )  # of each partition: under which number its runs go on; -1: it has none
        self.standing = Standing()
        by_runs = not self.compiled.automaton.witnesses
        self.past = Past(self.machine, self.order, self.reach, timed=self.query.timed, by_runs=by_runs)
        self.enough = FEW
        self.watermark: int | None = None

    # A call.

    def weigh(self, events: Timed, signs: np.ndarray | None, watermark: int | None) -> Net:
        """What insertions (1), retractions (-1) and a watermark do to the events. Nothing is changed yet."""
        return self.log.weigh(events, signs, watermark)

    def change(self, net: Net, watermark: int | None, *, closes: bool = False) -> list[Difference]:
        """Insert and retract events, move the watermark; what that changes of the matches."""
        gone = self.log.numbers_of(net.gone)
        fresh = self._take_in(*net.inserted) if net.inserted is not None else NO_EVENTS
        self.log.apply(net)
        self.waiting = np.concatenate([self.waiting, fresh])
        self.events.there.all[gone] = False  # also those that wait
        reached: int | None = None
        if self.ahead is not None and not closes:
            reached = further(NEVER if watermark is None else watermark + self.ahead, self.certain)
        difference = self._update(self._due(reached), gone)
        self._forget(further(watermark, self.certain))
        return [difference]

    def rebuild(self, make: Callable[[], Pipeline], compiled: CompiledQuery, first: int, net: Net) -> list[Difference]:
        """Another query from a time on: all events are gone over again. net: what is retracted at the same time."""
        self._forget(self.watermark, eager=True)  # what is not needed is not gone over
        before = PartitionMatches(self, self._ending(first))
        reached, watermark = self._reached, self.watermark
        self.log.apply(net)
        self.compiled, self.query, self.head = compiled, compiled.query, make()
        self.begin()
        self.watermark = watermark
        self._read_log(reached)
        after = PartitionMatches(self, self._ending(first))
        others = [PartitionMatches(self, self.standing.all, self.standing.alive)]
        removed, added = difference([before], [after])
        return [Difference(removed, added, others, self.head.queries[0].nothing())]

    def _ending(self, first: int) -> MatchTable:
        """The matches that end at a time or later."""
        known = self.standing.all
        if not len(known):
            return known
        return known.take(np.flatnonzero(self.standing.alive & (self.events.time.all[known.last] >= first)))

    def _take_in(self, events: Events, times: Any) -> Any:
        """Events as the scan reads them."""
        try:
            check_times(
                (times.min(), times.max()), max(self.window or 0 if self.query.timed else 0, self.query.behind) or None
            )
            batch = Batch(self.codes, events, times, 0)
            if self._has_new_nulls(batch):
                self._read_again()
            columns, errors = self.machine.encode(batch)
            partitions = self._partitions(batch)
        except Unfit as reason:
            remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
            raise InputError("CEP410", str(reason), remedy) from None
        events = self.events.add(times, partitions, columns)
        self.errors |= {int(events[place]): error for place, error in errors.items()}
        return events

    def _has_new_nulls(self, batch: Batch) -> bool:
        """Whether a column has NULLs for the first time; then the scan is another one."""
        columns = set(self.machine.scan.columns)
        if not any(batch.has_nulls(name) for name in columns - self.machine.scan.input.nullable):
            return False
        self.machine.scan.input.nullable |= columns
        self.machine.scan.change_kernel()
        return True

    def _read_again(self) -> None:
        """More columns have NULLs: the scan reads other arrays, of the events so far too."""
        self.events.columns = {}
        for chunk in self.log.chunks:
            columns, _ = self.machine.encode(Batch(self.codes, chunk.events, chunk.times, 0))
            for name, values in columns.items():
                self.events.columns.setdefault(name, Grown(values.dtype)).add(values)

    def _partitions(self, batch: Batch) -> np.ndarray:
        numbers = self.machine.scan.input.partition_index
        if not numbers.columns:
            partitions: np.ndarray = np.zeros(len(batch), np.int64)
        else:
            partitions = batch.partitions(numbers).astype(np.int64)
        most = int(partitions[partitions != NOWHERE].max(initial=0)) + 1
        if most > len(self.version):
            more = 2 * most - len(self.version)
            self.version = np.concatenate([self.version, np.full(more, -1)])
        return partitions

    def _due(self, reached: int | None) -> Any:
        """The events that wait and are before a time (None: all)."""
        events, self.waiting = self.waiting, NO_EVENTS
        if reached is not None:
            ahead = self.events.time.all[events] >= reached
            self.waiting, events = events[ahead], events[~ahead]
        return events[self.events.there.all[events]]

    def _update(self, fresh: np.ndarray, gone: np.ndarray) -> Difference:
        """Go over what events and retractions change, and compare."""
        known, machine = self.events, self.machine
        gone = gone[known.seen.all[gone]]
        nowhere = known.partition.all[fresh] == NOWHERE
        if nowhere.any():
            known.seen.all[fresh[nowhere]] = True
            fresh = fresh[~nowhere]
        gone = gone[known.partition.all[gone] != NOWHERE]
        if not len(fresh) and not len(gone):
            return self._difference(NONE, NONE)
        parts = self.order.change(fresh, gone, self.reach, timed=self.query.timed, native=machine.scan.native)
        # Runs of partitions that only have events at their end go on; others begin anew.
        numbers = self.version[parts.partitions]
        anew = (parts.kinds != APPENDED) | (numbers < 0)
        if anew.any():
            numbers[anew] = machine.new_partitions(int(anew.sum()))
        left = self._scan(parts.events, np.repeat(numbers, parts.lengths), parts.skip)
        changed = np.zeros(known.count, bool)  # events at which other matches may end than before
        self.steps += parts.note(left, known.quiet.all, changed, native=machine.scan.native)
        matches = self._passed(machine.taken(), changed)
        if parts.only_follow:  # where no match has ended before
            self.version[parts.partitions] = numbers
            return self._difference(NONE, matches)
        self._go_on(parts, numbers)
        return self._difference(*self.standing.replace(matches, changed, known.there.all, native=machine.scan.native))

    def _scan(self, events: np.ndarray, partitions: np.ndarray, skip: np.ndarray) -> Any:
        """Go over events; what each left behind."""
        if not len(events):
            return np.zeros(0, np.uint8)
        known = self.events
        failed: Errors = {}
        if self.errors:
            failed = {k: self.errors[event] for k, event in enumerate(events.tolist()) if event in self.errors}
        return self.machine.run(events, partitions, known.time.all[events], skip, known.of(events), failed)

    def _go_on(self, parts: Parts, numbers: np.ndarray) -> None:
        """The runs of partitions whose ends were met go on under their new numbers; the others were there before."""
        cut = parts.kinds == CUT
        partitions = parts.partitions[~cut]
        before, after = self.version[partitions], numbers[~cut]
        self.version[partitions] = after
        self.machine.clear(np.concatenate([before[(before >= 0) & (before != after)], numbers[cut]]))

    # Matches.

    def _passed(self, matches: MatchTable, changed: np.ndarray) -> MatchTable:
        """The matches that pass HAVING."""
        check_count(len(matches) and int(changed[matches.last].sum()))  # where nothing changed, runs are not complete
        if self.query.having is None or self.machine.scan.compiled.tests_having or not len(matches):
            return matches
        matches = matches.take(np.flatnonzero(changed[matches.last]))
        used, place = np.unique(matches.rows, return_inverse=True)
        local = keep_having(self.query, replace(matches, rows=place), self.events.table(used))
        return replace(local, rows=used[local.rows])

    def _difference(self, removed: MatchTable, added: MatchTable) -> Difference:
        """What that is as rows: events that are equal make equal matches."""
        nothing = self.head.queries[0].nothing()
        others = [PartitionMatches(self, self.standing.all, self.standing.alive)]
        self.standing.add(added)
        old, new = ([PartitionMatches(self, matches)] if len(matches) else [] for matches in (removed, added))
        if not old or not new or not self._may_be_equal(removed, added):
            return Difference(whole(old), whole(new), others, nothing)
        gone, fresh = difference(old, new)
        return Difference(gone, fresh, others, nothing)

    def _may_be_equal(self, removed: MatchTable, added: MatchTable) -> bool:
        """Whether matches of different events may have equal rows."""
        if self.query.returns or self.query.schema.roles.types is not None:
            return True
        if not self.order.tied:  # what is equal is in one partition, at one time
            return False
        used = np.zeros(self.events.count, bool)
        used[removed.rows] = used[added.rows] = True
        times = self.events.time.all[used]
        return len(np.unique(times)) < len(times)

    # What can't change any more.

    def final(self, watermark: int | None) -> int | None:
        """A time before which no change to come has its end."""
        return further(watermark, self.certain)

    def forget_partitions(self, ahead: PartitionTimes) -> None:
        """Let go of what partitions do not need of which all events before other times are in."""
        watermark = EVER if self.watermark is None else self.watermark
        # Events that wait are gone over when their time comes, and may need those before them.
        waits = self.events.time.all[self.waiting]
        latest = ahead.latest if not len(waits) else min(ahead.latest, int(waits.min()))
        forget(self, watermark, 4 * FEW, replace(ahead, latest=latest))

    def _forget(self, watermark: int | None, *, eager: bool = False) -> None:
        """Let go of what no change to come can need, where that may be much. eager: even if it is little."""
        self.watermark = watermark
        if watermark is not None and (self.events.count >= self.enough or eager):
            forget(self, watermark, 4 * FEW)
            self.enough = self.events.count * 5 // 4 + FEW

    # The state.

    @property
    def debts(self) -> int:
        """How many retractions wait for their event."""
        return sum(debt.count for debt in self.log.debts.values())

    @property
    def is_blank(self) -> bool:
        """Whether it is as in the beginning: nothing came, or all was retracted."""
        return not self.log.count and not self.log.debts

    @property
    def undecided(self) -> bool:
        """Whether events wait for the watermark, or for the time that runs ahead of it."""
        return len(self.waiting) > 0

    def deadlines(self) -> Iterator[int]:
        """The times at which there is something to do when it gets there, even if no event arrives."""
        if len(self.waiting):
            yield int(self.events.time.all[self.waiting].min()) + 1

    @property
    def nbytes(self) -> int:
        """How much the events, the runs and the matches that may change take."""
        events = self.log.nbytes + self.events.nbytes + self.order.nbytes + self.waiting.nbytes
        runs = self.machine.scan.state.nbytes() + self.machine.tape.nbytes + self.version.nbytes
        return int(events + runs + self.standing.nbytes)

    def save(self, sink: Sink) -> tuple[Json, Json]:
        """The events that may matter: all else follows from these."""
        self._forget(self.watermark, eager=True)
        older = [[sink.array("older.0", np.zeros(0, np.uint64)), sink.array("older.0.ends", np.zeros(0, np.int64))]]
        facts = {"place": None, "reached": self._reached, "certain": None, "older": older, "replay": True}
        return write_pipeline(self.head, sink), facts | {"log": self.log.save(sink)}

    def load(self, state: Json, saved: Json, source: PartSource) -> None:
        """Take up events that were written down, and go over them: what that gives was given before."""
        self.log.load(saved["log"], source)
        self._read_log(saved["reached"])

    @property
    def _reached(self) -> int | None:
        """The time after the last event that it went over."""
        seen = self.events.time.all[self.events.seen.all]
        return int(seen.max()) + 1 if len(seen) else None

    def _read_log(self, reached: int | None) -> None:
        """Go over the events of the log that are before a time."""
        any(self._has_new_nulls(Batch(self.codes, chunk.events, chunk.times, 0)) for chunk in self.log.chunks)
        for chunk in self.log.chunks:
            events = self._take_in(chunk.events, chunk.times)
            self.events.there.all[events] = chunk.present
            self.waiting = np.concatenate([self.waiting, events])
        self._update(self._due(reached if reached is not None else NEVER), NO_EVENTS)


class PartitionMatches(EmittedMatches):
    """Matches by the numbers of their events. Their rows are made when they are asked for, in the order of S9."""

    def __init__(self, replay: PartitionReplay, matches: MatchTable, wanted: np.ndarray | None = None) -> None:
        self._found, self._wanted = matches, wanted  # which of them (None: all)
        self._nothing = replay.head.queries[0].nothing()
        self._schema = replay.log.schema
        self._chunks = tuple(replay.log.chunks)  # numbers change when events are forgotten
        self.base = 0

    def __len__(self) -> int:
        return len(self._found) if self._wanted is None else int(self._wanted.sum())

    bound = count = __len__

    @cached_property
    def _numbers(self) -> MatchTable:
        return self._found if self._wanted is None else self._found.take(np.flatnonzero(self._wanted))

    @cached_property
    def matches(self) -> Matches:  # type: ignore[override]
        """The matches with the events that they have."""
        used, place = np.unique(self._numbers.rows, return_inverse=True)
        table = rows_by_number(self._chunks, self._schema, used)
        order = arrange(self._schema, table, ticks(self._schema, table))
        places = np.arange(len(used))
        if order is not None:
            places[order] = np.arange(len(used))
        placed = replace(self._numbers, rows=place)
        return self._nothing.with_found(placed.take(in_order(placed, places[place])), table)


def is_contiguous(compiled: CompiledQuery) -> bool:
    """Whether a run ends with the first event that it does not take, so that partitions are often without runs."""
    automaton = compiled.automaton
    return all(state.ends.contiguous for state in automaton.states) and not automaton.witnesses


_REGISTERS: Mapping[Language, str] = {
    Language.PATTERN: "",
    Language.AUTOMATON: "its matches have a register",
    Language.CESAR: "its results have values",
}


def why_not_by_partitions(compiled: CompiledQuery) -> str:
    """Why a query can't be gone over again partition by partition; empty if it can."""
    query = compiled.query
    if compiled.why_interpreted:
        return "it is interpreted"
    if why := _REGISTERS[query.language]:
        return why
    if query.output is not Output.ALL or query.waits:
        return "a match is not certain with its last event"
    if query.ties is not Ties.ORDERED or query.scope is not None:
        return "it sees other events than there are"
    if not is_contiguous(compiled) and query.window is None:
        return "runs without a window may go on for ever"
    return ""
