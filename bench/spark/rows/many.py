"""A rule for each customer over card payments, against the same shuffle with the identity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench.harness import Figure, Target, throughput
from bench.spark import data
from bench.spark.cases import counted, total
from bench.spark.clock import race
from bench.spark.options import Options
from bench.spark.session import PARTITIONS, session
from cepheid import Queries

PAYMENTS, RULES = 1_000_000, 100_000
OF_IDENTITY = Target("≥", 0.5)
UNUSUAL = """
    PATTERN SEQ(Abroad a, Payment b)
    WHERE   skip_till_next_match(a, b) { [customer = own] AND a.amount < trial AND b.amount > most }
    WITHIN  span
"""


def many(options: Options) -> Iterator[Figure]:
    """100,000 rules over a million card payments, one for each customer, against the identity."""
    events, rules = options.sized(PAYMENTS), options.sized(RULES)
    queries = Queries(UNUSUAL, _rules(rules), progress=False)
    with session(options) as spark:
        frame = spark.read.parquet(str(data.payments(options, events, rules)))
        same = frame.repartition(PARTITIONS, "customer").sortWithinPartitions("ts")
        spent = race(
            {
                # There are two buckets for each task, and so as many as the identity has.
                "ours": lambda: queries.match(frame, partitions=PARTITIONS // 2).count(),
                "identity": lambda: total(same.mapInArrow(counted, "n long")),
            },
            options.times,
        )
    ours, rival = spent["ours"], spent["identity"]
    assert rival.found == events
    note = f"{events:,} payments, {rules:,} rules, {ours.found:,} matches"
    for clock, own, other in (("wall", ours.wall, rival.wall), ("CPU", ours.cpu, rival.cpu)):
        speeds = throughput(events, own), "M events/s", "identity", throughput(events, other)
        yield Figure("many", "a rule for each customer", clock, *speeds, other / own, OF_IDENTITY, note)
        note = f"{ours.cpu:.1f} CPU-s against {rival.cpu:.1f}"


def _rules(count: int) -> pa.Table:
    chance = np.random.default_rng(7)
    return pa.table(
        {
            "id": pa.array([f"customer {k}" for k in range(count)]),
            "own": np.arange(count),
            "trial": chance.integers(2, 6, count),
            "most": chance.integers(300, 900, count),
            "span": chance.choice(["30 minutes", "2 hours", "6 hours"], count),
        }
    )
