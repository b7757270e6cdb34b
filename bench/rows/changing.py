"""Whole queries that come, go and change while a session runs (S17): for how long the input pauses."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bench.harness import Figure, Options, Target
from cepheid import Query

PAUSE = Target("≤", 5)  # ms
TEXT = "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x > {} AND b.x > a.x WITHIN 500 milliseconds"
BATCH = 1_000  # events of a push
WARM, CALLS = 20, 100  # pushes before the first change, and changes of each kind


def changing(options: Options) -> Iterator[Figure]:
    """A session that adds, replaces and removes queries of a known shape: the pause of the input."""
    calls = 10 if options.quick else CALLS
    for speculate in (None, "all"):
        for kind, found in _pauses(speculate, calls).items():
            case = f"{kind} a query" + ("" if speculate is None else f", speculate={speculate!r}")
            first, after = found[0][0], np.median([push for _, push in found])
            median = float(np.median([pause for pause, _ in found[1:]]))
            note = f"the first {first:.2g}; the push of one event after it {after:.2g}"
            yield Figure("changing", case, "pause, CPU", median, "ms", target=PAUSE, note=note)


def _pauses(speculate: str | None, calls: int) -> dict[str, list[tuple[float, float]]]:
    """How long each change takes, and the push after it, in ms."""
    chance = np.random.default_rng(1)
    options: dict[str, Any] = {} if speculate is None else {"speculate": speculate}
    session = Query(TEXT.format(10)).session(lateness=100, **options)
    now = 0

    def events(count: int) -> pa.Table:
        nonlocal now
        now += count
        return pa.table(
            {
                "ts": np.arange(now - count, now),
                "type": np.array(["A", "B", "C"])[chance.integers(0, 3, count)],
                "k": chance.integers(0, 50, count),
                "x": chance.integers(0, 100, count),
            }
        )

    for _ in range(WARM):
        len(session.push(events(BATCH)))
    spent: dict[str, list[tuple[float, float]]] = {"add": [], "replace": [], "remove": []}
    for number in range(calls):
        query = Query(TEXT.format(random.Random(number).randint(0, 99)))
        kinds: dict[str, Callable[[], object]] = {
            "add": lambda number=number, query=query: session.add(f"more {number}", query),
            "replace": lambda query=query: session.replace("query 1", query),
            "remove": lambda number=number: session.remove(f"more {number}"),
        }
        for kind, call in kinds.items():
            spent[kind].append((_timed(call), _timed(lambda: len(session.push(events(1))))))
            len(session.push(events(BATCH)))
    return spent


def _timed(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1e3
