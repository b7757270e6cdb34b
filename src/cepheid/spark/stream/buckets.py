"""Which bucket an event belongs to, and which slot Spark groups a bucket's events by."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.pattern.expressions.paths import Path
from cepheid.spark.job import Job
from cepheid.spark.names import column_at

MOST_BUCKETS = 64
"""The number of buckets is at most this, unless the user asks for more."""

CONTROL = 0
"""The slot without events. Every micro-batch has it, so that the checkpoint of another stream is refused at once."""


def bucket_count(job: Job) -> int:
    """Return the number of buckets: one for each task of the stateful operator, as each costs a call and its state."""
    if not job.partitioning.key:
        return 1
    tasks = int(job.df.sparkSession.conf.get("spark.sql.shuffle.partitions") or MOST_BUCKETS)
    return job.options.buckets or min(MOST_BUCKETS, tasks)


def bucket_of(events: pa.Schema, key: tuple[Path, ...], buckets: int) -> Column:
    """Return the bucket of an event. Keys that are equal to the engine have the same, such as 0.0 and -0.0."""
    if not key:
        return F.lit(0)
    columns = []
    for path in key:
        column = column_at(path)
        if pa.types.is_floating(_type_at(events, path)):
            column = F.when(F.isnan(column), F.lit(float("nan"))).otherwise(column + F.lit(0.0))  # -0.0 becomes 0.0
        columns.append(column)
    return F.pmod(F.xxhash64(*columns), F.lit(buckets)).cast("int")


def _type_at(events: pa.Schema, path: Path) -> pa.DataType:
    arrow = events.field(path[0]).type
    for name in path[1:]:
        arrow = arrow.field(name).type
    return arrow


def slot(bucket: int) -> int:
    """Return the integer whose hash in Spark is the bucket's number.

    Spark assigns groups to partitions by that hash, so grouping by slot spreads the buckets evenly. The hash is Murmur3
    with the seed 42; this function inverts it step by step.
    """
    value = bucket & _ALL
    value ^= value >> 16
    value = value * pow(0xC2B2AE35, -1, 2**32) & _ALL
    value ^= (value >> 13) ^ (value >> 26)
    value = value * pow(0x85EBCA6B, -1, 2**32) & _ALL
    value ^= value >> 16
    value = ((value ^ 4) - 0xE6546B64) * pow(5, -1, 2**32) & _ALL
    value = (value >> 13 | value << 19) & _ALL
    value = (value ^ 42) * pow(0x1B873593, -1, 2**32) & _ALL
    value = (value >> 15 | value << 17) & _ALL
    value = value * pow(0xCC9E2D51, -1, 2**32) & _ALL
    return value - 2**32 if value >= 2**31 else value


_ALL = 2**32 - 1
