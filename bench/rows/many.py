"""Many queries in shared tables, on Cayuga's technical benchmark: against C++, one by one, and Figures 16 and 17."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from bench import workloads
from bench.cache import made, stream
from bench.cayuga import READINGS, TEMPLATES, Workload, workload
from bench.harness import Figure, Options, Target, race, throughput
from bench.many_naive import Naive
from bench.many_tables import SAMPLE, ManyKernel, Native, Pattern
from bench.many_texts import texts
from bench.ours import Ours
from bench.plots import Labels, lines
from cepheid import Queries, Query

OF_NATIVE = Target("≥", 0.8)
OVER_ONE_BY_ONE = Target("≥", 1_000)
OVER_PAPER = Target("≥", 300)
UNCONCERNED = Target("≤", 1.15)
MERGED = Target("≥", 1.2)

EVENTS = 100_000
ALONE = 100.0
"""Million events a second of one query alone, which "one by one" is counted by."""
PAPER = 0.001
"""Million events a second: "well above 1000 events per second"."""
SIZES = (100_000, 400_000, 200_000)  # those with a target first
SKEWS = (0.8, 1.0, 1.2, 1.4)
SELECTIVITIES = (0.3, 0.5, 0.7, 0.9)


def many(options: Options) -> Iterator[Figure]:
    """100,000 to 400,000 of Cayuga's queries: kernel against C++ of the same algorithm, and one by one; Fig. 16a."""
    table = _events(options)
    alone = {template: _alone(options, template, table) for template in TEMPLATES}
    for template, one in alone.items():
        yield Figure("many", f"one query, {template}", "kernel", one, "M events/s")
    speeds: dict[str, dict[str, list[float]]] = {reading: defaultdict(list) for reading in READINGS}
    sizes = [int(size * options.scale) for size in SIZES]
    for reading in READINGS:
        for size in sizes:
            queries = workload(size, reading)
            for template in TEMPLATES:
                if options.only not in _case(reading, size, template):
                    continue
                speed, figures = _kernel(options, reading, template, queries, table, alone[template])
                speeds[reading][template].append(speed)
                yield from figures
    whole = (reading for reading in READINGS if options.only in reading)
    for reading, some in ((reading, speeds[reading]) for reading in whole):
        labels = Labels(f"Cayuga Fig. 16a, reading {reading}", "queries", "million events/s")
        order = np.argsort(sizes)
        curves = {name: ([sizes[k] for k in order], [ys[k] for k in order]) for name, ys in some.items()}
        lines(f"many_{reading}", labels, curves, options.plots)


def _kernel(
    options: Options, reading: str, template: str, queries: Workload, table: pa.Table, alone: float
) -> tuple[float, list[Figure]]:
    ours = _tables(template, reading, queries, table)
    native = Native(ours, dynamic=template == "LinearDyn")
    case = _case(reading, len(queries), template)
    assert np.array_equal(ours.matches(), native.matches()), f"{case}: not the matches of the C++"
    found, nodes = ours.found(), " / ".join(f"{count:,}" for count in ours.tables.depths)
    seconds = race({"kernel": ours.run, "C++": native.run}, options.times, clock=time.process_time)
    speed = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
    counts = ", ".join(f"{count / table.num_rows:.1f} {name}" for name, count in ours.counts.items())
    note = f"{found:,} matches; nodes by level {nodes}; an event: {counts}"
    own = "kernel", speed["kernel"], "M events/s"
    one, target = ALONE / len(queries), None if options.quick else OVER_ONE_BY_ONE
    measured = f"{speed['kernel'] * len(queries) / alone:,.0f}x of one query as it is in this run"
    return speed["kernel"], [
        Figure("many", case, *own, "C++", speed["C++"], speed["kernel"] / speed["C++"], OF_NATIVE, note),
        Figure("many", case, *own, "one by one", one, speed["kernel"] / one, target, measured),
    ]


def _case(reading: str, size: int, template: str) -> str:
    return f"{reading} {size // 1000}k {template}"


def _alone(options: Options, template: str, table: pa.Table) -> float:
    """Million events a second of one query."""
    text = next(texts(workload(1, "loose"), template))
    ours = Ours(Query(text), table)
    run: Callable[[], object] = ours.results if text.startswith("CESAR") else ours.kernel
    return throughput(table.num_rows, race({"alone": run}, options.times, clock=time.process_time)["alone"])


def many_arrow(options: Options) -> Iterator[Figure]:
    """400,000 of Cayuga's queries, from an Arrow table to an Arrow table, over the paper's 1,000 events/s."""
    table = _events(options)
    for template in TEMPLATES:
        given = workload(int(400_000 * options.scale), "loose")
        queries = Queries(list(texts(given, template)), progress=False)
        matched = partial(_to_arrow, queries, table)
        found = matched()
        known = _tables(template, "loose", given, table).found()
        assert found.num_rows == known, f"{template}: {found.num_rows:,} matches, and {known:,} by the tables"
        seconds = race({"ours": matched}, options.times, clock=time.process_time)["ours"]
        speed = throughput(table.num_rows, seconds)
        note = f"{found.num_rows:,} matches"
        own = "many_arrow", template, "to Arrow", speed, "M events/s"
        yield Figure(*own, "paper", PAPER, speed / PAPER, OVER_PAPER, note)


def _to_arrow(queries: Queries, table: pa.Table) -> pa.Table:
    return queries.match(table, progress=False).to_arrow()


def many_idle(options: Options) -> Iterator[Figure]:
    """40,000 queries, and beside them nine times as many that no event concerns."""
    domain = 50
    table = made("cayuga-50", partial(workloads.cayuga, domain=domain), int(EVENTS * options.scale))
    size = int(40_000 * options.scale)
    few = workload(size, "loose", domain=domain)
    more = few.beside(workload(9 * size, "loose", domain=domain, seed=9).moved(domain))
    for template in TEMPLATES:
        kernels = {name: _tables(template, "loose", some, table) for name, some in (("few", few), ("more", more))}
        found = {name: kernel.found() for name, kernel in kernels.items()}
        assert found["few"] == found["more"], f"{template}: not the same matches: {found}"
        assert kernels["few"].counts == kernels["more"].counts, f"{template}: not the same work"
        runners = {name: kernel.run for name, kernel in kernels.items()}
        seconds = race(runners, options.times, clock=time.process_time)
        each = {name: 1e9 * spent / table.num_rows for name, spent in seconds.items()}
        ratio = each["more"] / each["few"]
        touched = kernels["few"].counts["touched"] / table.num_rows
        note = f"{found['few']:,} matches; in both an event touches {touched:.1f} runs"
        yield Figure(
            "many_idle", template, "kernel", each["more"], "ns", "without them", each["few"], ratio, UNCONCERNED, note
        )


def many_merging(options: Options) -> Iterator[Figure]:
    """Equal steps merged and not, at the paper's numbers of nodes; Fig. 17: without merging, without indexes, apart."""
    table = _events(options)
    for size in (100_000, 400_000):
        for template in ("LinearStat", "Filter", "NonDet"):
            yield from _merging(options, template, workload(int(size * options.scale), "close"), table)
    yield from _figure_17(options, table)


def _merging(options: Options, template: str, queries: Workload, table: pa.Table) -> Iterator[Figure]:
    on, off = (_tables(template, "close", queries, table, merge=merge) for merge in (True, False))
    assert on.found() == off.found(), f"{template}: merging changes the matches"
    seconds = race({"on": on.run, "off": off.run}, options.times, clock=time.process_time)
    speed = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
    yield Figure(
        "many_merging",
        f"close {len(queries) // 1000}k {template}",
        "kernel",
        speed["on"],
        "M events/s",
        "not merged",
        speed["off"],
        speed["on"] / speed["off"],
        MERGED,
        f"nodes {sum(off.tables.depths):,} -> {sum(on.tables.depths):,}",
    )


def _figure_17(options: Options, table: pa.Table) -> Iterator[Figure]:
    """Filter, against C++ without an index of runs, and with an automaton of its own for each query."""
    _check_naive()
    speeds: dict[str, list[float]] = defaultdict(list)
    sizes = [int(size * options.scale) for size in (10_000, 20_000, 30_000, 40_000)]
    for size in sizes:
        queries = workload(size, "close")
        on, off = (_tables("Filter", "close", queries, table, merge=merge) for merge in (True, False))
        runners = {"Filter": on.run, "no merging": off.run, **_unoptimised(queries, table, on, off)}
        seconds = race(runners, options.times, clock=time.process_time)
        speed = {name: table.num_rows / spent for name, spent in seconds.items()} | {"one by one": 1e6 * ALONE / size}
        for name, one in speed.items():
            speeds[name].append(one)
        for rival in list(speed)[1:]:
            yield Figure(
                "many_merging", f"Fig. 17, {size // 1000}k", "kernel", speed["Filter"], "events/s", rival, speed[rival],
                speed["Filter"] / speed[rival],
            )  # fmt: skip
    labels = Labels("Cayuga Fig. 17, Filter, reading close", "queries", "events/s", log=True, beside=True)
    lines("many_optimised", labels, {name: (sizes, ys) for name, ys in speeds.items()}, options.plots)


def _unoptimised(
    queries: Workload, table: pa.Table, on: ManyKernel, off: ManyKernel
) -> Mapping[str, Callable[[], object]]:
    """C++: all runs gone over; an automaton for each query, with an index of edges beside them, and with none."""
    scanned = Native(off, indexed=False)
    assert np.array_equal(scanned.matches(), off.matches()), "not the matches of the tables"
    apart = {name: Naive(queries, table, pubsub=pubsub) for name, pubsub in (("pub/sub", True), ("no index", False))}
    for name, naive in apart.items():
        assert np.array_equal(naive.matches(), on.by_query()), f"{name}: not the matches of the tables"
        assert naive.made == off.counts["made"], f"{name}: not the runs of the tables"
    return {"all runs": scanned.run} | {name: naive.run for name, naive in apart.items()}


def _check_naive() -> None:
    """At the sizes of the figure there are hardly any matches; with four values there are many."""
    table = made("cayuga-4", partial(workloads.cayuga, domain=4), 20_000)
    queries = workload(2_000, "close", domain=4)
    on, off = (_tables("Filter", "close", queries, table, merge=merge) for merge in (True, False))
    assert on.found() > 10_000, "too few matches to compare"
    _unoptimised(queries, table, on, off)


def many_skew(options: Options) -> Iterator[Figure]:
    """200,000 queries against zipf1 and against the selectivity of a range: Fig. 16b and 16c."""
    table, size = _events(options), int(200_000 * options.scale)
    skewed: dict[str, list[float]] = defaultdict(list)
    for reading in READINGS:
        for skew in SKEWS:
            kernel = _tables("Filter", reading, workload(size, reading, skew=skew), table)
            speed = _speed(options, kernel)
            skewed[reading].append(speed)
            note = f"{kernel.tables.depths[0]:,} nodes at level 1, {kernel.found():,} matches"
            yield Figure("many_skew", f"Fig. 16b, {reading}, zipf {skew}", "kernel", speed, "M events/s", note=note)
    labels = Labels("Cayuga Fig. 16b, Filter", "zipf1", "million events/s")
    lines("many_skew", labels, {name: (SKEWS, ys) for name, ys in skewed.items()}, options.plots)
    speeds = []
    for share in SELECTIVITIES:
        kernel = _tables("Filter", "loose", workload(size, "loose", selectivity=share), table)
        speeds.append(_speed(options, kernel))
        begun = kernel.counts["made"] / table.num_rows
        note = f"{begun:.1f} runs begin or go on with an event, {kernel.found():,} matches"
        yield Figure("many_skew", f"Fig. 16c, loose, {share}", "kernel", speeds[-1], "M events/s", note=note)
    labels = Labels("Cayuga Fig. 16c, Filter, reading loose", "selectivity of a range", "million events/s")
    lines("many_selectivity", labels, {"Filter": (SELECTIVITIES, speeds)}, options.plots)


def _speed(options: Options, kernel: ManyKernel) -> float:
    seconds = race({"kernel": kernel.run}, options.times, clock=time.process_time)["kernel"]
    return throughput(kernel.table.num_rows, seconds)


def _events(options: Options) -> pa.Table:
    return stream("cayuga", int(EVENTS * options.scale))


@cache
def _pattern(template: str, reading: str) -> Pattern:
    return Pattern.of(template, workload(SAMPLE, reading), stream("cayuga", 1_000))


def _tables(template: str, reading: str, queries: Workload, table: pa.Table, **how: Any) -> ManyKernel:
    return ManyKernel(_pattern(template, reading), queries, table, template=template, **how)
