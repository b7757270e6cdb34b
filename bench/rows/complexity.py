"""Cost against output complexity, the sum of the lengths of all matches (SASE+ Fig. 8c)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench import plots, queries
from bench.cache import stream
from bench.harness import Figure, Options, Target, race
from bench.ours import ours

WINDOWS = (500, 750, 1000, 1250, 1500, 1750, 2000)
CASES = (("p1", "s3"), ("p2", "s3"), ("p3", "s2"), ("p3", "s3"))


def complexity(options: Options) -> Iterator[Figure]:
    """Cost against the size of the output, by windows of 500 to 2,000 events: it should be a line."""
    table = stream("stock", 50_000, options.scale)
    series: dict[str, tuple[list[float], list[float]]] = {}
    for predicate, strategy in CASES:
        sizes, costs = [], []
        for window in WINDOWS:
            engine = ours(queries.w1(predicate, strategy, window), table)
            sizes.append(float(len(engine.positions()[1])))
            costs.append(race({"ours": engine.enumerate}, options.times)["ours"] * 1e3)
        series[f"{predicate} {strategy}"] = sizes, costs
        slope, base = np.polyfit(sizes, costs, 1)
        fit = float(np.corrcoef(sizes, costs)[0, 1] ** 2)
        note = f"{slope * 1e6:.2f} ns a position + {base:.1f} ms; {sizes[0]:,.0f} to {sizes[-1]:,.0f} positions"
        yield Figure(
            "complexity",
            f"{predicate} {strategy}",
            "end to end",
            fit,
            "R² of a line",
            target=Target("≥", 0.95),
            note=note,
        )
    labels = plots.Labels("Cost against output complexity", "positions in all matches", "ms")
    plots.lines("complexity", labels, series, options.plots)
