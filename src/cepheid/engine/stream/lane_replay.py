"""Matches before they are certain, of one query whose matches are certain with their last event (S15).

Runs of different lanes have nothing to do with each other, and a run knows nothing of what was before its first event.
So a late event changes only its lane, and there only a stretch: from the last event before it after which no run was
under way, or from a window before it, to the first event after it where that is so again, before and now, or a window
after it. These stretches are gone over again, each as a lane of its own, and the matches that end in them compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.content_keys import mixed
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.machines.policy import read_policy
from cepheid.engine.machines.replay_machine import ReplayMachine
from cepheid.engine.matches.changes import Difference
from cepheid.engine.matches.difference import FORGOTTEN, NOTHING, Given, difference, differing, match_keys, whole
from cepheid.engine.matches.having import keep_having
from cepheid.engine.matches.match_table import NONE, MatchTable, concatenate, in_order
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_arrays import NOWHERE, EventArrays, Grown
from cepheid.engine.stream.event_log import EventLog, Net, rows_by_number
from cepheid.engine.stream.parts import Sink, Source
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.snapshot import write_pipeline
from cepheid.engine.stream.stretches import Stretches
from cepheid.errors import InputError
from cepheid.kernel.arguments import ColumnValues
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.tree import Output, Ties
from cepheid.pattern.types import Kind

MOST = 1_000_000
"""Matches of one call."""
NO_EVENTS: Any = np.zeros(0, np.int64)
_LATEST = 2**63 - 1
FEW = 4096
"""Events that are kept at least before it is asked which can go."""


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
        self.waiting: Any = NO_EVENTS  # events that are too far ahead
        self.version: Any = np.zeros(0, np.int64)  # of each lane: under which number its runs go on; -1: it has none
        self.last: Any = np.zeros(0, np.int64)  # of each lane: the time of its last event
        self.standing = NONE  # the matches that were given and may change
        self.enough = FEW

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
            columns = self.machine.encode(batch)
            lanes = self._lanes(batch)
        except Unfit as reason:
            remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
            raise InputError("CEP410", str(reason), remedy) from None
        return self.events.add(times, lanes, columns)

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
            columns = self.machine.encode(Batch(self.codes, chunk.events, chunk.times, 0))
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
        known.there.all[gone] = False
        gone = gone[known.seen.all[gone]]
        known.seen.all[fresh] = True
        fresh = fresh[known.lane.all[fresh] != NOWHERE]
        gone = gone[known.lane.all[gone] != NOWHERE]
        self._scanned: Any = np.full(known.count, -1)  # in which round each event was gone over last
        self._found: list[MatchTable] = []  # of each round
        changed = np.zeros(known.count, bool)  # events at which other matches may end than before
        appended, late = self._appended(fresh, gone)
        changed[appended] = True
        first = [(appended, self._versions(appended))] if len(appended) else []
        np.maximum.at(self.last, known.lane.all[fresh], known.time.all[fresh])
        if len(late) or len(gone):
            (self._replay_windows if self.reach is not None else self._replay_stretches)(late, gone, changed, first)
        elif first:
            self._scan(first)
        return self._compare(changed)

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

    def _scan(self, parts: list[tuple[Any, Any]]) -> None:
        """Go over events, each in a lane."""
        events = np.concatenate([NO_EVENTS, *(events for events, _ in parts)])
        if not len(events):
            return
        lanes = np.concatenate([lanes for _, lanes in parts])
        known = self.events
        known.quiet.all[events] = self.machine.scan(events, lanes, known.time.all[events], known.of(events))
        self._scanned[events] = len(self._found)
        self._found.append(self.machine.taken())
        self.steps += len(events)

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
        here = np.flatnonzero(known.seen.all & known.there.all & (known.lane.all != NOWHERE))
        return found, here[np.isin(known.lane.all[here], found)], first, last

    def _go_on(self, lanes: Any, versions: Any) -> None:
        """The runs of lanes go on under other numbers."""
        old = self.version[lanes]
        self.machine.clear(old[old >= 0])
        self.version[lanes] = versions

    def _note_last(self, lanes: Any, events: Any) -> None:
        """The last events of lanes may have been retracted."""
        self.last[lanes] = NEVER
        np.maximum.at(self.last, self.events.lane.all[events], self.events.time.all[events])

    def _replay_windows(self, late: Any, gone: Any, changed: Any, parts: list[tuple[Any, Any]]) -> None:
        """From a window before the first change of a lane to a window after the last one."""
        known, window, reach = self.events, self.window or 0, self.reach or 0
        lanes, here, first, last = self._disturbed(late, gone)
        if self.query.timed:
            near = known.time.all[here] > first[known.lane.all[here]] - reach
            self._note_last(lanes, here)
            here = known.in_order(here[near])
            time, lane = known.time.all[here], known.lane.all[here]
            wanted = time < last[lane] + window
        else:
            self._note_last(lanes, here)
            here = known.in_order(here)
            time, lane = known.time.all[here], known.lane.all[here]
            place = np.arange(len(here)) - np.searchsorted(lane, lane)
            before = np.bincount(lane, time < first[lane], len(self.version))
            until = np.bincount(lane, time <= last[lane], len(self.version))
            wanted = (place >= before[lane] - reach) & (place < until[lane] + window)
        changed[here[wanted & (time >= first[lane])]] = True
        ends = np.ones(len(self.version), bool)  # whether the lane is gone over to its end
        if len(here):
            closing = np.append(lane[1:] != lane[:-1], True)
            ends[lane[closing]] = wanted[closing]
        number = np.full(len(self.version), -1)
        number[lanes] = self.machine.new_lanes(len(lanes))
        self._scan([*parts, (here[wanted], number[lane[wanted]])])
        self._go_on(lanes[ends[lanes]], number[lanes[ends[lanes]]])
        self.machine.clear(number[lanes[~ends[lanes]]])

    def _replay_stretches(self, late: Any, gone: Any, changed: Any, parts: list[tuple[Any, Any]]) -> None:
        """From an event after which no run was under way to the next one where that is so, before and now."""
        known = self.events
        lanes, here, first, _ = self._disturbed(late, gone)
        fresh = np.zeros(known.count, bool)
        fresh[late] = True
        lane, time = known.lane.all[here], known.time.all[here]
        self._note_last(lanes, here)
        calm = known.quiet.all[here].astype(bool) & ~fresh[here]
        rest = np.full(len(self.version), NEVER)
        before = calm & (time < first[lane])
        np.maximum.at(rest, lane[before], time[before])
        here = known.in_order(here[time >= rest[lane]])
        lane, time = known.lane.all[here], known.time.all[here]
        dirty, tails = fresh[here], np.zeros(len(self.version), bool)
        for event in gone.tolist():
            own = int(known.lane.all[event])
            begin, end = np.searchsorted(lane, [own, own + 1])
            at = begin + int(np.searchsorted(time[begin:end], known.time.all[event]))
            if at < end:
                dirty[at] = True
            else:
                tails[own] = True
        stretches = Stretches(here, lane, known.quiet.all[here].astype(bool) & ~dirty, dirty, tails)
        # Where all events of a lane are gone, or a quiet one is the last, no run is under way.
        empty = lanes[tails[lanes] & ~stretches.open_end(lanes)]
        self._go_on(empty, np.full(len(empty), -1))
        chains = stretches.chains()
        numbers = self.machine.new_lanes(len(chains))
        for chain, number in zip(chains, numbers.tolist(), strict=True):
            chain.number = number
        new = [(stretches.events(chain.first, chain.last), chain) for chain in chains]
        while True:
            fed = [(events, np.full(len(events), chain.number)) for events, chain in new]
            self._scan([*parts, *fed])
            parts = []
            for events, _ in new:
                changed[events] = True
            dropped, new = stretches.extend(chains, known.quiet.all)
            self.machine.clear(np.array(dropped, np.int64))
            chains = [chain for chain in chains if chain.number >= 0]
            if not new:
                break
        ended = [chain for chain in chains if stretches.is_end(chain.last)]
        settled = [chain.number for chain in chains if not stretches.is_end(chain.last)]
        self.machine.release(np.array(settled, np.int64))
        self._go_on(
            np.array([stretches.lane_of(chain.last) for chain in ended], np.int64),
            np.array([chain.number for chain in ended], np.int64),
        )

    # Matches.

    def _compare(self, changed: Any) -> Difference:
        """The matches that end at events where others may end than before."""
        known = self.events
        new = []
        for number, found in enumerate(self._found):
            ends = found.last
            new.append(found.take(np.flatnonzero(changed[ends] & (self._scanned[ends] == number))))
        found = concatenate(new) if new else NONE
        if len(found) > MOST:
            Given.refuse(len(found))
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
        others = [_Others(self, kept)]
        if not len(removed):
            return Difference(NOTHING, whole([self._given(added)]) if len(added) else NOTHING, others, nothing)
        old, new = difference([self._given(removed)], [self._given(added)] if len(added) else [])
        return Difference(old, new, others, nothing)

    def _given(self, found: MatchTable) -> Given:
        """Matches with the events that they have, in the order of S9."""
        used, place = np.unique(found.rows, return_inverse=True)
        table = self.events.table(used)
        places = self.events.ranked(used, table)
        found = replace(found, rows=place)
        order = in_order(found, places[found.rows])
        return Given(self.head.queries[0].nothing().with_found(found.take(order), table), 0)

    # What can't change any more.

    def final(self, watermark: int | None) -> int | None:
        """A time before which no change to come has its end."""
        return watermark

    def _forget(self, watermark: int | None) -> None:
        """Let go of what no change to come can need, where that may be much."""
        known = self.events
        if watermark is None or known.count < self.enough:
            return
        time, lane = known.time.all, known.lane.all
        somewhere = lane != NOWHERE
        keep = known.there.all & (time >= watermark)
        past = np.flatnonzero(known.there.all & known.seen.all & somewhere & (time < watermark))
        if self.reach is None:
            calm = past[known.quiet.all[past].astype(bool)]
            rest = np.full(len(self.version), NEVER)
            np.maximum.at(rest, lane[calm], time[calm])
            keep[past[time[past] >= rest[lane[past]]]] = True
        elif self.query.timed:
            keep[past[time[past] > watermark - self.reach]] = True
        else:
            past = known.in_order(past)
            after = np.searchsorted(lane[past], lane[past], side="right") - np.arange(len(past))
            keep[past[after <= self.reach]] = True
        self.standing = self.standing.take(np.flatnonzero(time[self.standing.last] >= watermark))
        number = np.cumsum(keep) - 1
        self.log.keep(keep)
        known.keep(keep)
        self.waiting = number[self.waiting[keep[self.waiting]]]
        self.standing = replace(self.standing, rows=number[self.standing.rows])
        self._forget_lanes()
        self.machine.shorten(number, watermark)
        self._forget_strings()
        self.enough = 2 * known.count + FEW

    def _forget_lanes(self) -> None:
        """Give up lanes that have no event left."""
        numbers, known = self.machine.lane_numbers, self.events
        if not numbers.columns:
            return
        alive = np.zeros(len(self.version), bool)
        alive[known.lane.all[known.lane.all != NOWHERE]] = True
        versions = self.version[~alive]
        self.machine.clear(versions[versions >= 0])
        numbers.keep(alive[: len(numbers)])
        anew = np.append(np.cumsum(alive) - 1, NOWHERE)
        lanes = known.lane.all
        lanes[:] = anew[np.where(lanes == NOWHERE, len(alive), lanes)]
        self.version, self.last = self.version[alive], self.last[alive]

    def _forget_strings(self) -> None:
        """Give up strings that no event has."""
        coded = [
            self.events.columns[wanted.array.name]
            for wanted in self.machine.kernel.events
            if isinstance(wanted.holds, ColumnValues) and self.codes.kind(wanted.holds.column) is Kind.STRING
        ]
        held = [grown.all for grown in coded if grown.size]
        number = self.codes.strings.keep([*held, *self.machine.held_strings()])
        for values in held:
            values[:] = number[np.clip(values, -1, len(number) - 1)]
        self.machine.renumber_strings(number)

    # The state.

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
        """How much the log and the runs take."""
        tape = int(self.machine.tape.nbytes)
        return self.log.nbytes + self.events.nbytes + self.machine.state_bytes() + tape

    def save(self, sink: Sink) -> tuple[dict[str, Any], dict[str, Any]]:
        """The events that may matter: all else follows from these."""
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


class _Others:
    """Matches that stand beside those that change."""

    def __init__(self, replay: LaneReplay, found: MatchTable) -> None:
        self._replay, self._found = replay, found
        self._chunks = tuple(replay.log.chunks)

    def __len__(self) -> int:
        return len(self._found)

    @cached_property
    def keys(self) -> Any:
        """The keys of their rows."""
        used, place = np.unique(self._found.rows, return_inverse=True)
        table = rows_by_number(self._chunks, self._replay.log.schema, used)
        nothing = self._replay.head.queries[0].nothing()
        return Given(nothing.with_found(replace(self._found, rows=place), table), 0).keys


def _keys(found: MatchTable) -> Any:
    """What stands for matches while the numbers of events stay."""
    if not len(found):
        return FORGOTTEN.keys
    return match_keys(found, mixed(np.zeros((2, len(found.rows)), np.uint64), found.rows.astype(np.uint64)))


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
