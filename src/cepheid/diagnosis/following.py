"""Runs are followed as far as a budget of steps goes, spread over the stream, and the same ones every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

from cepheid.diagnosis.counting import Counting, OutOfBudget
from cepheid.diagnosis.tracing import emit
from cepheid.front.runnable import Runnable
from cepheid.reference.negation import Absence
from cepheid.reference.partition import Substream, substreams
from cepheid.reference.runs import Run, Runner
from cepheid.values.rows import Event

BUDGET = 15_000
"""Steps: an event seen by a run that waits for its type. About half a second."""

_SPREAD = 16
_LEAST = 500  # steps for each run that begins
_LEFT = 4  # the part of the steps that one run must leave


@dataclass(frozen=True, slots=True)
class Followed:
    """How many runs began, and how many of them were followed to their end."""

    begun: int
    followed: int


def follow(
    name: str,
    query: Runnable,
    events: Sequence[Event],
    budget: int | None,
    last: int | None = None,
    check: Callable[[], None] | None = None,
) -> tuple[Counting, Followed]:
    """Follow the runs of a query on some events. last: the time of the last event of all, if it is not among these.

    check: is called now and then, and raises to stop.
    """
    watcher = Counting(name, query)
    watcher.check = check
    watcher.last = last if last is not None else events[-1].time if events else 0
    first = Runner(query, Substream((), one_key=True), watcher)
    partitions = [_FollowedPartition(first, stream, watcher) for stream in substreams(query, events)]
    begun: list[tuple[_FollowedPartition, Run]] = []
    for partition in partitions:
        begun += [(partition, run) for run in partition.runner.begin()]
    share = None if budget is None else max(_LEAST, 3 * budget // max(1, len(begun)))
    complete: list[Run] = []
    followed = 0
    watcher.steps = 0
    for partition, run in (begun_run for k in range(_SPREAD) for begun_run in begun[k::_SPREAD]):
        if budget is not None and watcher.steps >= budget:
            break
        watcher.most = None if share is None else watcher.steps + share
        try:
            followed += partition.follow(run, complete)
        except OutOfBudget:
            continue
    watcher.most = None
    emit(query, complete, watcher)
    return watcher, Followed(len(begun), followed)


class _FollowedPartition:
    def __init__(self, first: Runner, stream: Substream, watcher: Counting) -> None:
        self.watcher = watcher
        self.runner = copy(first)  # whose conditions are compiled once for all partitions
        self.runner.stream = stream
        self.absence = Absence(first.query, self.runner)

    def follow(self, first: Run, complete: list[Run]) -> bool:
        """Follow one run and all that become of it; whether each of them was followed to its end."""
        watcher, most, whole = self.watcher, self.watcher.most, True
        watcher.runner = self.runner
        stack = [first]
        while stack:
            run = stack.pop()
            complete += [done for done in self.runner.finish(run) if self.absence.holds(done)]
            for waiting in self.runner.waiting(run):
                if most is not None:  # some steps are left for what the run becomes, lest no run comes far
                    watcher.most = most - (most - watcher.steps) // _LEFT
                try:
                    stack.extend(self.runner.extend(waiting))
                except OutOfBudget:
                    whole = False
                watcher.most = most
            if not whole and most is not None and watcher.steps >= most:
                break
        return whole
