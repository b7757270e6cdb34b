"""Skip-till-any Kleene closure, where the number of matches is exponential in the window."""

from __future__ import annotations

from collections.abc import Iterator

from bench import queries
from bench.cache import stream
from bench.harness import Figure, Options, Target, race
from bench.ours import ours

WINDOWS = (10, 100, 1_000, 10_000)


def kleene(options: Options) -> Iterator[Figure]:
    """SEQ(A a, B+ b[], C c) under skip-till-any-match, matches counted only."""
    table = stream("rare_last", scale=options.scale)
    for window in WINDOWS:
        engine = ours(queries.kleene(window), table)
        count = engine.count()
        seconds = race({"count": engine.count}, options.times)["count"]
        note = f"{count:,} matches" if count < 10**9 else f"10^{len(str(count)) - 1} matches"
        nanoseconds = seconds / table.num_rows * 1e9
        yield Figure(
            "kleene", f"{window:,} events", "count", nanoseconds, "ns/event", target=Target("<", 50), note=note
        )
