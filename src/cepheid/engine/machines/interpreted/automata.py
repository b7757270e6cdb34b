"""The steps of an automaton of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.engine.machines.interpreted.stepper import PartitionKey, events_of
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.written_values import read, written
from cepheid.engine.matches.match_table import MatchTable, from_matches
from cepheid.front.automata.bound import automaton_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.pattern.tree.nodes import Fires, Ties
from cepheid.reference.own_automata import Accepted, OwnAutomaton, OwnAutomatonRun, PartitionRuns, given
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event

MOST = 200_000
"""Runs of one partition at once, beyond which a query ends with an error before it takes all the memory."""


class AutomatonStepper:
    """What the reference does with the runs of a partition."""

    splits = True  # a run sees the events of its partition alone

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.by_instant = query.ties is not Ties.ORDERED
        self._automaton = OwnAutomaton(query)
        self._accepted: list[Accepted] = []
        self._waits = {arc.source for arc in automaton_in(query).arcs if arc.fires is Fires.END}

    def begin(self) -> PartitionRuns:
        return PartitionRuns(self._automaton)

    def step(self, partition: PartitionRuns, instant: Sequence[Event]) -> None:
        """Go on with an event, or with all of an instant."""
        self._accepted += partition.consume(instant)
        if len(partition.runs) > MOST:
            raise too_many_runs(self.query.pattern, {}, f"more than {MOST:,} runs at once in one partition")

    def settle(self, partition: PartitionRuns, reached: int | None, horizon: int | None) -> None:
        """Accept runs whose window is over, and drop those that no event to come can extend."""
        self._accepted += partition.end(horizon if reached is None else reached)
        within = self.query.within
        if reached is not None and within is not None and within.nanoseconds is not None:
            partition.runs = [run for run in partition.runs if reached - run.first.time < within.nanoseconds]

    def emit(self, partitions: Mapping[PartitionKey, PartitionRuns], watermark: int | None, base: int) -> MatchTable:
        """The matches that were accepted."""
        accepted, self._accepted = self._accepted, []
        return from_matches(self.query, given(self.query, accepted), base)

    def end_runs(self, partition: PartitionRuns, before: int) -> None:
        """Matches may end with any event."""

    def runs(self, partition: PartitionRuns) -> int:
        """How many runs are alive."""
        return len(partition.runs)

    def is_idle(self, partition: PartitionRuns) -> bool:
        """Whether there are no runs."""
        return not partition.runs

    def bytes(self, partition: PartitionRuns) -> int:
        return 400 * len(partition.runs)

    def unsettled(self, partitions: Mapping[PartitionKey, PartitionRuns]) -> int | None:
        """The first event at which a match may end that comes when a window is over."""
        ends = (part.last for part in partitions.values() if any(run.state in self._waits for run in part.runs))
        return min((last.position for last in ends if last is not None), default=None)

    def compact(self, partitions: dict[PartitionKey, PartitionRuns], watermark: int) -> int | None:
        """The first event that a match to come can have."""
        firsts = (run.first.position for partition in partitions.values() for run in partition.runs)
        lasts = (partition.last.position for partition in partitions.values() if partition.last is not None)
        return min((*firsts, *lasts), default=None)

    def dump(self, partitions: Mapping[PartitionKey, PartitionRuns]) -> StateFacts:
        """Runs by their states, their registers, and the positions of their first events."""
        saved = [
            {
                "seen": partition.seen,
                "last": partition.last.position,
                "runs": [
                    [run.state, list(map(written, run.register)), run.first.position, run.number]
                    for run in partition.runs
                ],
            }
            for partition in partitions.values()
            if partition.last is not None
        ]
        return {"lanes": saved}

    def load(self, facts: StateFacts, rows: KeptRows) -> dict[PartitionKey, PartitionRuns]:
        base, events = rows.base, events_of(self.query, rows.kept, rows.base)
        partitions: dict[PartitionKey, PartitionRuns] = {}
        for saved in facts["lanes"]:
            partition = self.begin()
            partition.seen, partition.last = saved["seen"], events[saved["last"] - base]
            partition.runs = [
                OwnAutomatonRun(state, tuple(map(read, register)), events[first - base], number)
                for state, register, first, number in saved["runs"]
            ]
            key = partition_key(self.query.partitions, partition.last)
            assert key is not None
            partitions[key] = partition
        return partitions
