"""Experiments 1 to 4 of SASE+ (SIGMOD'08, section 6), with what the paper says beside.

The paper prints its throughputs as bars and curves only; what it says in numbers is in the notes. `basic` and
`backtrack` are C++ (native/sase.cpp), so that they differ in the algorithm alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from bench import native, plots, queries
from bench.cache import stream
from bench.harness import Figure, Options, race, throughput
from bench.ours import ours
from bench.plots import Labels

WINDOW = 500
WINDOWS = (500, 1000, 1500, 2000)
CASES = [(predicate, strategy) for predicate in queries.PREDICATES for strategy in queries.STRATEGIES]
UNIT = "M events/s"

# Table 2: match length, runs per time step, percent of the cost that is matching (the rest is construction).
TABLE_2 = {
    "p1s2": (250, 2, 61),
    "p1s3": (250, 2, 61),
    "p2s2": (4.5, 0.01, 100),
    "p2s3": (140, 2, 67),
    "p3s2": (250, 2, 67),
    "p3s3": (250, 2, 66),
}

# How many times faster basic is than backtrack, as section 6.2 says it.
PAPER = {
    "algorithms": {case: "1.3" if case == "p2s2" else "200 to 300" for case in TABLE_2},
    "nonoverlap": {"p3s2": "about 1", "p3s3": "about 1", "p3*s2": "not said", "p3*s3": "an order of magnitude"},
}


def strategies(options: Options) -> Iterator[Figure]:
    """SASE+ Fig. 8a and Table 2: predicates and strategies."""
    table = stream("stock", scale=options.scale)
    n = table.num_rows
    seconds = {}
    for predicate, strategy in CASES:
        case = predicate + strategy
        engine = ours(queries.w1(predicate, strategy, WINDOW), table)
        basic = native.sase(table, "basic", case, WINDOW)
        offsets, positions = basic()
        runners = {"ours": engine.enumerate, "matching": engine.find, "basic": basic}
        seconds[case] = timed = race(runners, options.times)
        length = len(positions) / max(len(offsets) - 1, 1)
        share = min(100.0, 100 * timed["matching"] / timed["ours"])
        paper = TABLE_2[case]
        yield Figure(
            "strategies",
            f"{predicate} {strategy}",
            "end to end",
            throughput(n, timed["ours"]),
            UNIT,
            "C++ basic",
            throughput(n, timed["basic"]),
            timed["basic"] / timed["ours"],
            note=f"match length {length:.3g} (paper {paper[0]}), runs per step {basic.steps() / n:.2f} "
            f"(paper {paper[1]}), matching {share:.0f} % (paper {paper[2]} %)",
        )
    bars = {name: [throughput(n, timed[name]) for timed in seconds.values()] for name in ("ours", "basic")}
    labels = Labels("Experiment 1: predicates and strategies", "query", UNIT, log=True)
    plots.bars("experiment1", labels, list(seconds), bars, options.plots)


def windows(options: Options) -> Iterator[Figure]:
    """SASE+ Fig. 8b: throughput against the window."""
    table = stream("stock", 50_000, options.scale)
    n = table.num_rows
    curves = {}
    for predicate, strategy in CASES[1:]:  # p1s2 is p1s3
        speeds = []
        for window in WINDOWS:
            engine = ours(queries.w1(predicate, strategy, window), table)
            speeds.append(throughput(n, race({"ours": engine.enumerate}, options.times)["ours"]))
        curves[predicate + strategy] = WINDOWS, speeds
        fall = f"{speeds[0] / speeds[-1]:.1f} times slower at 4 times the window"
        paper = (
            "hardly"
            if (predicate, strategy) == ("p2", "s2")
            else "quadratically, 16 times"
            if predicate != "p2"
            else ""
        )
        shown = " ".join(f"{speed:.3g}" for speed in speeds)
        note = f"at {WINDOWS}: {shown}; {fall}" + f" (paper: {paper})" * bool(paper)
        yield Figure("windows", f"{predicate} {strategy}", "end to end", speeds[-1], UNIT, note=note)
    labels = Labels("Experiment 2: partition window", "window, events", UNIT, log=True)
    plots.lines("experiment2", labels, curves, options.plots)


def algorithms(options: Options) -> Iterator[Figure]:
    """SASE+ Fig. 8d: basic against backtrack, all results."""
    table = stream("stock", scale=options.scale)
    cases = {p + s: (p + s, queries.w1(p, s, WINDOW)) for p, s in CASES}
    yield from _algorithms("algorithms", "experiment3", "Experiment 3: all results", table, cases, options)


def nonoverlap(options: Options) -> Iterator[Figure]:
    """SASE+ Fig. 8e: basic against backtrack, non-overlapping results."""
    table = stream("stock", scale=options.scale)
    cases = {}
    for strategy in queries.STRATEGIES:
        cases[f"p3{strategy}"] = f"p3{strategy}_once", queries.w1("p3", strategy, WINDOW, output="NON_OVERLAP")
    for strategy in queries.STRATEGIES:
        cases[f"p3*{strategy}"] = f"star_{strategy}_once", queries.w1_star(strategy, WINDOW)
    yield from _algorithms("nonoverlap", "experiment4", "Experiment 4: non-overlapping results", table, cases, options)


def _algorithms(
    row: str, plot: str, title: str, table: pa.Table, cases: dict[str, tuple[str, str]], options: Options
) -> Iterator[Figure]:
    n = table.num_rows
    bars: dict[str, list[float]] = {"ours": [], "basic": [], "backtrack": []}
    for case, (variant, text) in cases.items():
        loops = {name: native.sase(table, name, variant, WINDOW) for name in ("basic", "backtrack")}
        engine = ours(text, table)
        found = {name: loop.find() for name, loop in loops.items()}
        assert set(found.values()) == {engine.count()}, f"{row} {case}: {found} and {engine.count()} matches"
        timed = race({"ours": engine.enumerate, **loops}, options.times)
        for name, values in bars.items():
            values.append(throughput(n, timed[name]))
        steps = ", ".join(f"{name} {loop.steps() / n:.2f}" for name, loop in loops.items())
        gain = timed["backtrack"] / timed["basic"]
        note = f"basic {gain:.2g} times backtrack (paper: {PAPER[row][case]}); runs met per event: {steps}"
        yield Figure(
            row,
            case,
            "end to end",
            throughput(n, timed["ours"]),
            UNIT,
            "C++ backtrack",
            throughput(n, timed["backtrack"]),
            timed["backtrack"] / timed["ours"],
            note=note,
        )
    plots.bars(plot, Labels(title, "query", UNIT, log=True), list(cases), bars, options.plots)
