"""Many rules with ranges and no equality: found by sorted bounds or cells, against comparing an event with each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from bench.harness import Figure, Options, Target
from cepheid import Queries
from cepheid.engine.many.tables import node_tables
from cepheid.engine.many.tables.tables import SharedTables

RULES, EVENTS = 100_000, 2_000
CASES = {
    "one bound": ("s.price > low", (0.01, 0.1, 0.7)),
    "both bounds": ("s.price >= low AND s.price < high", (0.01, 0.1, 0.7)),
    "both bounds of two columns": (
        "s.price >= low AND s.price < high AND s.volume >= least AND s.volume < most",
        (0.01, 0.1, 0.7),
    ),
}
# What is compared with more than this is no part of a match: the tables are timed, not the making of matches.
NEVER = "s.price + s.volume > 9"


def many_ranges(options: Options) -> Iterator[Figure]:
    """µs of CPU time an event, of 100,000 rules with ranges alone, against comparing it with each (the same code)."""
    rng = np.random.default_rng(5)
    count, rules = max(100, int(EVENTS * options.scale)), max(10_000, int(RULES * options.scale))
    events = pa.table(
        {"ts": np.arange(count), "type": ["Stock"] * count, "price": rng.random(count), "volume": rng.random(count)}
    )
    for name, (condition, selectivities) in CASES.items():
        for selectivity in selectivities:
            text = f"PATTERN Stock s WHERE {condition} AND {NEVER}"
            queries = Queries(text, _rules(rng, rules, selectivity, one=name == "one bound"))
            ours = min(_seconds(queries, events, node_tables.MANY) for _ in range(options.times))
            scanned = min(_seconds(queries, events, rules + 1) for _ in range(max(1, options.times // 3)))
            value, other = (seconds / count * 1e6 for seconds in (ours, scanned))
            target = Target("≥", 5) if selectivity == 0.01 else None
            case = f"{name}, selectivity {selectivity}, {rules:,} rules"
            yield Figure(
                "many_ranges", case, "CPU", value, "µs an event", "compared with each", other, other / value, target
            )


def _rules(rng: Any, count: int, selectivity: float, *, one: bool) -> pa.Table:
    """Rules that a share of the events passes: of one bound on the average, of two the same for all."""
    if one:  # the share of events above `low` is from 0 to twice the selectivity, at most all
        low = 1 - rng.random(count) * min(1.0, 2 * selectivity)
        return pa.table({"id": np.arange(count), "low": low})
    low, least = rng.random((2, count)) * (1 - selectivity)
    return pa.table(
        {"id": np.arange(count), "low": low, "high": low + selectivity, "least": least, "most": least + selectivity}
    )


def _seconds(queries: Queries, events: pa.Table, many: int) -> float:
    """How long the tables take for all events, of which they had one before."""
    spent = 0.0
    feed = SharedTables.feed

    def timed(tables: SharedTables, batch: Any) -> None:
        nonlocal spent
        begin = time.process_time()
        feed(tables, batch)
        spent += time.process_time() - begin

    with patch.object(node_tables, "MANY", many), patch.object(SharedTables, "feed", timed):
        session = queries.session(lateness=0)
        session.push(events.slice(0, 1))
        session.push(events.slice(1, 2))
        spent = 0.0
        session.push(events.slice(2))
        session.close()
    return spent
