"""Clocks, and figures that say what they are compared with."""

from __future__ import annotations

import gc
import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

pa.set_cpu_count(1)

_RELATIONS = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


class Target(NamedTuple):
    """What a figure must reach: its ratio, or where it has none its value."""

    relation: str  # one of _RELATIONS
    bound: float

    def met(self, number: float) -> bool:
        """Whether it does."""
        return bool(_RELATIONS[self.relation](number, self.bound))

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:.3g}"


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    row: str
    case: str
    clock: str
    value: float
    unit: str
    rival: str = ""
    other: float | None = None  # the rival's value, in the same unit and run
    ratio: float | None = None  # more is better for us
    target: Target | None = None
    note: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)  # columns of the row's own, which then has its own table

    @property
    def met(self) -> bool | None:
        """Whether the target is met, if there is one."""
        return None if self.target is None else self.target.met(self.value if self.ratio is None else self.ratio)


@dataclass(frozen=True)
class Options:
    """How a row is run."""

    quick: bool = False  # a tenth of the events, few rounds: to see that it works
    rounds: int = 9
    plots: Path | None = None  # where they go
    timeout: float = 60.0  # seconds; row cold
    most: int = 10_000_000  # events; row cold
    only: str = ""  # what the names of the queries have in them; row cold, and the cases of row many

    @property
    def scale(self) -> float:
        """Of the streams."""
        return 0.1 if self.quick else 1.0

    @property
    def times(self) -> int:
        """How often everything is run; the best counts."""
        return 3 if self.quick else self.rounds


def race(
    runners: Mapping[str, Callable[..., object]],
    rounds: int,
    fresh: Mapping[str, Callable[[], object]] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds of each runner's best round. They take turns, so that a noisy moment of the machine hits all alike.

    fresh: what makes the argument of a runner, anew for each round and not in the clock.
    """
    best = dict.fromkeys(runners, float("inf"))
    given = {name: (lambda make=make: (make(),)) for name, make in (fresh or {}).items()}
    for name, run in runners.items():  # compiles, fills caches, touches memory
        run(*given.get(name, tuple)())
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runners.items():
                arguments = given.get(name, tuple)()
                begin = clock()
                result = run(*arguments)
                elapsed = clock() - begin
                del result, arguments  # freeing them is not in the clock
                best[name] = min(best[name], elapsed)
    finally:
        gc.enable()
    return best


def throughput(events: int, seconds: float) -> float:
    """Million events a second."""
    return events / seconds / 1e6
