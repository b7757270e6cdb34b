"""Direct Parquet: tasks that read the files themselves, against the JVM's scan."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Figure, Target, throughput
from bench.spark.cases import EVENTS, W2, W4
from bench.spark.clock import race, same
from bench.spark.options import Options
from bench.spark.session import session


def direct(options: Options) -> Iterator[Figure]:
    """Direct Parquet against the JVM's scan, end to end."""
    events = options.sized(EVENTS)
    with session(options) as spark:
        for case in (W2, W4):
            frame = case.read(spark, options, events)
            spent = race(
                {
                    "direct": lambda case=case, frame=frame: case.ours(frame, direct=True).count(),
                    "scan": lambda case=case, frame=frame: case.ours(frame, direct=False).count(),
                },
                options.times,
            )
            matches, ours, rival = same(spent), spent["direct"], spent["scan"]
            yield Figure(
                "direct",
                case.name,
                "end to end",
                throughput(events, ours.wall),
                "M events/s",
                "JVM scan",
                throughput(events, rival.wall),
                rival.wall / ours.wall,
                Target("≥", 2.5),
                f"{events:,} events, {matches:,} matches; {ours.cpu:.1f} CPU-s against {rival.cpu:.1f}",
            )
