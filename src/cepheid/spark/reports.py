"""What tasks report to the driver beside their matches: an accumulator that calls whoever listens there.

Spark passes the updates of a task on before the job ends, so that a report is known when an action returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4
from weakref import WeakKeyDictionary

from pyspark import SparkContext, TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

MOST_TIMES = 4096
"""Times that are kept of all tasks."""

MOST_LISTENERS = 256
"""Listeners that are kept: nobody knows when a DataFrame is used for the last time."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What tasks have seen.

    valued: the columns of `[attr]` in which some event has a value.
    low, high: the first and the last time in ticks, if there is one.
    times: the first different times, in order; None if some are so close that no window is tiny against that.
    unmet: how many retractions had no event.
    """

    rows: int = 0
    types: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    low: int | None = None
    high: int | None = None
    times: tuple[int, ...] | None = ()
    unmet: int = 0

    def __add__(self, other: TaskReport) -> TaskReport:
        times = None
        if self.times is not None and other.times is not None:
            times = tuple(sorted({*self.times, *other.times})[:MOST_TIMES])
        lows, highs = ([t for t in pair if t is not None] for pair in ((self.low, other.low), (self.high, other.high)))
        return TaskReport(
            self.rows + other.rows,
            self.types | other.types,
            self.valued | other.valued,
            min(lows, default=None),
            max(highs, default=None),
            times,
            self.unmet + other.unmet,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What one task has seen. token: whom it is for. stage: the id of its stage."""

    token: str
    stage: int
    seen: TaskReport


Listener = Callable[[Report], None]


class _Reports(AccumulatorParam[tuple[Report, ...]]):
    """In a worker it collects the reports of a task; on the driver it hands them on."""

    def __init__(self) -> None:
        self.listeners: dict[str, Listener] | None = {}

    def __getstate__(self) -> dict[str, None]:
        return {"listeners": None}

    def zero(self, value: tuple[Report, ...]) -> tuple[Report, ...]:
        return ()

    def addInPlace(self, value1: tuple[Report, ...], value2: tuple[Report, ...]) -> tuple[Report, ...]:  # noqa: N802
        if self.listeners is None:
            return (*value1, *value2)
        for report in value2:
            if report.token in self.listeners:
                self.listeners[report.token](report)
        return ()


_CHANNELS: WeakKeyDictionary[SparkContext, Accumulator[tuple[Report, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Channel:
    """Where tasks send their reports."""

    token: str
    accumulator: Accumulator[tuple[Report, ...]]

    def send(self, seen: TaskReport) -> None:
        """Send to the driver what a task has seen; called in the task."""
        task = TaskContext.get()
        stage = -1 if task is None else task.stageId()
        self.accumulator.add((Report(self.token, stage, seen),))


def open_channel(context: SparkContext, listener: Listener) -> Channel:
    """Make a channel to a listener on the driver, which is called in a thread of its own and must run no job."""
    if context not in _CHANNELS:
        _CHANNELS[context] = context.accumulator((), _Reports())
    accumulator = _CHANNELS[context]
    listeners = accumulator.accum_param.listeners  # type: ignore[attr-defined]
    while len(listeners) >= MOST_LISTENERS:
        del listeners[next(iter(listeners))]
    token = uuid4().hex
    listeners[token] = listener
    return Channel(token, accumulator)
