"""Keyed queries against the identity: what matching adds to the way of the rows to Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.harness import Figure, Target, throughput
from bench.spark.cases import EVENTS, QUERY5, W2, W4, Case, total
from bench.spark.clock import race
from bench.spark.options import Options
from bench.spark.session import session


def keyed(options: Options) -> Iterator[Figure]:
    """Keyed queries against the same plan with a function that only counts."""
    yield from _against_identity(options, "keyed", (W2, W4))


def cesar(options: Options) -> Iterator[Figure]:
    """A CESAR expression with a key, likewise."""
    yield from _against_identity(options, "cesar", (QUERY5,))


def _against_identity(options: Options, row: str, cases: Sequence[Case]) -> Iterator[Figure]:
    events = options.sized(EVENTS)
    with session(options) as spark:
        for case in cases:
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
                row,
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
