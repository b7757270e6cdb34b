"""CESAR expressions against C++ of the same automata, and against SASE+ queries with the same results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from bench import queries, workloads
from bench.cache import made, stream
from bench.harness import Figure, Options, Target, race, throughput
from bench.native import cesar as native
from bench.native.cesar import Results
from bench.ours import Ours
from cepheid import Query

OF_NATIVE = Target("≥", 0.7)
OF_SASE = Target("≥", 0.8)

MANY = 1_000_000


def cesar(options: Options) -> Iterator[Figure]:
    """CESAR expressions against C++ of the same automata, and against SASE+ queries with the same results."""
    for case, (text, table, loop) in _cases(int(MANY * options.scale)).items():
        yield from _against_native(options, case, Query(text), table, loop)
    yield from _against_sase(options)


def _cases(many: int) -> dict[str, tuple[str, pa.Table, Results]]:
    ticks, rising = stream("ticks", many), stream("rising_ticks", many)
    few, more = (made(f"stock-{k}", partial(workloads.stock, symbols=k), many) for k in (24, 100))
    events, closing = stream("cayuga", many), stream("closing", many)
    same = "S1.symbol = S2.symbol"
    return {
        "Query 5, ticks, DUR ≥ 10": (queries.query5("Tick", 10), ticks, native.rise(ticks, 10)),
        "Query 5, rising ticks, DUR ≥ 30": (queries.query5("Tick", 30), rising, native.rise(rising, 30)),
        "Query 5, 24 names": (queries.query5("Stock", 240, same), few, native.rises(few, 240)),
        "Query 5, 100 names": (queries.query5("Stock", 1_000, same), more, native.rises(more, 1_000)),
        "Filter": (queries.cesar_benchmark("filter"), events, native.benchmark(events, "filter")),
        "NonDetAgg": (queries.cesar_benchmark("nondet"), events, native.benchmark(events, "nondet")),
        "Double-Top, 24 names": (queries.double_top(five=True), closing, native.tops(closing)),
    }


def _against_native(options: Options, case: str, query: Query, table: pa.Table, loop: Results) -> Iterator[Figure]:
    found = query.match(table, engine="compiled").to_arrow()
    _check(case, found, loop)
    kernel = Ours(query, table)
    assert kernel.results() >= found.num_rows, f"{case}: the kernel gives too little"
    runners: dict[str, Callable[[], object]] = {
        "kernel": kernel.results,
        "end to end": partial(_matched, query, table),
        "C++": loop.timed,
    }
    seconds = race(runners, options.times, clock=time.process_time)
    for clock, target in (("kernel", OF_NATIVE), ("end to end", None)):
        yield Figure(
            "cesar",
            case,
            clock,
            throughput(table.num_rows, seconds[clock]),
            "M events/s",
            "C++",
            throughput(table.num_rows, seconds["C++"]),
            seconds["C++"] / seconds[clock],
            target,
            f"{found.num_rows:,} results" if target else "",
        )


def _against_sase(options: Options) -> Iterator[Figure]:
    """Both to Arrow, with the same columns in the same order."""
    many = int(MANY * options.scale)
    ticks, stocks = stream("ticks", many), made("stock-24", partial(workloads.stock, symbols=24), many)
    for case, texts in queries.CESAR_AND_SASE.items():
        table = stocks if "Stock" in texts[0] else ticks
        expression, pattern = map(Query, texts)
        found, other = _matched(expression, table), _matched(pattern, table)
        assert found.equals(other.select(found.column_names)), f"{case}: not the matches of the SASE+ query"
        runners = {"CESAR": partial(_matched, expression, table), "SASE+": partial(_matched, pattern, table)}
        seconds = race(runners, options.times, clock=time.process_time)
        speed = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
        yield Figure(
            "cesar",
            case,
            "to Arrow",
            speed["CESAR"],
            "M events/s",
            "SASE+",
            speed["SASE+"],
            speed["CESAR"] / speed["SASE+"],
            OF_SASE,
            f"{found.num_rows:,} results",
        )


def _matched(query: Query, table: pa.Table) -> pa.Table:
    return query.match(table, engine="compiled").to_arrow()


def _check(case: str, found: pa.Table, loop: Results) -> None:
    """Both have the same set of results."""
    ours = [column.to_numpy() for column in found.columns]
    theirs = loop.columns()
    assert len(ours) == len(theirs), f"{case}: {len(ours)} columns, and {len(theirs)}"
    orders = [np.lexsort(tuple(reversed(columns))) for columns in (ours, theirs)]
    for name, own, other in zip(found.column_names, ours, theirs, strict=True):
        assert np.array_equal(own[orders[0]], other[orders[1]]), f"{case}: {name} differs"
    assert found.num_rows, f"{case}: no results"
