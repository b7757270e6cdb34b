"""An automaton of the user's own on the steps of the reference, made incremental: what no kernel can run."""

from __future__ import annotations

from dataclasses import replace

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.interpreted import Interpreted
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.without_codes import WithoutCodes
from cepheid.engine.machines.written_values import read, written
from cepheid.engine.matches.match_table import MatchTable, from_matches
from cepheid.front.automata.bound import automaton_in
from cepheid.front.runnable import Runnable
from cepheid.kernel.arrays import Array
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.pattern.tree.nodes import Fires
from cepheid.plan.spec import AUTOMATON
from cepheid.reference.own_automata import Accepted, OwnAutomaton, OwnAutomatonRun, PartitionRuns, given, instants
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

Key = tuple[Value, ...]
MOST = 200_000
"""Runs of one partition at once, beyond which a query ends with an error before it takes all the memory."""


class InterpretedAutomaton(WithoutCodes):
    """One automaton over a stream that comes in parts."""

    kind = mode = Interpreted.kind
    tests = merged = 0  # not counted
    plan = str(AUTOMATON)
    splits = True  # a run sees the events of its partition alone

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.automaton = OwnAutomaton(query)
        self.tick = query.schema.tick
        self.partitions: dict[Key, PartitionRuns] = {}
        self.found: list[Accepted] = []
        self.ahead: PartitionTimes | None = None
        self.waits = {arc.source for arc in automaton_in(query).arcs if arc.fires is Fires.END}

    @property
    def runs(self) -> int:
        """How many runs are alive."""
        return sum(len(partition.runs) for partition in self.partitions.values())

    def reserve(self, events: int) -> None:
        """Nothing is made beforehand."""

    def feed(self, batch: Batch) -> None:
        """The next events."""
        events = (
            replace(e, row=batch.first + e.row, position=batch.first + e.row)
            for e in read_rows(batch.table, self.query.schema)
        )
        report = batch.report or (lambda events: None)
        for moment in instants(self.query, list(events)):
            partitions: dict[Key, list[Event]] = {}
            for event in moment:
                key = partition_key(self.query.partitions, event)
                if key is not None:
                    partitions.setdefault(key, []).append(event)
            for key, own in partitions.items():
                partition = self.partitions.setdefault(key, PartitionRuns(self.automaton))
                self.found += partition.consume(own)
                if len(partition.runs) > MOST:
                    found = f"more than {MOST:,} runs at once in one partition"
                    raise too_many_runs(self.query.pattern, {}, found)
            report(len(moment))

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable:
        """The matches that are certain when all events before a time (None: all) are in."""
        for key, partition in self.partitions.items():
            reached = now if now is None or self.ahead is None else self.ahead.at(now, key)
            limit = horizon if reached is None else reached
            self.found += partition.end(None if limit is None else limit * self.tick)
            if reached is not None:
                self._prune(partition, reached * self.tick)
        self.partitions = {key: partition for key, partition in self.partitions.items() if partition.runs}
        found, self.found = self.found, []
        return from_matches(self.query, given(self.query, found), rows.base)

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """Some partitions are ahead."""
        self.ahead = ahead

    def end_runs(self, before: int) -> None:
        """Matches may end with any event."""

    def _prune(self, partition: PartitionRuns, now: int) -> None:
        """Drop runs whose window no event to come is in."""
        within = self.query.within
        if within is not None and within.nanoseconds is not None:
            partition.runs = [run for run in partition.runs if now - run.first.time < within.nanoseconds]

    def unsettled(self) -> int | None:
        """The first event at which a match may end that comes when a window is over."""
        ends = (
            partition.last
            for partition in self.partitions.values()
            if any(run.state in self.waits for run in partition.runs)
        )
        return min((last.position for last in ends if last is not None), default=None)

    def compact(self, now: int) -> int | None:
        """The first event that a match to come can have."""
        firsts = (run.first.position for partition in self.partitions.values() for run in partition.runs)
        lasts = (partition.last.position for partition in self.partitions.values() if partition.last is not None)
        return min((*firsts, *lasts), default=None)

    def state_bytes(self) -> int:
        """An estimate: Python objects are not counted one by one."""
        return 400 * self.runs

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """Runs by their states, their registers, and the positions of their first events."""
        partitions = [
            {
                "seen": partition.seen,
                "last": partition.last.position,
                "runs": [
                    [run.state, list(map(written, run.register)), run.first.position, run.number]
                    for run in partition.runs
                ],
            }
            for partition in self.partitions.values()
            if partition.last is not None
        ]
        return {"lanes": partitions}, []

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Take up a state that was dumped."""
        base = rows.base
        kept = read_rows(rows.kept, self.query.schema)
        events = [replace(e, row=base + e.row, position=base + e.row) for e in kept]
        for saved in facts["lanes"]:
            partition = PartitionRuns(self.automaton)
            partition.seen, partition.last = saved["seen"], events[saved["last"] - base]
            partition.runs = [
                OwnAutomatonRun(state, tuple(map(read, register)), events[first - base], number)
                for state, register, first, number in saved["runs"]
            ]
            key = partition_key(self.query.partitions, partition.last)
            assert key is not None
            self.partitions[key] = partition
