"""Keyed queries against the identity: what matching adds to the way of the rows to Python."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Figure, Target, throughput
from bench.spark.cases import EVENTS, W2, W4, total
from bench.spark.clock import race
from bench.spark.options import Options
from bench.spark.session import session


def keyed(options: Options) -> Iterator[Figure]:
    """Keyed queries against the same plan with a function that only counts."""
    events = options.sized(EVENTS)
    with session(options) as spark:
        for case in (W2, W4):
            frame = case.read(spark, options, events)
            spent = race(
                {
                    "ours": lambda case=case, frame=frame: case.ours(frame, direct=False).count(),
                    "identity": lambda case=case, frame=frame: total(case.identity(frame)),
                },
                options.times,
            )
            ours, rival = spent["ours"], spent["identity"]
            note = (
                f"{events:,} events, {rival.found:,} of them to Python, {ours.found:,} matches; "
                f"{ours.cpu:.1f} CPU-s against {rival.cpu:.1f}"
            )
            yield Figure(
                "keyed",
                case.name,
                "JVM scan",
                throughput(events, ours.wall),
                "M events/s",
                "identity",
                throughput(events, rival.wall),
                rival.wall / ours.wall,
                Target("≥", 0.8),
                note,
            )
