"""S12 and S24 over a stream of complete runs: which are given, and which must wait for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cepheid.engine.encoding.codec import decode, encode
from cepheid.engine.machines.protocol import StateFacts
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Output
from cepheid.reference.output import (
    EVER,
    UNKNOWN,
    Busy,
    Partition,
    TakenSpan,
    arrange,
    choose,
    end_of,
    may_start,
    partition_of,
    pass_having,
    preference,
    start_of,
    take,
)
from cepheid.reference.runs import Run
from cepheid.values.value import Value


class ChosenRuns:
    """Until where each partition is taken, and complete runs that wait."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.held: list[Run] = []
        self.busy: Busy = {}

    def settle(
        self, complete: Sequence[Run], pending: Sequence[Run], growing: Sequence[Run], watermark: int | None
    ) -> list[Run]:
        """The runs that are given, in the order of S9.

        pending: complete runs that something must be absent after. growing: runs that an event to come can extend.
        watermark: all events before it are in; None: all are.
        """
        certain = arrange(self.query, [*self.held, *complete])
        self.held = []
        if self.query.output is Output.LONGEST:
            return self._longest(certain, pending, growing)
        if self.query.output is Output.NON_OVERLAP and watermark is not None:
            # An earlier match may still come true, and then this one must give way.
            limit = min((end_of(self.query, run) for run in pending), default=None)
            if limit is not None:
                self.held = [run for run in certain if end_of(self.query, run) >= limit]
                certain = [run for run in certain if end_of(self.query, run) < limit]
        return choose(self.query, certain, self.busy)

    def _longest(self, certain: Sequence[Run], pending: Sequence[Run], growing: Sequence[Run]) -> list[Run]:
        query, emitted = self.query, []
        waiting: dict[Partition, list[Run]] = {}
        for run in sorted(pass_having(query, certain), key=lambda run: preference(query, run)):
            waiting.setdefault(partition_of(query, run), []).append(run)
        for partition, runs in waiting.items():
            others = [run for run in (*pending, *growing) if _may_be_in(query, run, partition)]
            best: dict[tuple[int, int], Run] = {}  # of each start, the one that comes first
            for run in runs:
                # Composite events of one time may reach back to different starts (S13): one may be taken, one free.
                best.setdefault((start_of(query, run), run.selected[0].start), run)
            for run in best.values():
                if not may_start(query, run, self.busy.get(partition)):
                    continue
                if self._gives_way(run, others, self.busy.get(partition)):
                    self.held += [run for run in best.values() if may_start(query, run, self.busy.get(partition))]
                    break
                emitted.append(run)
                self.busy[partition] = take(query, run)
        return arrange(query, emitted)

    def _gives_way(self, run: Run, others: Iterable[Run], taken: TakenSpan | None) -> bool:
        """Whether a run that is not complete or not certain can be preferred to this one."""
        query = self.query
        return any(
            start_of(query, other) <= start_of(query, run) and may_start(query, other, taken) for other in others
        )

    def dump(self, dump_run: Callable[[Run], Value]) -> StateFacts:
        busy = [[encode(key), taken.end, taken.free] for key, taken in self.busy.items()]
        return {"held": [dump_run(run) for run in self.held], "busy": busy}

    def load(self, saved: StateFacts, load_run: Callable[[Value], Run]) -> None:
        self.held = [load_run(run) for run in saved["held"]]
        self.busy = {decode(key): TakenSpan(end, *(free or [EVER])) for key, end, *free in saved["busy"]}


def _may_be_in(query: Runnable, run: Run, partition: Partition) -> bool:
    """Whether a run can end in a partition: an `[attr]` may not be known yet."""
    keys = zip(partition_of(query, run), partition, strict=True)
    return all(key in (UNKNOWN, wanted) for key, wanted in keys)
