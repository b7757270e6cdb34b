"""How long one event takes, pushed alone."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench import queries
from bench.cache import stream
from bench.harness import Figure, Options
from cepheid import Query

CASES = {"W1 p2 s3": ("stock", queries.w1("p2", "s3")), "W4": ("rfid", queries.W4)}
BEFORE = 10_000  # events that the session has seen
TIMED = 5_000


def latency(options: Options) -> Iterator[Figure]:
    """`push` with a single event: the median and the 99th percentile."""
    timed = int(TIMED * options.scale)
    for case, (name, text) in CASES.items():
        table = stream(name).slice(0, BEFORE + timed)
        after = table.slice(BEFORE)
        batches = {
            "Arrow": [after.slice(k, 1) for k in range(timed)],
            "dict": [[row] for row in after.to_pylist()],
        }
        for form, events in batches.items():
            micro = _push(text, table.slice(0, BEFORE), events)
            for quantile in (50, 99):
                value = float(np.percentile(micro, quantile))
                yield Figure("latency", case, f"{form} p{quantile}", value, "µs")


def _push(text: str, before: pa.Table, events: list[object]) -> list[float]:
    session = Query(text).session(engine="compiled", lateness=0)
    session.push(before)
    micro = []
    for event in events:
        begin = time.perf_counter()
        session.push(event)
        micro.append((time.perf_counter() - begin) * 1e6)
    return micro
