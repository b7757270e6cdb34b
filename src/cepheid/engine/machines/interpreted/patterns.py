"""The steps of a pattern: runs go on, are struck out, or begin, and complete runs wait for what must be absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cepheid.engine.machines.interpreted.chosen_runs import ChosenRuns
from cepheid.engine.machines.interpreted.memory import Memory
from cepheid.engine.machines.interpreted.stepper import PartitionKey, events_of
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.matches.match_table import MatchTable, from_matches
from cepheid.front.runnable import Runnable
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.pattern.tree.layout import Move
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.reference.negation import Absence
from cepheid.reference.output import results
from cepheid.reference.partition import UNSET
from cepheid.reference.runs import MAX_RUNS, Run, Runner, Waiting
from cepheid.reference.watching import SILENT, Refusal, Watcher
from cepheid.values.bindings import NOTHING
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event


class PartitionState:
    """What one partition has: runs that wait, complete runs that are not certain yet, and the memory."""

    def __init__(self, *, one_key: bool) -> None:
        self.memory = Memory(one_key=one_key)
        self.waiting: list[Waiting] = []
        self.pending: list[Run] = []


class PatternStepper:
    """What the reference's `Runner` does with the runs of a partition.

    Runs wait between events, complete runs wait until what must be absent after them is certain, and only the window is
    remembered.
    """

    splits = True  # a run sees the events of its partition alone

    def __init__(self, query: Runnable, watcher: Watcher = SILENT) -> None:
        self.query = query
        self.by_instant = query.ties is not Ties.ORDERED
        self.one_key = query.partitions.one_key
        self.runner = Runner(query, Memory(one_key=self.one_key), watcher)
        self.absence = Absence(query, self.runner)
        self.remembers = bool(query.layout.negations) or query.counted
        self.complete: list[Run] = []
        self.chosen = ChosenRuns(query)
        # Of each absence at the start: for how long, where the query says it.
        self.leading = {query.periods[n] for n in query.leading}
        self.starts = list(self.runner.starts())

    def begin(self) -> PartitionState:
        """Nothing but an empty memory."""
        return PartitionState(one_key=self.one_key)

    def step(self, partition: PartitionState, instant: Sequence[Event]) -> None:
        """S4, S6, S7: runs go on, are struck out, or begin."""
        self.runner.stream = partition.memory
        if self.remembers:
            for event in instant:
                partition.memory.append(event)
        new: list[Run] = []
        for waiting in partition.waiting:
            new += self.runner.meet(waiting, instant)
        partition.waiting = [waiting for waiting in partition.waiting if waiting.moves]
        for move, blank in self.starts:
            for event in instant:
                new += self.runner.start(blank, move, event)
        for run in new:
            self.add(partition, run)

    def add(self, partition: PartitionState, run: Run) -> None:
        """A run that has just bound an event: it may be complete, and it may go on."""
        for passed in self.runner.finish(run):
            last = len(passed.selected)
            known = replace(passed, gaps=tuple(gap for gap in passed.gaps if gap.after < last))
            if self.absence.holds(known):
                (self.complete if known.gaps == passed.gaps else partition.pending).append(passed)
        partition.waiting += self.runner.waiting(run)
        if len(partition.waiting) > MAX_RUNS // 10:
            message = f"more than {MAX_RUNS // 10:,} runs at once in one partition"
            raise too_many_runs(self.query.pattern, self.query.strategies, message)

    def settle(self, partition: PartitionState, reached: int | None, horizon: int | None) -> None:
        """Decide complete runs, and drop what no event to come can need."""
        self.decide(partition, reached, reached if horizon is None else horizon)
        self.prune(partition, reached)

    def emit(self, partitions: Mapping[PartitionKey, PartitionState], watermark: int | None, base: int) -> MatchTable:
        """The matches that are certain and chosen."""
        longest = watermark is not None and self.query.output is Output.LONGEST
        growing = list(self.growing(partitions)) if longest else []
        chosen = self.chosen.settle(self.complete, list(self.pending(partitions)), growing, watermark)
        self.complete = []
        return from_matches(self.query, results(self.query, chosen), base)

    def decide(self, partition: PartitionState, reached: int | None, known: int | None) -> None:
        """A complete run is certain when what must be absent after it is known. reached: None if all events are in."""
        self.runner.stream = partition.memory
        if partition.pending:
            decided = [run for run in partition.pending if self.absence.is_known(run, known)]
            rest = [run for run in partition.pending if not any(run is other for other in decided)]
            partition.pending = [] if reached is None else rest
            self.complete += [run for run in decided if self.absence.holds(run)]
        for waiting in partition.waiting if reached is None else ():
            self.runner.watcher.ended(waiting)

    def end(self, partitions: Mapping[PartitionKey, PartitionState]) -> list[Run]:
        """All events are in: the complete runs that no witness refutes."""
        for partition in partitions.values():
            self.decide(partition, None, None)
        return self.complete

    def end_runs(self, partition: PartitionState, before: int) -> None:
        """Drop runs whose window is over at a time."""
        within = self.query.within
        if within is not None and within.nanoseconds is not None:
            latest = before - within.nanoseconds
            partition.waiting = [waiting for waiting in partition.waiting if waiting.run.selected[0].time > latest]

    def growing(self, partitions: Mapping[PartitionKey, PartitionState]) -> Iterator[Run]:
        """Runs that an event to come can extend."""
        within = self.query.within
        for partition in partitions.values():
            self.runner.stream = partition.memory
            for waiting in partition.waiting:
                run = waiting.run
                if not any(self.is_open(move, waiting) for move in waiting.moves):
                    continue
                if within is not None and within.events is not None and UNSET not in run.key:
                    last = partition.memory.events[-1]
                    if self.runner.distance(run.key, run.selected[0], last) >= within.events - 1:
                        continue
                yield run

    def is_open(self, move: Move, waiting: Waiting) -> bool:
        """Whether a run may still go by a move: no witness came of what must be absent before its next event (S10)."""
        passed = waiting.passed[move]
        if isinstance(passed, Refusal) or not self.query.layout.negations:
            return isinstance(passed, Run)
        last = len(passed.selected)
        if not self.absence.holds(replace(passed, gaps=tuple(gap for gap in passed.gaps if gap.after < last))):
            return False
        if self.query.schema.start is not None:
            return True  # what is to come may begin before a witness has ended
        gaps = [gap for gap in passed.gaps if gap.after == last]
        return not any(self.absence.is_refuted(passed, gap) for gap in gaps)

    def pending(self, partitions: Mapping[PartitionKey, PartitionState]) -> Iterator[Run]:
        """Complete runs that are not certain yet."""
        for partition in partitions.values():
            yield from partition.pending

    def prune(self, partition: PartitionState, reached: int | None) -> None:
        """Drop runs whose window has passed, and events that no run can ask about."""
        within = self.query.within
        if within is not None and within.nanoseconds is not None and reached is not None:
            partition.waiting = [w for w in partition.waiting if reached - w.run.selected[0].time < within.nanoseconds]
        events = partition.memory.events
        idle = (
            not partition.waiting and not partition.pending
        )  # then nobody asks but what looks back, and the partition may go
        if not events or (len(events) < 16 and not idle):
            return
        firsts = [w.run.selected[0] for w in partition.waiting]
        positions = [first.position for first in firsts] + [r.selected[0].position for r in partition.pending]
        keep = min(positions, default=events[-1].position + 1)
        if self.query.looks_back and reached is not None:
            keep = min([keep, *self.remembered(partition, firsts, reached)])
        partition.memory.forget(keep)

    def remembered(self, partition: PartitionState, firsts: Sequence[Event], reached: int) -> Iterator[int]:
        """The first events that can still be witnesses before a match, for each absence at the start."""
        within = self.query.within
        for period in self.leading:
            if period is None and within is not None and within.nanoseconds is None:
                counted = self.one_key and within.events is not None
                yield from partition.memory.positions[-(within.events or 0) if counted else 0 :][:1]
                continue
            # WITHIN counts from the last event of a match, which is to come; FOR from the first, which may be there.
            earliest = reached if period is None else min([reached, *(first.time for first in firsts)])
            length = period if period is not None else within.nanoseconds if within is not None else None
            assert length is not None  # else the query was refused
            yield from (e.position for e in partition.memory.events if e.time > earliest - length)

    def runs(self, partition: PartitionState) -> int:
        """How many runs are alive."""
        return len(partition.waiting) + len(partition.pending)

    def is_idle(self, partition: PartitionState) -> bool:
        """Whether there are neither runs nor events that one may ask about."""
        return not (partition.waiting or partition.pending or partition.memory.events)

    def bytes(self, partition: PartitionState) -> int:
        return 400 * self.runs(partition) + 200 * len(partition.memory.events)

    def unsettled(self, partitions: Mapping[PartitionKey, PartitionState]) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        waiting = (*self.pending(partitions), *self.chosen.held)
        return min((run.selected[-1].position for run in waiting), default=None)

    def compact(self, partitions: dict[PartitionKey, PartitionState], watermark: int) -> int | None:
        """The first event that a match to come can have; what is over was dropped when matches were settled."""
        runs = [w.run for partition in partitions.values() for w in partition.waiting]
        runs += [*self.pending(partitions), *self.chosen.held]
        positions = [run.selected[0].position for run in runs]
        positions += [part.memory.positions[0] for part in partitions.values() if part.memory.positions]
        return min(positions, default=None)

    # Snapshots.

    def dump(self, partitions: Mapping[PartitionKey, PartitionState]) -> StateFacts:
        """Runs as the moves that they made and the positions of their events: they are made again from those."""
        saved = [
            {
                "events": partition.memory.positions,
                "seen": partition.memory.seen,
                "waiting": [self.dump_waiting(waiting) for waiting in partition.waiting],
                "pending": [self.dump_run(run) for run in partition.pending],
            }
            for partition in partitions.values()
        ]
        return {"lanes": saved, **self.chosen.dump(self.dump_run)}

    def dump_run(self, run: Run) -> list[list[int]]:
        """Moves by their numbers, and positions."""
        moves, numbers = self.query.layout.starts, []
        for move in run.path:
            numbers.append(moves.index(move))
            moves = self.query.layout.moves[move.target] if move.target is not None else ()
        return [numbers, [event.position for event in run.selected]]

    def dump_waiting(self, waiting: Waiting) -> list[Any]:
        """A run, which of its waits this is, and what it may still do."""
        number = list(self.runner.waits_of(waiting.run)).index(waiting.wait)
        moves = [waiting.wait.others.index(move) for move in waiting.may_move]
        return [self.dump_run(waiting.run), number, waiting.may_take, moves]

    def load(self, facts: StateFacts, rows: KeptRows) -> dict[PartitionKey, PartitionState]:
        base, events = rows.base, events_of(self.query, rows.kept, rows.base)
        partitions: dict[PartitionKey, PartitionState] = {}
        for saved in facts["lanes"]:
            partition = self.begin()
            partition.memory.seen = saved["seen"] - len(saved["events"])
            for position in saved["events"]:
                partition.memory.append(events[position - base])
            self.runner.stream = partition.memory
            for run, number, may_take, may_move in saved["waiting"]:
                again = self.load_run(run, events, base)
                wait = list(self.runner.waits_of(again))[number]
                passed = {move: self.runner.pass_marks(again, move.marks) for move in wait.moves}
                may = tuple(wait.others[k] for k in may_move)
                partition.waiting.append(Waiting(again, wait, passed, may_take, may))
            partition.pending = [self.load_run(run, events, base) for run in saved["pending"]]
            runs = [w.run for w in partition.waiting] + partition.pending
            some = partition.memory.events[0] if partition.memory.events else runs[0].selected[0]
            key = partition_key(self.query.partitions, some)
            assert key is not None
            partitions[key] = partition
        self.chosen.load(facts, lambda run: self.load_run(run, events, base))
        return partitions

    def load_run(self, saved: list[list[int]], rows: list[Event], base: int) -> Run:
        """A run from its moves and positions."""
        run = Run(-1, (), NOTHING, {}, (), self.runner.agreement.unset)
        moves = self.query.layout.starts
        events = iter(saved[1])
        for number in saved[0]:
            move = moves[number]
            passed = self.runner.pass_marks(run, move.marks, again=True)
            assert isinstance(passed, Run)
            if move.target is None:
                return replace(passed, path=(*passed.path, move))
            bound = self.runner.bind(passed, move, rows[next(events) - base])
            if bound is None:
                raise ValueError("a run does not fit its events")
            run, moves = bound, self.query.layout.moves[move.target]
        return run
