"""What a Spark user writes today for W2 and for a funnel, and our queries for the same."""

from __future__ import annotations

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from bench import queries
from bench.spark.cases import W2

WINDOW = queries.W2_WINDOW

# Three steps of a key with nothing of that key between them: the case that `lag` can tell.
FUNNEL = (
    "PATTERN SEQ(E1 a, E2 b, E3 c) WHERE partition_contiguity(a, b, c) { [attr1] } "
    f"WITHIN {WINDOW} milliseconds RETURN a.attr1 AS attr1, a.ts AS a, b.ts AS b, c.ts AS c"
)


def _step(events: DataFrame, kind: str, name: str) -> DataFrame:
    chosen = events.where(F.col("type") == kind)
    return chosen.select(F.col("attr1").alias(f"{name}_key"), F.col("ts").alias(name))


def self_joins(events: DataFrame) -> DataFrame:
    """W2 as two joins on the key with conditions on time, the window within each of them."""
    a, b, c = (_step(events, kind, name) for kind, name in zip(W2.types, "abc", strict=True))
    pairs = a.join(b, (a.a_key == b.b_key) & (b.b > a.a) & (b.b < a.a + WINDOW))
    triples = pairs.join(c, (a.a_key == c.c_key) & (c.c > b.b) & (c.c < a.a + WINDOW))
    return triples.select(F.col("a_key").alias("attr1"), "a", "b", "c")


def binned_joins(events: DataFrame) -> DataFrame:
    """The same by one who knows range joins: equal also in a bin of time as long as the window.

    A match begins in the bin of its a, and its other events are in that or in the next; so those are in two bins each.
    """
    a, b, c = (_step(events, kind, name) for kind, name in zip(W2.types, "abc", strict=True))
    a = a.withColumn("a_bin", _bin("a"))
    b = b.withColumn("b_bin", F.explode(F.array(_bin("b"), _bin("b") - 1)))
    c = c.withColumn("c_bin", F.explode(F.array(_bin("c"), _bin("c") - 1)))
    pairs = a.join(b, (a.a_key == b.b_key) & (a.a_bin == b.b_bin) & (b.b > a.a) & (b.b < a.a + WINDOW))
    here = (a.a_key == c.c_key) & (a.a_bin == c.c_bin)
    triples = pairs.join(c, here & (c.c > b.b) & (c.c < a.a + WINDOW))
    return triples.select(F.col("a_key").alias("attr1"), "a", "b", "c")


def _bin(name: str) -> Column:
    return F.floor(F.col(name) / WINDOW)


def in_pandas(events: DataFrame) -> DataFrame:
    """W2 with a Python loop for each key, the filter and the columns before it."""
    needed = events.where(F.col("type").isin(*W2.types)).select("ts", "type", "attr1")
    return needed.groupBy("attr1").applyInPandas(_loop, "attr1 long, a long, b long, c long")


def _loop(group: pd.DataFrame) -> pd.DataFrame:
    group = group.sort_values("ts")
    key = int(group["attr1"].iloc[0])
    first: list[int] = []
    pairs: list[tuple[int, int]] = []
    found: list[tuple[int, int, int, int]] = []
    for ts, kind in zip(group["ts"].tolist(), group["type"].tolist(), strict=True):
        oldest = ts - WINDOW
        if kind == "E1":
            first.append(ts)
        elif kind == "E2":
            first = [a for a in first if a > oldest]
            pairs += [(a, ts) for a in first]
        else:
            pairs = [(a, b) for a, b in pairs if a > oldest]
            found += [(key, a, b, ts) for a, b in pairs]
    return pd.DataFrame(found, columns=["attr1", "a", "b", "c"]).astype("int64")


def with_lag(events: DataFrame) -> DataFrame:
    """FUNNEL with window functions: the two events before in the key."""
    by_key = Window.partitionBy("attr1").orderBy("ts")
    before = events.select(
        "attr1",
        F.lag("ts", 2).over(by_key).alias("a"),
        F.lag("ts", 1).over(by_key).alias("b"),
        F.col("ts").alias("c"),
        F.lag("type", 2).over(by_key).alias("first"),
        F.lag("type", 1).over(by_key).alias("second"),
        F.col("type").alias("third"),
    )
    steps = (F.col("first") == "E1") & (F.col("second") == "E2") & (F.col("third") == "E3")
    return before.where(steps & (F.col("c") - F.col("a") < WINDOW)).select("attr1", "a", "b", "c")
