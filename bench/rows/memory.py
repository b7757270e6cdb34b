"""Peak memory: against the window, and over a long stream. Each measurement is a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bench import plots
from bench.harness import Figure, Options, Target

WINDOWS = (500, 1_000, 10_000, 100_000)
EVENTS = 1_000_000
LONG_EVENTS = 24_000_000


def memory(options: Options) -> Iterator[Figure]:
    """Peak memory of a session against the length of its window."""
    events = int(EVENTS * options.scale)
    peaks = []
    for window in WINDOWS:
        seen = _probe(window, events, volume=2)  # hardly any output, which takes memory of its own
        peaks.append(seen["peak"] - seen["start"])
        note = f"{seen['runs']:,} runs, {seen['state'] / 1e6:.2f} MB of state at the end, {events:,} events"
        yield Figure("memory", f"{window:,} events", "above start", peaks[-1], "MB", note=note)
    labels = plots.Labels("Peak memory against the window", "window, events", "MB above the start")
    plots.lines("memory", labels, {"W1 p2 s3": (WINDOWS, peaks)}, options.plots)


def long(options: Options) -> Iterator[Figure]:
    """24 million events through one session: memory must not grow."""
    seen = _probe(500, int(LONG_EVENTS * options.scale), volume=150)
    early, late = seen["trace"][len(seen["trace"]) // 4], seen["trace"][-1]
    course = f"{early:.0f} MB after a quarter, {late:.0f} MB at the end, peak {seen['peak']:.0f} MB"
    note = f"{course}; {seen['matches']:,} matches"
    yield Figure("long", f"{seen['events']:,} events", "growth", late - early, "MB", target=Target("<", 20), note=note)
    yield Figure(
        "long", f"{seen['events']:,} events", "in batches", seen["speed"], "M events/s", note="matches enumerated"
    )


def _probe(window: int, events: int, volume: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.probe", "memory", *map(str, (window, events, volume))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
