"""Figures 10 to 13 of AFA (VLDB'10, section 6.3): what speculation costs and gains, ours beside the paper's words.

The curves are lost in the text that we have; what it says of them is in the notes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench import plots, queries
from bench.arrivals import ALL, SHIFT, WAITING, Arrivals, held, latency
from bench.cache import made, stream
from bench.harness import Figure, Options, race, throughput
from bench.native.algorithm1 import WAYS, Algorithm1
from bench.plots import Labels
from bench.rows.disorder import BATCH, ROUNDS, checked
from bench.workloads import disordered, quiet_ticks
from cepheid import Query

EVENTS = 100_000

# Figures 10 and 11: Q1 with k = 1, p = 0.5, W = 500, 5 % of the events late by up to 5,000, one in each millisecond.
WINDOW = 500
FAR = 5_000
QUIET = (70, 90)  # percent that are ignorable
SIGMA: tuple[int | str, ...] = (0, 100, 250, 500, 750, 1_000, 2_500, 5_000, "all")
SIZE = 10  # events of a batch

# Figures 12 and 13: Q2 with p = 0.7, W = 500, omega % of the events late by up to 1,000.
OMEGA = (0, 5, 10, 20, 30, 40, 50)

OUTPUT, LATENCY = "Fig. 10, of σ = 0", "Fig. 11, latency"
SPEED, HELD = "Fig. 12, speed", "Fig. 13, held"
SAID = {
    OUTPUT: "as σ goes from 0 to 1,000 ms the output grows 14x at I = 70 %, 4.5x at I = 90 %",
    LATENCY: "latency falls with σ, below 0.5 ms with all",
    SPEED: "~200 k/s without disorder; AFA falls with it, with sequence numbers mildly",
    HELD: "memory grows with disorder, with sequence numbers slower",
}

Curves = dict[str, tuple[list[float], list[float]]]


def speculation(options: Options) -> Iterator[Figure]:
    """AFA Fig. 10 to 13: output and latency against σ, speed and memory against disorder."""
    left = dict(SAID)
    for figure in chain(_against_sigma(options), _against_disorder(options)):
        said = f"the paper: {left.pop(figure.clock)}" if figure.clock in left else ""
        yield replace(figure, note="; ".join(filter(None, (said, figure.note))))


def _against_sigma(options: Options) -> Iterator[Figure]:
    output, waited = _curves(), _curves()
    for quiet in QUIET:
        table = made(f"quiet_ticks_{quiet}", _quiet(quiet), int(EVENTS * options.scale))
        some = Arrivals(Query(queries.vs(1, f"{WINDOW} milliseconds")), disordered(table, 5, FAR), FAR)
        first = None
        for sigma in SIGMA:
            seen = latency(some, {"speculate": sigma}, before=0, size=SIZE)
            theirs = Algorithm1(_cleansed(some.table, sigma), "Q1 k=1", WINDOW, FAR)()
            first = first or (seen.given, theirs)
            growth = seen.given / first[0], theirs / first[1]
            # One event in each millisecond, as in the paper: what came between is how long it took.
            late = float(np.mean(np.array(seen.events) + np.array(seen.call)))
            case = f"I = {quiet} %, σ = {sigma}"
            note = f"{seen.given:,} changes, by Algorithm 1 {theirs:,}; a push of {SIZE} takes {seen.pushed:.3g} ms"
            yield Figure("speculation", case, OUTPUT, growth[0], "x", "Alg. 1", growth[1], note=note)
            yield Figure("speculation", case, LATENCY, late, "ms")
            at = float(FAR + 500 if sigma == "all" else sigma)
            _point(output, f"ours, I = {quiet} %", at, growth[0])
            _point(output, f"Algorithm 1, I = {quiet} %", at, growth[1])
            _point(waited, f"I = {quiet} %", at, late)
    x = "σ, ms; the last point is all"
    labels = Labels(f"Fig. 10: output against σ\nThe paper: {SAID[OUTPUT]}", x, "changes, of those at σ = 0")
    plots.lines("speculation_output", labels, output, options.plots)
    labels = Labels(f"Fig. 11: latency against σ\nThe paper: {SAID[LATENCY]}", x, "ms, mean", log=True)
    plots.lines("speculation_latency", labels, waited, options.plots)


def _quiet(percent: int) -> Callable[[int], pa.Table]:
    return lambda n: quiet_ticks(n, percent / 100)


def _cleansed(table: pa.Table, sigma: int | str) -> pa.Table:
    """The ticks that move, in the order in which AFA's Cleanse (section 5.3) lets them through."""
    if sigma != "all":
        times = table.column("ts").to_numpy()
        reached = np.maximum.accumulate(times) - FAR + int(sigma)
        # An event goes through with the first that makes the watermark plus σ greater, if it has come by then.
        let = np.maximum(np.searchsorted(reached, times, side="right"), np.arange(len(times)))
        table = table.take(pa.array(np.lexsort((times, let))))
    return table.filter(pc.not_equal(table.column("change"), 0.0)).combine_chunks()


def _against_disorder(options: Options) -> Iterator[Figure]:
    table = stream("rising_ticks", int(EVENTS * options.scale))
    table = table.append_column("seq", table.column("ts"))  # counts by 1
    speed, memory = _curves(), _curves()
    for omega in OMEGA:
        some = Arrivals(Query(queries.Q2), disordered(table, omega, SHIFT))
        batches = some.batches(BATCH)
        sessions = {"ours": ALL, "ours, sequence": ALL | {"sequence": "seq"}, "waiting": WAITING}
        rivals = {f"Alg. 1 {way}": checked(some, "Q2", queries.Q2_WINDOW, way) for way in WAYS}
        runners: dict[str, Callable[[], object]] = dict(rivals)
        for kind, settings in sessions.items():
            runners[kind] = partial(some.run, settings, batches)
        seconds = race(runners, min(options.times, ROUNDS), clock=time.process_time)
        bytes_held = {kind: max(held(some, settings, BATCH)) for kind, settings in sessions.items()}
        bytes_held |= {kind: rival.held for kind, rival in rivals.items()}
        for kind in (*sessions, *rivals):
            fast = throughput(table.num_rows, seconds[kind])
            case = f"ω = {omega} %, {kind}"
            yield Figure("speculation", case, SPEED, fast, "M events/s")
            yield Figure("speculation", case, HELD, bytes_held[kind] / 1e3, "kB")
            _point(speed, kind, omega, fast)
            _point(memory, kind, omega, bytes_held[kind] / 1e3)
    x = "events late by 1 to 1,000, %"
    labels = Labels(f"Fig. 12: speed against disorder\nThe paper: {SAID[SPEED]}", x, "million events/s", log=True)
    plots.lines("speculation_speed", labels, speed, options.plots)
    labels = Labels(f"Fig. 13: memory against disorder\nThe paper: {SAID[HELD]}", x, "kB held, at most")
    plots.lines("speculation_memory", labels, memory, options.plots)


def _curves() -> Curves:
    return defaultdict(lambda: ([], []))


def _point(curves: Curves, name: str, x: float, y: float) -> None:
    xs, ys = curves[name]
    xs.append(x)
    ys.append(y)
