"""Against what a Spark user writes today. All count the same matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import DataFrame

from bench.harness import Figure, Target, throughput
from bench.spark.cases import EVENTS, W2, W2_RETURN
from bench.spark.clock import race, same
from bench.spark.options import Options
from bench.spark.session import PARTITIONS, session
from bench.spark.today import FUNNEL, binned_joins, in_pandas, self_joins, with_lag
from cepheid import Query

# Time bins are for one who knows range joins; they have no target, and are said so that nobody is misled.
RIVALS: dict[str, tuple[Callable[[DataFrame], DataFrame], Target | None]] = {
    "self-joins": (self_joins, Target("≥", 10)),
    "joins in time bins": (binned_joins, None),
    "applyInPandas": (in_pandas, Target("≥", 3)),
}


def today(options: Options) -> Iterator[Figure]:
    """Against self-joins, applyInPandas and window functions with lag."""
    events = options.sized(EVENTS)
    with session(options) as spark:
        frame = W2.read(spark, options, events)
        runners = {"ours": lambda: W2_RETURN.ours(frame).count()}
        runners |= {name: lambda query=query: query(frame).count() for name, (query, _) in RIVALS.items()}
        spent = race(runners, options.times)
        matches, ours = same(spent), spent["ours"]
        for name, (_, target) in RIVALS.items():
            rival = spent[name]
            yield Figure(
                "today",
                "W2 RETURN",
                "end to end",
                throughput(events, ours.wall),
                "M events/s",
                name,
                throughput(events, rival.wall),
                rival.wall / ours.wall,
                target,
                f"{events:,} events, {matches:,} matches; {ours.cpu:.1f} CPU-s against {rival.cpu:.1f}",
            )
        query = Query(FUNNEL)
        spent = race(
            {
                "ours": lambda: query.match(frame, partitions=PARTITIONS).count(),
                "lag": lambda: with_lag(frame).count(),
            },
            options.times,
        )
        matches, ours, rival = same(spent), spent["ours"], spent["lag"]
        faster = "lag is faster" if rival.wall < ours.wall else "ours is faster"
        yield Figure(
            "today",
            "funnel",
            "end to end",
            throughput(events, ours.wall),
            "M events/s",
            "lag",
            throughput(events, rival.wall),
            rival.wall / ours.wall,
            note=f"E1, E2, E3 of a key with nothing of the key between them, {matches:,} matches: {faster} here; "
            f"{ours.cpu:.1f} CPU-s against {rival.cpu:.1f}",
        )
