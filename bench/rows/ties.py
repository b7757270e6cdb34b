"""What equal times cost: the same events with times to the second and with unique times, in CPU seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench.harness import Figure, Options, Target, race
from cepheid import Query

EVENTS = 1_000_000
A_SECOND = 12
QUERY = "PATTERN SEQ(cart a, !(purchase b), logout c) WHERE [user] WITHIN 30 minutes"
MOST = Target("≤", 2)


def ties(options: Options) -> Iterator[Figure]:
    """One million events of 13 columns, sorted by time: `len(q.match(table))`, tied against unique times."""
    count = int(EVENTS * options.scale)
    unique = shop(count)
    tied = unique.set_column(0, "ts", unique["ts"].cast(pa.timestamp("s"), safe=False).cast(pa.timestamp("us")))
    twice = pa.concat_tables([tied.slice(0, count // 2)] * 2).sort_by("ts").combine_chunks()
    cases = {
        "by content": (Query(QUERY), tied),
        "unique order_by": (Query(QUERY, order_by="number"), tied),
        "every row twice": (Query(QUERY), twice),
    }
    base = Query(QUERY)
    runners = {"unique": lambda: len(base.match(unique))}
    runners |= {case: (lambda q=q, table=table: len(q.match(table))) for case, (q, table) in cases.items()}
    seconds = race(runners, options.times, clock=time.process_time)
    for case in cases:
        value, other = seconds[case], seconds["unique"]
        note = f"{value * 1e3:.0f} ms, with unique times {other * 1e3:.0f} ms"
        target = None if case == "every row twice" else MOST
        yield Figure("ties", case, "CPU", value / other, "x unique times", target=target, note=note)


def shop(count: int) -> pa.Table:
    """Events of a shop, some twelve a second."""
    chance = np.random.default_rng(12)
    micros = np.sort(chance.integers(0, count // A_SECOND * 1_000_000, count)) + np.arange(count)
    types = np.array(["view", "cart", "purchase", "search", "logout"])
    places, devices = np.array(["de", "fr", "us"]), np.array(["phone", "desk"])
    return pa.table(
        {
            "ts": pa.array(micros).cast(pa.timestamp("us")),
            "type": types[chance.integers(0, 5, count)],
            "user": chance.integers(0, 100_000, count),
            "session": [f"s-{number:08x}" for number in chance.integers(0, 300_000, count).tolist()],
            "amount": chance.normal(size=count),
            "country": places[chance.integers(0, 3, count)],
            "device": devices[chance.integers(0, 2, count)],
            "paid": chance.random(count) < 0.5,
            "sku": chance.integers(0, 5_000, count),
            "quantity": chance.integers(1, 5, count),
            "x": chance.normal(size=count),
            "y": chance.normal(size=count),
            "number": chance.permutation(count),
        }
    )
