"""Runs as Python objects, event by event: for the few queries that no kernel can be generated for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.interpreted.stepper import P, PartitionKey, Stepper, events_of
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.front.runnable import Runnable
from cepheid.kernel.arrays import Array
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import AUTOMATON, PlanSpec
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event


class Interpreted(Generic[P]):
    """One query over a stream that comes in batches, by the steps of its language."""

    kind = mode = "interpreted"
    tests = merged = 0  # not counted
    plan = str(AUTOMATON)

    def __init__(self, query: Runnable, stepper: Stepper[P]) -> None:
        self.query = query
        self.stepper = stepper
        self.splits = stepper.splits
        self.partitions: dict[PartitionKey, P] = {}
        self._ahead: PartitionTimes | None = None
        self._tick = query.schema.tick

    @property
    def runs(self) -> int:
        """How many runs are alive."""
        return sum(map(self.stepper.runs, self.partitions.values()))

    def reserve(self, events: int) -> None:
        """Do nothing: an interpreted machine has no arrays of a fixed length."""

    def change_plan(self, choice: PlanSpec) -> bool:
        """Runs are of no other plan."""
        return False

    def feed(self, batch: Batch) -> None:
        """The next events; no instant is in two batches."""
        instant: list[Event] = []
        for event in events_of(self.query, batch.table, batch.first):
            if instant and not (self.stepper.by_instant and event.time == instant[0].time):
                self._step_and_report(instant, batch)
                instant = []
            instant.append(event)
        if instant:
            self._step_and_report(instant, batch)

    def _step_and_report(self, instant: Sequence[Event], batch: Batch) -> None:
        self.step(instant)
        if batch.report is not None:
            batch.report(len(instant))

    def step(self, instant: Sequence[Event]) -> None:
        """One event, or all of an instant, to the partitions that they belong to."""
        of_partitions: dict[PartitionKey, list[Event]] = {}
        for event in instant:
            key = partition_key(self.query.partitions, event)
            if key is not None:
                of_partitions.setdefault(key, []).append(event)
        for key, events in of_partitions.items():
            if key not in self.partitions:
                self.partitions[key] = self.stepper.begin()
            self.stepper.step(self.partitions[key], events)

    def settle(self, watermark: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | Matches:
        """The matches that are certain when all events before a time (None: all) are in."""
        known = None if horizon is None else horizon * self._tick
        for key, partition in self.partitions.items():
            reached = watermark
            if watermark is not None and self._ahead is not None:
                reached = self._ahead.at(watermark, key)
            self.stepper.settle(partition, None if reached is None else reached * self._tick, known)
        self.partitions = {key: part for key, part in self.partitions.items() if not self.stepper.is_idle(part)}
        time = None if watermark is None else watermark * self._tick
        return self.stepper.emit(self.partitions, time, rows.base)

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        self._ahead = ahead

    def end_runs(self, before: int) -> None:
        """Drop runs whose window is over at a time."""
        for partition in self.partitions.values():
            self.stepper.end_runs(partition, before * self._tick)

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        return self.stepper.unsettled(self.partitions)

    def compact(self, watermark: int) -> int | None:
        """Drop what no match to come can need; the first event that one can have among those so far."""
        return self.stepper.compact(self.partitions, watermark)

    # Keys and strings are as they are, and have no codes.

    def held_partitions(self) -> Iterable[tuple[Partitioning, Array]]:
        """It has keys, and no indices of partitions."""
        return ()

    def keep_partitions(self, partitions: Partitioning, alive: Array) -> None:
        """It has keys, and no indices of partitions."""

    def held_strings(self) -> Iterable[Array]:
        """It has strings, and no codes."""
        return ()

    def renumber_strings(self, number: Array) -> None:
        """It has strings, and no codes."""

    def state_bytes(self) -> int:
        """An estimate: Python objects are not counted one by one."""
        return sum(map(self.stepper.bytes, self.partitions.values()))

    def dump(self) -> tuple[StateFacts, list[Array]]:
        return self.stepper.dump(self.partitions), []

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Restore a state that was dumped."""
        self.partitions = self.stepper.load(facts, rows)
