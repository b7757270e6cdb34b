"""Matches before they are certain, of one query whose matches are certain with their last event (S15).

Runs of different lanes have nothing to do with each other, and a run knows nothing of what was before its first event.
So a late event changes only its lane, and there only a stretch: from the last event before it after which no run was
under way, or from a window before it, to the first event after it where that is so again, before and now, or a window
after it. These stretches are gone over again, each as a lane of its own, and the matches that end in them compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.content_keys import mixed
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.encoding.grown import Grown
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.policy import read_policy
from cepheid.engine.machines.replay_machine import SKIPPED, ReplayMachine
from cepheid.engine.matches.changes import Difference
from cepheid.engine.matches.difference import FORGOTTEN, Given, check_count, difference, differing, whole
from cepheid.engine.matches.having import keep_having
from cepheid.engine.matches.match_table import NONE, MatchTable, concatenate, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.arrivals import Timed, arrange
from cepheid.engine.stream.event_arrays import NOWHERE, EventArrays
from cepheid.engine.stream.event_log import EventLog, Net, rows_by_number
from cepheid.engine.stream.forgetting import forget
from cepheid.engine.stream.parts import Sink, Source
from cepheid.engine.stream.past import Past
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.engine.stream.stretches import stretches
from cepheid.errors import InputError
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.tree import Output, Ties

NO_EVENTS: Any = np.zeros(0, np.int64)
_LATEST = 2**63 - 1
FEW = 4096
"""Events that are kept at least before it is asked which can go."""


@dataclass(frozen=True, eq=False)
class Part:
    """Events that are gone over, the lane of each, and where to go on after it if it leaves the lane without runs."""

    events: Any
    lanes: Any
    skip: Any


class LaneReplay:
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
        self.steps = 0
        self.window = self.query.window
        # After how many ticks, or events of a lane, an event does not matter any more; None: a quiet lane tells.
        self.reach = None if is_contiguous(compiled) else (self.window or 0) + self.query.behind
        self.begin()

    def begin(self) -> None:
        """Before the first event, or all over again."""
        self.codes = StreamCodes(self.head.schema)
        self.machine = ReplayMachine(self.compiled, self.codes, read_policy(self.engine, once=False))
        self.events = EventArrays(self.log)
        self.errors: Errors = {}  # what could not be computed of an event
        self.waiting: Any = NO_EVENTS  # events that are too far ahead
        self.version: Any = np.zeros(0, np.int64)  # of each lane: under which number its runs go on; -1: it has none
        self.last: Any = np.zeros(0, np.int64)  # of each lane: the time of its last event
        self.standing = NONE  # the matches that were given and may change
        by_runs = not self.compiled.automaton.witnesses
        self.past = Past(self.machine, self.events, self.reach, timed=self.query.timed, by_runs=by_runs)
        self.enough = FEW
        self.watermark: int | None = None

    # A call.

    def weigh(self, events: Timed, signs: Any, watermark: int | None) -> Net:
        """What insertions (1), retractions (-1) and a watermark do to the events. Nothing is changed yet."""
        return self.log.weigh(events, signs, watermark)

    def change(self, net: Net, watermark: int | None, *, closes: bool = False) -> list[Difference]:
        """Insert and retract events, move the watermark; what that changes of the matches."""
        gone = self.log.numbers_of(net.gone)
        fresh = self._take_in(*net.inserted) if net.inserted is not None else NO_EVENTS
        self.log.apply(net)
        self.waiting = np.concatenate([self.waiting, fresh])
        self.events.there.all[gone] = False  # also those that wait
        reached = None if self.ahead is None or closes else NEVER if watermark is None else watermark + self.ahead
        found = self._update(self._due(reached), gone)
        self._forget(watermark)
        return [found]

    def _take_in(self, events: Events, times: Any) -> Any:
        """Events as the scan reads them."""
        try:
            check_times(np.sort(times), max(self.window or 0 if self.query.timed else 0, self.query.behind) or None)
            batch = Batch(self.codes, events, times, 0)
            if self._has_new_nulls(batch):
                self._read_again()
            columns, errors = self.machine.encode(batch)
            lanes = self._lanes(batch)
        except Unfit as reason:
            remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
            raise InputError("CEP410", str(reason), remedy) from None
        events = self.events.add(times, lanes, columns)
        self.errors |= {int(events[place]): error for place, error in errors.items()}
        return events

    def _has_new_nulls(self, batch: Batch) -> bool:
        """Whether a column has NULLs for the first time; then the scan is another one."""
        columns = set(self.machine.read_columns)
        if not any(batch.has_nulls(name) for name in columns - self.machine.nullable):
            return False
        self.machine.nullable |= columns
        self.machine.change_kernels()
        return True

    def _read_again(self) -> None:
        """More columns have NULLs: the scan reads other arrays, of the events so far too."""
        self.events.columns = {}
        for chunk in self.log.chunks:
            columns, _ = self.machine.encode(Batch(self.codes, chunk.events, chunk.times, 0))
            for name, values in columns.items():
                self.events.columns.setdefault(name, Grown(values.dtype)).add(values)

    def _lanes(self, batch: Batch) -> Any:
        numbers = self.machine.lane_numbers
        if not numbers.columns:
            found: Any = np.zeros(len(batch), np.int64)
        else:
            found = batch.lanes(numbers).astype(np.int64)
        most = int(found[found != NOWHERE].max(initial=0)) + 1
        if most > len(self.version):
            more = 2 * most - len(self.version)
            self.version = np.concatenate([self.version, np.full(more, -1)])
            self.last = np.concatenate([self.last, np.full(more, NEVER)])
        return found

    def _due(self, reached: int | None) -> Any:
        """The events that wait and are before a time (None: all)."""
        events, self.waiting = self.waiting, NO_EVENTS
        if reached is not None:
            ahead = self.events.time.all[events] >= reached
            self.waiting, events = events[ahead], events[~ahead]
        return events[self.events.there.all[events]]

    def _update(self, fresh: Any, gone: Any) -> Difference:
        """Go over what events and retractions change, and compare."""
        known = self.events
        gone = gone[known.seen.all[gone]]
        known.seen.all[fresh] = True
        fresh = fresh[known.lane.all[fresh] != NOWHERE]
        gone = gone[known.lane.all[gone] != NOWHERE]
        if not len(fresh) and not len(gone):
            return self._difference(NONE, NONE, self.standing)
        changed = np.zeros(known.count, bool)  # events at which other matches may end than before
        appended, late = self._appended(fresh, gone)
        changed[appended] = True
        np.maximum.at(self.last, known.lane.all[fresh], known.time.all[fresh])
        part = Part(appended, self._versions(appended), np.zeros(len(appended), np.int64))
        if not len(late) and not len(gone):
            self._scan([part])
        elif self.reach is None:
            self._replay_stretches(late, gone, changed, part)
        else:
            self._replay_windows(late, gone, changed, part)
        return self._compare(self.machine.taken(), changed)

    def _appended(self, fresh: Any, gone: Any) -> tuple[Any, Any]:
        """Those of the new events that are after all others of their lane, in order; and the others."""
        if not len(fresh):
            return fresh, fresh
        known = self.events
        time, lane = known.time.all[fresh], known.lane.all[fresh]
        order = np.lexsort((time, lane))
        fresh, time, lane = fresh[order], time[order], lane[order]
        late = time <= self.last[lane]
        late[1:] |= (time[1:] == time[:-1]) & (lane[1:] == lane[:-1])
        if not late.any() and not len(gone):
            return fresh, fresh[:0]
        disturbed = np.zeros(len(self.version), bool)
        disturbed[lane[late]] = True
        disturbed[known.lane.all[gone]] = True
        return fresh[~disturbed[lane]], fresh[disturbed[lane]]

    def _versions(self, events: Any) -> Any:
        """The numbers under which the lanes of events go on."""
        lanes = self.events.lane.all[events]
        without = np.unique(lanes[self.version[lanes] < 0])
        self.version[without] = self.machine.new_lanes(len(without))
        return self.version[lanes]

    def _scan(self, parts: Sequence[Part]) -> Any:
        """Go over events; which of them were not skipped."""
        events = np.concatenate([part.events for part in parts])
        if not len(events):
            return np.zeros(0, bool)
        lanes, skip = (np.concatenate([getattr(part, name) for part in parts]) for name in ("lanes", "skip"))
        known = self.events
        failed: Errors = {}
        if self.errors:
            failed = {k: self.errors[event] for k, event in enumerate(events.tolist()) if event in self.errors}
        quiet = self.machine.scan(events, lanes, known.time.all[events], skip, known.of(events), failed)
        met = quiet != SKIPPED
        known.quiet.all[events[met]] = quiet[met]
        self.steps += int(met.sum())
        return met

    # Lanes that are gone over again.

    def _disturbed(self, late: Any, gone: Any) -> tuple[Any, Any, Any, Any]:
        """The lanes of late events and retractions, and the first and the last time of these, by lane."""
        known = self.events
        both = np.concatenate([late, gone])
        lanes, times = known.lane.all[both], known.time.all[both]
        first, last = np.full(len(self.version), _LATEST), np.full(len(self.version), NEVER)
        np.minimum.at(first, lanes, times)
        np.maximum.at(last, lanes, times)
        found = np.unique(lanes)
        among = np.zeros(len(self.version) + 1, bool)
        among[found] = True
        inside = np.where(known.lane.all == NOWHERE, len(self.version), known.lane.all)
        return found, np.flatnonzero(among[inside] & known.seen.all & known.there.all), first, last

    def _go_on(self, lanes: Any, versions: Any) -> None:
        """The runs of lanes go on under other numbers."""
        old = self.version[lanes]
        self.machine.clear(old[old >= 0])
        self.version[lanes] = versions

    def _note_last(self, lanes: Any, events: Any) -> None:
        """The last events of lanes may have been retracted."""
        self.last[lanes] = NEVER
        np.maximum.at(self.last, self.events.lane.all[events], self.events.time.all[events])

    def _replay_windows(self, late: Any, gone: Any, changed: Any, appended: Part) -> None:
        """From a window before the first change of a lane to a window after the last one."""
        known, reach = self.events, self.reach or 0
        lanes, here, first, last = self._disturbed(late, gone)
        if self.query.timed:
            near = known.time.all[here] > first[known.lane.all[here]] - reach
            self._note_last(lanes, here)
            here = known.in_order(here[near])
            time, lane = known.time.all[here], known.lane.all[here]
            wanted = time < last[lane] + reach
        else:
            self._note_last(lanes, here)
            here = known.in_order(here)
            time, lane = known.time.all[here], known.lane.all[here]
            place = np.arange(len(here)) - np.searchsorted(lane, lane)
            before = np.bincount(lane, time < first[lane], len(self.version))
            until = np.bincount(lane, time <= last[lane], len(self.version))
            wanted = (place >= before[lane] - reach) & (place < until[lane] + reach)
        changed[here[wanted & (time >= first[lane])]] = True
        ends = np.ones(len(self.version), bool)  # whether the lane is gone over to its end
        if len(here):
            closing = np.append(lane[1:] != lane[:-1], True)
            ends[lane[closing]] = wanted[closing]
        number = np.full(len(self.version), -1)
        number[lanes] = self.machine.new_lanes(len(lanes))
        events = here[wanted]
        self._scan([appended, Part(events, number[lane[wanted]], np.zeros(len(events), np.int64))])
        self._go_on(lanes[ends[lanes]], number[lanes[ends[lanes]]])
        self.machine.clear(number[lanes[~ends[lanes]]])

    def _replay_stretches(self, late: Any, gone: Any, changed: Any, appended: Part) -> None:
        """From an event after which no run was under way to the next one where that is so, before and now."""
        known = self.events
        lanes, here, first, _ = self._disturbed(late, gone)
        fresh = np.zeros(known.count, bool)
        fresh[late] = True
        lane, time = known.lane.all[here], known.time.all[here]
        self._note_last(lanes, here)
        rest = np.full(len(self.version), NEVER)
        calm = known.quiet.all[here].astype(bool) & ~fresh[here] & (time < first[lane])
        np.maximum.at(rest, lane[calm], time[calm])
        here = known.in_order(here[time >= rest[lane]])
        lane = known.lane.all[here]
        dirty, tails = self._after_gone(here, lane, gone)
        dirty |= fresh[here]
        calm = known.quiet.all[here].astype(bool) & ~dirty
        wanted, onward = stretches(lane, calm, dirty, tails)
        number = np.full(len(self.version), -1)
        number[lanes] = self.machine.new_lanes(len(lanes))
        offset = len(appended.events)
        skip = np.where(calm[wanted], onward + offset, 0)
        met = self._scan([appended, Part(here[wanted], number[lane[wanted]], skip)])[offset:]
        # What ended before the first change is as it was, and may be forgotten by now.
        recent = known.time.all[here[wanted]] >= first[lane[wanted]]
        changed[here[wanted][met & recent]] = True
        # Where the last event of a lane was met, or none is left after the last quiet one, its runs go on from there.
        ends = tails.copy()
        closing = np.append(lane[wanted][1:] != lane[wanted][:-1], True)[: len(met)]
        ends[lane[wanted][closing]] = met[closing]
        self._go_on(lanes[ends[lanes]], number[lanes[ends[lanes]]])
        self.machine.release(number[lanes[~ends[lanes]]])

    def _after_gone(self, here: Any, lane: Any, gone: Any) -> tuple[Any, Any]:
        """The events that follow those that are gone; and the lanes whose last events are gone."""
        known, time = self.events, self.events.time.all[here]
        after, tails = np.zeros(len(here), bool), np.zeros(len(self.version), bool)
        for event in gone.tolist():
            own = int(known.lane.all[event])
            begin, end = np.searchsorted(lane, [own, own + 1])
            at = begin + int(np.searchsorted(time[begin:end], known.time.all[event]))
            if at < end:
                after[at] = True
            else:
                tails[own] = True
        return after, tails

    # Matches.

    def _compare(self, found: MatchTable, changed: Any) -> Difference:
        """The matches that end at events where others may end than before."""
        known = self.events
        if not changed[found.last].all():  # before the first change of a lane, runs are not complete
            found = found.take(np.flatnonzero(changed[found.last]))
        check_count(len(found))
        if self.query.having is not None and not self.machine.tests_having and len(found):
            used, place = np.unique(found.rows, return_inverse=True)
            local = keep_having(self.query, replace(found, rows=place), known.table(used))
            found = replace(local, rows=used[local.rows])
        ends = self.standing.last
        affected = changed[ends] | ~known.there.all[ends]
        if not affected.any():
            return self._difference(NONE, found, self.standing)
        old = self.standing.take(np.flatnonzero(affected))
        kept = self.standing.take(np.flatnonzero(~affected))
        gone, added = differing(_keys(old), _keys(found))
        same = old.take(np.flatnonzero(~gone))
        return self._difference(old.take(np.flatnonzero(gone)), found.take(np.flatnonzero(added)), joined(kept, same))

    def _difference(self, removed: MatchTable, added: MatchTable, kept: MatchTable | None = None) -> Difference:
        """What that is as rows: events that are equal make equal matches."""
        nothing = self.head.queries[0].nothing()
        kept = self.standing if kept is None else kept
        self.standing = joined(kept, added)
        others = [LaneMatches(self, kept)]
        old, new = ([LaneMatches(self, one)] if len(one) else [] for one in (removed, added))
        if not old or not new or not self._may_be_equal(removed, added):
            return Difference(whole(old), whole(new), others, nothing)
        gone, fresh = difference(old, new)
        return Difference(gone, fresh, others, nothing)

    def _may_be_equal(self, removed: MatchTable, added: MatchTable) -> bool:
        """Whether matches of different events may have equal rows."""
        if self.query.returns or self.query.schema.roles.types is not None:
            return True
        used = np.zeros(self.events.count, bool)
        used[removed.rows] = used[added.rows] = True
        times = self.events.time.all[used]
        return len(np.unique(times)) < len(times)

    # What can't change any more.

    def final(self, watermark: int | None) -> int | None:
        """A time before which no change to come has its end."""
        return watermark

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
        """Whether events wait."""
        return len(self.waiting) > 0

    def deadlines(self) -> Iterator[int]:
        """The times at which there is something to do when it gets there, even if no event arrives."""
        if len(self.waiting):
            yield int(self.events.time.all[self.waiting].min()) + 1

    @property
    def nbytes(self) -> int:
        """How much the events, the runs and the matches that may change take."""
        lanes = self.version.nbytes + self.last.nbytes + self.waiting.nbytes
        runs = self.machine.state_bytes() + self.machine.tape.nbytes
        return int(self.log.nbytes + self.events.nbytes + runs + self.standing.nbytes + lanes)

    def save(self, sink: Sink) -> tuple[dict[str, Any], dict[str, Any]]:
        """The events that may matter: all else follows from these."""
        self._forget(self.watermark, eager=True)
        seen = self.events.time.all[self.events.seen.all]
        reached = int(seen.max()) + 1 if len(seen) else None
        older = [[sink.array("older.0", np.zeros(0, np.uint64)), sink.array("older.0.ends", np.zeros(0, np.int64))]]
        facts = {"place": None, "reached": reached, "certain": None, "older": older, "replay": True}
        return write_pipeline(self.head, sink), facts | {"log": self.log.save(sink)}

    def load(self, state: dict[str, Any], saved: dict[str, Any], source: Source) -> None:
        """Take up events that were written down, and go over them: what that gives was given before."""
        self.log.load(saved["log"], source)
        any(self._has_new_nulls(Batch(self.codes, chunk.events, chunk.times, 0)) for chunk in self.log.chunks)
        for chunk in self.log.chunks:
            events = self._take_in(chunk.events, chunk.times)
            self.events.there.all[events] = chunk.present
            self.waiting = np.concatenate([self.waiting, events])
        self._update(self._due(saved["reached"] if saved["reached"] is not None else NEVER), NO_EVENTS)


class LaneMatches(Given):
    """Matches by the numbers of their events. Their rows are made when they are asked for, in the order of S9."""

    def __init__(self, replay: LaneReplay, found: MatchTable) -> None:
        self._numbers = found
        self._nothing = replay.head.queries[0].nothing()
        self._schema = replay.log.schema
        self._chunks = tuple(replay.log.chunks)  # numbers change when events are forgotten
        self.base = 0

    def __len__(self) -> int:
        return len(self._numbers)

    bound = count = __len__

    @cached_property
    def matches(self) -> Matches:  # type: ignore[override]
        """The matches with the events that they have."""
        used, place = np.unique(self._numbers.rows, return_inverse=True)
        table = rows_by_number(self._chunks, self._schema, used)
        order = arrange(self._schema, table, ticks(self._schema, table))
        places = np.arange(len(used))
        if order is not None:
            places[order] = np.arange(len(used))
        found = replace(self._numbers, rows=place)
        return self._nothing.with_found(found.take(in_order(found, places[place])), table)


def _keys(found: MatchTable) -> Any:
    """What stands for matches while the numbers of events stay: a sum over their events."""
    if not len(found):
        return FORGOTTEN.keys
    factors = _ODD[found.variables & (len(_ODD) - 1)]
    high = found.rows >> LOW
    highest = int(high.max())
    if highest:
        factors *= (_words(1 << highest.bit_length())[0] | np.uint64(1))[high]
    return np.add.reduceat(_words(1 << LOW)[:, found.rows & ((1 << LOW) - 1)] * factors, found.offsets[:-1], axis=1)


LOW = 14
"""Bits of the number of an event that have a word; the others have a factor. A word for each number takes too much."""


@lru_cache(maxsize=4)
def _words(count: int) -> Any:
    """Words for some numbers."""
    return mixed(np.zeros((2, count), np.uint64), np.arange(count, dtype=np.uint64))


_ODD = _words(64)[0] | np.uint64(1)
"""A factor for each variable."""


def joined(one: MatchTable, other: MatchTable) -> MatchTable:
    """All matches of two tables."""
    return one if not len(other) else other if not len(one) else concatenate([one, other])


def is_contiguous(compiled: CompiledQuery) -> bool:
    """Whether a run ends with the first event that it does not take, so that lanes are often without runs."""
    automaton = compiled.automaton
    return all(state.ends.contiguous for state in automaton.states) and not automaton.witnesses


def why_not_by_lanes(compiled: CompiledQuery) -> str:
    """Why a query can't be gone over again lane by lane; empty if it can."""
    query = compiled.query
    if compiled.why_interpreted:
        return "it is interpreted"
    if query.output is not Output.ALL or query.waits:
        return "a match is not certain with its last event"
    if query.ties is not Ties.ORDERED or query.scope is not None:
        return "it sees other events than there are"
    if not is_contiguous(compiled) and query.window is None:
        return "runs without a window may go on for ever"
    return ""
