"""A query on its scan: every prefix of a match is a run (SASE+)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.kernel_machine import KernelMachine
from cepheid.engine.machines.policy import CompilePolicy, Policy
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.matches.choice import KeptEvents, Key, Open
from cepheid.engine.matches.graph import MatchGraph
from cepheid.engine.matches.graph_choice import GraphChoice
from cepheid.engine.matches.graph_matches import GraphMatches, make_decoder
from cepheid.engine.matches.graph_walk import GraphWalk
from cepheid.engine.matches.having import Having
from cepheid.engine.matches.instants import Instants
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable, arranged, concatenate
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventFact
from cepheid.kernel.compile import Compilable
from cepheid.kernel.runtime import NEVER
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.kernel.scan.state import MOST_NODES, ScanState
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import AUTOMATON

FEW, FEW_EACH = 1_000, 8
"""Matches, and those for each way to end one, that are enumerated to choose among them.

Where there are more, the choice is made in the store, which takes longer for each match that is given."""
EAGER = 200_000
"""Matches that a session enumerates when it finds them; more stay in a graph until they are asked for."""
MOST_TRIED, MOST_TRIED_PLAIN = 2**20, 2**15
"""Room for runs, in plain Python also nodes, up to which runs test HAVING where they may be too many.

An event needs room for several times the runs of its partition, of which there are some 100,000 at most."""
MOST_TRIED_CHOICE = 8_192
"""Matches in the store, likewise, where some are chosen: if many pass, testing soon finds one."""


class TooManyRuns(Exception):  # noqa: N818
    """Runs that were tried are too many."""


class ScanMachine(KernelMachine):
    """One query over a stream that comes in batches, as runs of its automaton."""

    kind = "scan"
    state: ScanState
    plan = str(AUTOMATON)
    splits = True  # a run sees the events of its partition alone

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy, events: int = 0) -> None:
        used = compiled.tried if codes.once and compiled.tried is not None else compiled
        super().__init__(used, codes, compiled.query.partitions, policy)
        self.original = compiled
        self.begin(used, events)

    def begin(self, compiled: CompiledQuery, events: int, *, native: bool = False) -> None:
        """Before the first event, or all over again."""
        self.compiled = compiled
        self.codes.derive(compiled.derived, compiled.pieces)
        self.given: list[MatchTable] = []  # matches that were enumerated to make room
        self.tests_having = compiled.tests_having
        self.nullable = frozenset()
        self.kernel: ScanKernel = self.kernel_for(frozenset())
        self.native = native or self.pays(events)
        self.state = self._spare_state() or self.new_state(events)
        self.state.fit(self.partition_count)
        self.decoder = make_decoder(self.query, compiled.automaton, self.kernel.shift, compiled=self.native)
        self.decoder = replace(self.decoder, whole=self.finishes)

    def _spare_state(self) -> ScanState | None:
        """The arrays of an earlier run, as empty as new ones; that run may have ended with a kernel for other NULLs."""
        if not (self.native and self.codes.once and self.compiled.spare_scans):
            return None
        found = self.compiled.spare_scans.pop()
        found.change_kernel(self.kernel)
        return found

    def kernel_for(self, nullable: frozenset[str]) -> ScanKernel:
        """The scan where some columns have NULLs."""
        return self.compiled.scan(nullable)

    @property
    def partition_count(self) -> int:
        """How many partitions the state must have room for."""
        return len(self.partition_numbers)

    def new_state(self, events: int = 0) -> ScanState:
        """Arrays that hold nothing, with room for so many events."""
        return ScanState(self.kernel, self.window, native=self.native, events=events, period=self.query.ahead)

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return self.state.tests

    @property
    def merged(self) -> int:
        """How many runs became one with another."""
        return self.state.merged

    @property
    def runs(self) -> int:
        """How many runs are alive: merged ones are one."""
        return self.state.runs

    @property
    def runs_met(self) -> int:
        """The runs of a partition."""
        return self.state.runs // max(1, self.state.partitions)

    @property
    def kernels(self) -> Sequence[Compilable]:
        """The scan."""
        return (self.kernel.code,)

    @property
    def read_columns(self) -> Iterable[str]:
        """What the scan reads, and `[attr]`: where that is NULL, an event is in no match."""
        return (*self.kernel.columns, *self.partitions.agreed)

    def reserve(self, events: int) -> None:
        """Room for the nodes and the matches of so many events; a state that was restored has only what it needs."""
        super().reserve(events)
        self.state.expect(events)

    def change_kernels(self) -> None:
        """More columns have NULLs."""
        self.kernel = self.kernel_for(self.nullable)
        self.state.change_kernel(self.kernel)

    def to_native(self) -> None:
        """From lists to arrays."""
        self.state.to_native()
        self.decoder = replace(self.decoder, compiled=True)

    # Events.

    def feed(self, batch: Batch) -> None:
        """The next events. Where runs that were tried are too many, all events are gone over again."""
        while self.compiled.tries:
            try:
                super().feed(batch)
                return self.check_tried()
            except (TooManyRuns, Unfit) as why:
                if batch.report is not None:
                    batch.report(-self.told)
                again = isinstance(why, TooManyRuns) and not self.native and self.policy.when is not CompilePolicy.NEVER
                self.begin(self.compiled if again else self.original, len(batch), native=again or self.native)
        return super().feed(batch)

    def run(self, batch: Batch, begin: int, end: int, errors: Errors) -> None:
        """Go over some events."""
        arrays = self.event_arguments(self.kernel.events, self.kernel.types, batch, errors)
        # No run may end because of the time in another partition.
        times = batch.times if batch.floor is None else np.full(len(batch), batch.floor)
        self.go_over(arrays, batch.first, times, begin, end, errors)

    def go_over(self, arrays: list[Any], first: int, times: Any, begin: int, end: int, errors: Errors) -> None:
        """Go over some events; where the kernel stops for want of room, it goes on after that is made."""
        kernel, state, given = self.kernel, self.state, arrays
        offset = 0
        if not self.native:
            arrays, offset = list(self.as_lists(kernel.events, arrays, begin, end)), begin
        state.fit(self.partition_count)
        constants = self.constant_arguments(kernel.constants)
        function = self.function(kernel.code)
        at = begin
        while at < end:
            arguments = state.arguments()
            numbers = at - offset, end - offset, first + offset
            reached = offset + int(function(*numbers, *constants, *arrays, *arguments))
            if reached > begin:
                self.clock = int(times[reached - 1])
            if state.failed is not None:
                raise errors[state.failed + offset]
            if reached < end:
                self.make_room(stuck=reached == at)
                self.tell(reached)  # a single event may meet so many runs that it takes long
            at = reached
        if not self.native:
            for wanted, array, values in zip(kernel.events, given, arrays, strict=True):
                if wanted.holds is EventFact.QUIET:  # which the kernel writes
                    array[begin:end] = values

    def make_room(self, *, stuck: bool) -> None:
        """The scan has stopped before an event that could make an array overflow."""
        if self.compiled.tries:
            self.check_tried()
        if self.codes.once and self.state.reserve(stuck=stuck, keeps=True):
            return  # where all events come at once, matches stay in the graph until they are asked for
        self.flush()
        self.state.end_old_runs(self.clock)
        self.state.collect(self.clock)
        if self.compiled.tries and 2 * self.state.nodes > MOST_NODES:
            raise TooManyRuns
        self.state.reserve(stuck=stuck, keeps=False)

    def check_tried(self) -> None:
        """Give up runs that test HAVING if they are too many."""
        most = MOST_TRIED if self.native else MOST_TRIED_PLAIN
        room = max(self.state.pool_room.values(), default=0)
        many = self.chooses_in_store and self.state.matches > MOST_TRIED_CHOICE
        if room >= most or many or (not self.native and self.state.nodes >= most):
            raise TooManyRuns

    # Matches.

    def graph(self) -> MatchGraph:
        """The match store as it is."""
        nodes, matches = self.state.store()
        return MatchGraph(
            nodes,
            matches,
            self.state.matches,
            self.native,
            dense=not self.partitions.all,
            stretched=self.kernel.stretched,
            shift=self.kernel.shift,
        )

    @property
    def chooses_in_store(self) -> bool:
        """Whether matches stay in the store until they are chosen or not."""
        lasts = self.query.schema.start is not None or self.compiled.automaton.simultaneous
        return self.chosen is not None and not len(self.chosen.held) and not lasts

    def instants(self, rows: KeptRows) -> Instants | None:
        """The instants of the events that are kept, where those of one time are simultaneous."""
        if not self.compiled.automaton.simultaneous:
            return None
        return Instants(lambda: ticks(self.query.schema, rows.kept), rows.base)

    def flush(self) -> None:
        """Enumerate the matches so far, so that their nodes can go."""
        if self.state.matches and not self.chooses_in_store:
            self.given.append(GraphMatches(self.graph(), self.decoder, 0).all())
            self.state.take_matches()

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | LazyMatches | Matches:
        """The matches that became certain."""
        self.state.expire(horizon if now is None else now)
        if self.state.ahead is not None:
            self.state.end_old_runs(self.clock)
        if self.chooses_in_store:
            return self.choose(now, rows)
        instants = self.instants(rows)
        decoder = self.decoder if instants is None else replace(self.decoder, instants=instants)
        if not self.finishes and not self.given:
            if now is None:
                done = self.hand_back if self.native and self.codes.once else None
                return GraphMatches(self.graph(), decoder, rows.base, done)
            if not self.state.matches:
                return NONE
            found = GraphMatches(self.graph(), decoder, rows.base).some(EAGER if self.native else EAGER // 100)
            self.state.take_matches()
            return found
        if not self.given and self.state.matches:
            table = GraphMatches(self.graph(), decoder, 0).all()
            self.state.take_matches()
        else:
            self.flush()
            table = arranged(concatenate(self.given), instants) if self.given else NONE
            self.given = []
        return self.finish(table.moved(-rows.base), rows, now)

    def choose(self, now: int | None, rows: KeptRows) -> MatchTable:
        """The matches that are given where they are apart; those that wait stay in the store."""
        state, choice = self.state, self.chosen
        if choice is None or not state.matches:
            return NONE
        events = KeptEvents(self.query, rows.kept, rows.base)
        limit = None if now is None or choice.longest else self.first_uncertain()
        if now is None or (limit is None and not choice.longest):
            found = GraphMatches(self.graph(), self.decoder, rows.base).all_if_few(FEW + FEW_EACH * state.matches)
            if found is not None:
                state.take_matches()
                return self.finish(found, rows, None)
        having = None
        if self.query.having is not None and not self.tests_having:
            having = Having(self.query, rows.kept, rows.base, self.decoder, self.tell)
        made = GraphChoice(self.graph(), self.decoder, choice, events, having)
        given = made.longest(None if now is None else self.opened(now, events)) if choice.longest else made.apart(limit)
        state.keep_matches(made.kept)
        return given

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """The times that partitions have reached, by number."""
        self.state.fit(self.partition_count)
        found: Any = None
        if ahead is not None:
            found = np.full(self.partition_count, NEVER)
            for partition, time in ahead.numbered(self.partition_numbers):
                found[partition] = time
        self.state.ahead = found

    def end_runs(self, before: int) -> None:
        """Give up runs whose window is over at a time."""
        self.state.end_old_runs(max(before, self.clock))

    def end_partitions(self, partitions: Any) -> None:
        """End the runs of some partitions."""
        self.state.fit(self.partition_count)
        self.state.clear_partitions(partitions)

    def first_waiting(self) -> int | None:
        """The first event at which a match ends that waits in the store."""
        return self.state.first_end()

    def opened(self, now: int, events: KeptEvents) -> Open:
        """The first event of a run that goes on, by partition."""
        assert self.chosen is not None
        nodes, lows = self.state.open_runs(now)
        walk = GraphWalk(self.graph())
        found: dict[Key, list[tuple[int, int]]] = {}
        keys = events.keys([walk.last_event(node) for node in nodes], self.chosen.columns)
        for key, node, low in zip(keys, nodes, lows, strict=True):
            found.setdefault(key, []).append((node, low))

        chosen = self.chosen

        def first(key: Key, bound: int) -> int | None:
            if chosen.lasts:
                every = (event for one in found.get(key, ()) for event, _ in walk.starts(walk.below([one])))
                return min((event for event in every if chosen.may_start(key, event, events)), default=None)
            starts = [walk.first_start(node, low, bound) for node, low in found.get(key, ())]
            return min((start for start in starts if start is not None), default=None)

        return first

    def hand_back(self) -> None:
        """The run is over, and its matches are enumerated: the next one can have the arrays."""
        self.compiled.take_back(self.state)

    # Clearing.

    def compact(self, now: int) -> int | None:
        """Let go of nodes that no match to come can reach."""
        self.flush()
        self.state.collect(self.clock)
        waiting = [int(part.rows.min()) for part in self.given if len(part)]
        first = self.state.oldest_event()
        return self.first_needed(min([*waiting, *([] if first is None else [first])], default=None))

    def oldest_start(self) -> int:
        """Matches that wait in the store may have started before the window of the last event."""
        oldest = NEVER if any(map(len, self.given)) else super().oldest_start()
        return min(oldest, self.state.oldest_start()) if oldest > NEVER else NEVER

    def held_partitions(self) -> Iterable[tuple[Partitioning, Any]]:
        """The partitions that have a run."""
        self.state.end_old_runs(self.clock)
        return [(self.partitions, self.state.held_partitions(self.clock))]

    # Snapshots.

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The arrays as they are, after what is over has been cleared."""
        self.flush()
        assert not any(map(len, self.given))
        self.state.collect(self.clock)
        facts, arrays = self.state.dump()
        return {**self.dump_facts(), **facts}, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Take up a state that was dumped, by either kind of run."""
        self.load_facts(facts)
        self.kernel = self.compiled.scan(self.nullable)
        self.state = self.new_state()
        self.state.load(facts, arrays, len(self.partition_numbers))
        self.decoder = replace(self.decoder, compiled=self.native)
