"""What TIES SIMULTANEOUS costs (S2), and composite events (S13), against the same without them and interpreted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from bench.harness import Figure, Options, race
from bench.rows.ties import EVENTS, shop
from cepheid import Query

QUERIES = {
    "sequence": "PATTERN SEQ(cart a, search b, logout c) WHERE [user] WITHIN 30 minutes",
    "absence": "PATTERN SEQ(cart a, !(purchase b), logout c) WHERE [user] WITHIN 30 minutes",
    "closure": """PATTERN SEQ(cart a, view+ b[], logout c) WHERE skip_till_next_match {
        [user] AND b[i].amount > b[i-1].amount } WITHIN 60 minutes""",
    "no key": "PATTERN SEQ(cart a, search b, purchase c) WHERE skip_till_next_match { a.sku = 7 AND b.sku < a.sku }",
}
PAIRS = """PATTERN SEQ(cart a, search b) WHERE skip_till_next_match { [user] } WITHIN 30 minutes
    RETURN a.user AS user, a.sku AS sku INTO Pair;
    FROM Pair PATTERN SEQ(Pair p, Pair q, Pair r) WHERE [user] WITHIN 300 minutes"""
FEW = 20
"""How many times fewer events are interpreted."""


def instants(options: Options) -> Iterator[Figure]:
    """`len(q.match(table))` of compiled runs, in CPU seconds: SIMULTANEOUS against ORDERED, and against interpreted."""
    unique = shop(int(EVENTS * options.scale))
    tied = unique.set_column(0, "ts", unique["ts"].cast(pa.timestamp("s"), safe=False).cast(pa.timestamp("us")))
    for case, text in QUERIES.items():
        ordered, together = Query(text, order_by="number"), Query(f"{text} TIES SIMULTANEOUS", order_by="number")
        seconds = race(
            {
                "ordered": partial(run, ordered, unique, "compiled"),
                "simultaneous": partial(run, together, unique, "compiled"),
                "tied, ordered": partial(run, ordered, tied, "compiled"),
                "tied, simultaneous": partial(run, together, tied, "compiled"),
            },
            options.times,
            clock=time.process_time,
        )
        for stream, name in (("unique times", ""), ("12 a second", "tied, ")):
            value, other = seconds[f"{name}simultaneous"], seconds[f"{name}ordered"]
            note = f"{value * 1e3:.0f} ms, ordered {other * 1e3:.0f} ms"
            yield Figure("instants", f"{case}, {stream}", "CPU", value / other, "x ordered", note=note)
        yield against_interpreted(f"{case}, 12 a second", together, tied.slice(0, len(tied) // FEW), options)
    yield against_interpreted("composite events", Query(PAIRS), unique.slice(0, len(unique) // FEW), options)


def run(query: Query, table: pa.Table, engine: str) -> int:
    """The matches by runs."""
    return len(query.match(table, engine=engine, plan="automaton"))


def against_interpreted(case: str, query: Query, table: pa.Table, options: Options) -> Figure:
    """How many times faster compiled runs are."""
    engines = ("compiled", "interpreted")
    assert len({run(query, table, engine) for engine in engines}) == 1
    seconds = race(
        {engine: partial(run, query, table, engine) for engine in engines},
        max(1, options.times // 3),
        clock=time.process_time,
    )
    value, other = seconds["compiled"], seconds["interpreted"]
    note = f"{len(table):,} events: {value * 1e3:.1f} ms, interpreted {other * 1e3:.0f} ms"
    return Figure("instants", case, "CPU", other / value, "x faster than interpreted", note=note)
