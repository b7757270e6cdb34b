"""Pushdown: filters and columns that stay in the JVM, on and off. Three of W2's twenty types are relevant."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Figure, Target, throughput
from bench.spark.cases import EVENTS, W2, W2_RETURN
from bench.spark.clock import race, same
from bench.spark.options import Options
from bench.spark.session import session


def pushdown(options: Options) -> Iterator[Figure]:
    """Filters and columns below the shuffle, on and off."""
    events = options.sized(EVENTS)
    with session(options) as spark:
        for case in (W2, W2_RETURN):
            frame = case.read(spark, options, events)
            spent = race(
                {
                    "on": lambda case=case, frame=frame: case.ours(frame, direct=False).count(),
                    "off": lambda case=case, frame=frame: case.ours(frame, direct=False, pushdown=False).count(),
                },
                options.times,
            )
            matches, ours, rival = same(spent), spent["on"], spent["off"]
            yield Figure(
                "pushdown",
                case.name,
                "JVM scan",
                throughput(events, ours.wall),
                "M events/s",
                "off",
                throughput(events, rival.wall),
                rival.wall / ours.wall,
                Target("≥", 3),
                f"{events:,} events, {matches:,} matches; {ours.cpu:.1f} CPU-s against {rival.cpu:.1f}",
            )
