"""Double-Top in the forms of Cayuga's Fig. 20, against how much prices are smoothed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from bench import queries, workloads
from bench.cache import made
from bench.harness import Figure, Options, Target, race, throughput
from bench.native import cesar as native
from bench.native.cesar import Results
from bench.plots import Labels, lines
from cepheid import Query

EVENTS = 112_635
WINDOWS = (1, 3, 5, 7, 9, 15, 21)
BEST = Target("≥", 1)
HALF = Target("<", 0.5)


def double_top(options: Options) -> Iterator[Figure]:
    """Double-Top by μ, by resubscription and as the printed CQL, against smoothing: Cayuga Fig. 20."""
    mu, five, again = map(Query, (queries.double_top(), queries.double_top(five=True), queries.double_top_again()))
    speeds: dict[str, list[float]] = {}
    for window in WINDOWS:
        table = made(f"closing-{window}", partial(workloads.closing, smooth=window), int(EVENTS * options.scale))
        results = mu.match(table, engine="compiled").to_arrow()
        cql = {form: native.cql(table, form.lower()) for form in ("CQL1", "CQL2")}
        tops = _check(results, cql, window)
        resubscribed = len(again.match(table, engine="compiled"))
        runners: dict[str, Callable[[], object]] = {
            "μ": partial(_matched, mu, table),
            "five μ": partial(_matched, five, table),
            "resubscription": partial(_matched, again, table),
            **{form: views.timed for form, views in cql.items()},
        }
        seconds = race(runners, options.times, clock=time.process_time)
        speed = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
        for name, one in speed.items():
            speeds.setdefault(name, []).append(one)
        note = f"{results.num_rows:,} results by μ, {resubscribed:,} by resubscription, {tops:,} of the CQL"
        for name, rival, target in (
            ("μ", "resubscription", BEST),
            ("μ", "CQL1", BEST),
            ("five μ", "CQL1", None),
            ("resubscription", "CQL1", None),
            ("CQL2", "CQL1", HALF),
        ):
            ratio = speed[name] / speed[rival]
            yield Figure(
                "double_top",
                f"smoothed over {window}",
                f"{name}, end to end",
                speed[name],
                "M events/s",
                rival,
                speed[rival],
                ratio,
                target,
                note if rival == "resubscription" else "",
            )
    labels = Labels("Double-Top, Cayuga Fig. 20", "days that prices are averaged over", "million events/s", log=True)
    lines("double_top", labels, {name: (WINDOWS, some) for name, some in speeds.items()}, options.plots)


def _matched(query: Query, table: pa.Table) -> pa.Table:
    return query.match(table, engine="compiled").to_arrow()


def _check(results: pa.Table, cql: dict[str, Results], window: int) -> int:
    """Both CQL forms find the same, which is among the results by μ: these need not end in a minimum."""
    one, two = (sorted(zip(*(c.tolist() for c in views.columns()), strict=True)) for views in cql.values())
    assert one == two, f"smoothed over {window}: CQL1 and CQL2 differ"
    columns = (results.column(name).to_pylist() for name in ("company", "a", "b", "c", "d", "price"))
    missing = set(one) - set(zip(*columns, strict=True))
    assert not missing, f"smoothed over {window}: {len(missing)} are not found by μ"
    return len(one)
