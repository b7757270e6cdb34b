"""A query on its scan: events in, matches in their form out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.forms.form import ResultForm
from cepheid.engine.machines.policy import CompilePolicy, Policy
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.scan import Scan, TooManyRuns
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arrays import Array
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import AUTOMATON, PlanSpec


class ScanMachine:
    """One query over a stream that comes in batches, as runs of its automaton. form: what its matches look like."""

    kind = "scan"
    plan = str(AUTOMATON)
    scan: Scan

    def __init__(
        self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy, form: ResultForm, events: int = 0
    ) -> None:
        self.codes = codes
        self.policy = policy
        self.form = form
        self.splits = form.splits
        self.original = compiled
        self.begin(compiled.tried if codes.once and compiled.tried is not None else compiled, events)

    def begin(self, compiled: CompiledQuery, events: int, *, native: bool = False) -> None:
        """Before the first event, or all over again."""
        self.scan = Scan(compiled, self.codes, self.policy, events=events, native=native)
        self.form.begin(self.scan)

    def retime(self, compiled: CompiledQuery) -> None:
        """Go on with the same code of a query whose arcs come and go at other times, or have other constants."""
        self.scan.retime(compiled)

    @property
    def mode(self) -> str:
        return "compiled" if self.scan.native else "plain"

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return self.scan.state.tests

    @property
    def merged(self) -> int:
        """How many runs became one with another."""
        return self.scan.state.merged

    @property
    def runs(self) -> int:
        """How many runs are alive: merged ones are one."""
        return self.scan.state.runs

    def change_plan(self, choice: PlanSpec) -> bool:
        """Runs are of no other plan."""
        return False

    def reserve(self, events: int) -> None:
        """Room for the nodes and the matches of so many events; a state that was restored has only what it needs."""
        if not self.scan.native:
            self.scan.consider(events)
        self.scan.state.expect(events)

    def go_native(self) -> None:
        self.scan.go_native()

    # Events.

    def feed(self, batch: Batch) -> None:
        """The next events. Where runs that were tried are too many, all events are read again."""
        while self.scan.compiled.tries:
            try:
                self.scan.feed(batch, self._make_room)
                return self.form.check()
            except (TooManyRuns, Unfit) as why:
                scan = self.scan
                if batch.report is not None:
                    batch.report(-scan.pieces.reported)
                again = isinstance(why, TooManyRuns) and not scan.native
                again = again and self.policy.when is not CompilePolicy.NEVER
                self.begin(scan.compiled if again else self.original, len(batch), native=again or scan.native)
        return self.scan.feed(batch, self._make_room)

    def _make_room(self, stuck: bool) -> None:
        self.form.check()
        self.scan.make_room(stuck=stuck, collect=self.form.collect)

    # Matches.

    def settle(
        self, watermark: int | None, rows: KeptRows, horizon: int | None = None
    ) -> MatchTable | LazyMatches | Matches:
        """The matches that became certain."""
        state = self.scan.state
        if self.scan.waits:
            state.expire(horizon if watermark is None else watermark)
        if state.ahead is not None:
            state.end_old_runs(self.scan.clock)
        if watermark is not None and self.form.quiet and not state.matches:
            return NONE
        return self.form.emit(watermark, rows)

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        return self.form.unsettled()

    # Partitions.

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """The times that partitions have reached, by number."""
        state, index = self.scan.state, self.scan.input.partition_index
        state.fit(len(index))
        state.ahead = None
        if ahead is not None:
            state.ahead = np.full(len(index), NEVER)
            for partition, time in ahead.numbered(index):
                state.ahead[partition] = time

    def end_runs(self, before: int) -> None:
        """Drop runs whose window is over at a time."""
        self.scan.state.end_old_runs(max(before, self.scan.clock))

    def end_partitions(self, partitions: Array) -> None:
        """End the runs of some partitions."""
        self.scan.state.fit(len(self.scan.input.partition_index))
        self.scan.state.clear_partitions(partitions)

    def held_partitions(self) -> Iterable[tuple[Partitioning, Array]]:
        """The partitions that have a run."""
        scan = self.scan
        scan.state.end_old_runs(scan.clock)
        return [(scan.input.partitions, scan.state.held_partitions(scan.clock))]

    def keep_partitions(self, partitions: Partitioning, alive: Array) -> None:
        """Drop some partitions; the others have other places."""
        if partitions == self.scan.input.partitions:
            self.scan.state.keep_partitions(alive)

    # Clearing and snapshots.

    def compact(self, watermark: int) -> int | None:
        """Drop what no match to come can need."""
        return self.form.compact(watermark)

    def held_strings(self) -> Iterable[Array]:
        """The codes that runs hold."""
        return self.scan.state.held_strings()

    def renumber_strings(self, number: Array) -> None:
        self.scan.state.renumber_strings(number)

    def state_bytes(self) -> int:
        """The arrays of the state."""
        return self.scan.state.nbytes()

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """The arrays, after what is over has been cleared, and the matches that wait."""
        waiting = self.form.dump()
        facts, arrays = self.scan.dump()
        return waiting | facts, arrays

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Restore a state that was dumped, by either kind of run."""
        self.scan.load(facts, arrays)
        self.form.load(facts)
