"""Equivalent runs merged and not (SASE+ 5.2.2, Experiments 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator

from bench import plots, queries
from bench.cache import stream
from bench.check import arranged, same
from bench.harness import Figure, Options, race, throughput
from bench.ours import ours
from bench.plots import Labels

WINDOWS = (500, 1000, 1500, 2000)

# Table 3: percent of runs merged, by window. Fig. 8g has the gains of Experiment 6 as curves, from 1.4 to 2.1;
# Experiment 5, which constructs the matches too, has 1.5, 1.4 and 1.5 at 500.
TABLE_3 = {
    "p1": {500: 47.9, 1000: 50.9, 1500: 66.6, 2000: 75.3},
    "p2": {500: 47.8, 1000: 48.3, 1500: 55.7, 2000: 60.4},
    "p3": {500: 47.8, 1000: 45.8, 1500: 44.9, 2000: 50.6},
}
EXPERIMENT_5 = {"p1": 1.5, "p2": 1.4, "p3": 1.5}


def merging(options: Options) -> Iterator[Figure]:
    """Merging of runs on and off, at windows of 500 to 2,000 events."""
    table = stream("stock", scale=options.scale)
    begun = int((table.column("price").to_numpy() % 500 == 0).sum())
    curves = {}
    for predicate in queries.PREDICATES:
        gains = []
        for window in WINDOWS:
            text = queries.w1(predicate, "s3", window)
            merged, apart = ours(text, table), ours(text, table, merging=False)
            same(merged.positions(), arranged(apart.positions()), f"merging {predicate} {window}")
            case = f"{predicate} s3 {window:,}"
            if window == WINDOWS[0]:
                runners = {"merged": merged.kernel, "unmerged": apart.kernel}
                note = f"Experiment 5, with the matches constructed (paper: a gain of {EXPERIMENT_5[predicate]})"
                yield _figure(case, "kernel", race(runners, options.times), table.num_rows, note)
            # Experiment 6 does not construct the matches: that costs the same with and without.
            seconds = race({"merged": merged.scan, "unmerged": apart.scan}, options.times)
            share = 100 * merged.scan().merged / begun
            paper = f"paper: {TABLE_3[predicate][window]} %, and a gain of 1.4 to 2.1"
            figure = _figure(case, "matching", seconds, table.num_rows, f"{share:.0f} % of the runs merged ({paper})")
            gains.append(figure.ratio)
            yield figure
        curves[f"{predicate} s3"] = WINDOWS, gains
    plots.lines("merging", Labels("Gain by merging runs", "window, events", "times faster"), curves, options.plots)


def _figure(case: str, clock: str, seconds: dict[str, float], events: int, note: str) -> Figure:
    merged, unmerged = seconds["merged"], seconds["unmerged"]
    speeds = throughput(events, merged), throughput(events, unmerged)
    return Figure("merging", case, clock, speeds[0], "M events/s", "unmerged", speeds[1], unmerged / merged, note=note)
