"""Wall and CPU time of Spark jobs: of the JVM and its Python workers, which all descend from this process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bench.cpu import cpu_seconds


class Spent(NamedTuple):
    """Of the best round: seconds on the clock, and seconds of all cores; and what was counted."""

    wall: float
    cpu: float
    found: int


def race(runners: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, Spent]:
    """The best round of each runner. They take turns, so that a noisy moment of the machine hits all alike."""
    found = {name: run() for name, run in runners.items()}  # warms the JVM, the workers and the page cache
    spent: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(rounds):
        for name, run in runners.items():
            begin, cpu = time.perf_counter(), cpu_seconds()
            again = run()
            spent[name].append((time.perf_counter() - begin, cpu_seconds() - cpu))
            assert again == found[name], f"{name}: {found[name]:,} and then {again:,}"
    return {name: Spent(*map(min, zip(*spent[name], strict=True)), found[name]) for name in runners}


def same(spent: Mapping[str, Spent]) -> int:
    """How many matches all of them found."""
    found = {name: one.found for name, one in spent.items()}
    assert len(set(found.values())) == 1, f"not the same matches: {found}"
    return next(iter(found.values()))
