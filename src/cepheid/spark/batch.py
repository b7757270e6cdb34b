"""Batch: what Spark does with the events before they reach the engine in its Python workers."""

from __future__ import annotations

import warnings

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import CepheidWarning, UsageError
from cepheid.spark import parquet
from cepheid.spark.introspect import is_plain_read, parallelism, size
from cepheid.spark.job import Job
from cepheid.spark.names import crossing, named
from cepheid.spark.schemas import spark_schema
from cepheid.spark.slices import by_time, hot_by_time, placed_by
from cepheid.spark.worker import SLICE, in_order, in_slices

WORTH_A_SAMPLE = 1 << 30
"""Bytes of input from which on hot keys are looked for: it takes one more scan, and each row is looked up."""


def match(job: Job) -> DataFrame:
    """The matches as a DataFrame."""
    direct = direct_scan(job)
    if isinstance(direct, parquet.Direct):
        return parquet.run(job, direct)
    events, partitioning = job.events, job.partitioning
    if partitioning.key and why_keys_are_whole(job):
        placed = placed_by(events, job.options.partitions, [named(name) for name in partitioning.key])
    elif partitioning.key:
        placed = hot_by_time(events, job.time, partitioning, parts(job), job.options.partitions)
    elif partitioning.window is not None:
        placed = by_time(events, job.time, partitioning, parts(job))
    else:
        message = f"the query runs in one task, in order: it has no key, and {partitioning.not_by_time}"
        warnings.warn(f"{message}; add [attr], PARTITION BY or WITHIN", CepheidWarning, stacklevel=4)
        placed = events.repartition(1)
    sliced = SLICE in placed.columns
    order = [F.col(SLICE), named(job.time)] if sliced else [named(job.time)]
    function = in_slices(job.worker_query) if sliced else in_order(job.worker_query)
    return crossing(placed.sortWithinPartitions(*order)).mapInArrow(
        function, spark_schema(job.worker_query.match_schema)
    )


def why_keys_are_whole(job: Job) -> str:
    """Why no key is split by time; nothing where those with too many events are."""
    if job.partitioning.window is None:
        return job.partitioning.not_by_time
    if job.options.skew is False:
        return "switched off by skew=False"
    if job.options.skew is None and not is_plain_read(job.df):
        return "the DataFrame is computed, and a sample would compute it twice (skew=True: do so)"
    if job.options.skew is None and size(job.df) < WORTH_A_SAMPLE:
        return (
            f"less than {WORTH_A_SAMPLE >> 30} GB, so that a task can have all of a key (skew=True: look for hot ones)"
        )
    return ""


def direct_scan(job: Job) -> parquet.Direct | str:
    """The Parquet files that tasks can read by themselves, or why they don't."""
    wanted = job.options.direct
    if wanted is False:
        return "switched off by direct=False"
    if not job.partitioning.key:
        found: parquet.Direct | str = "the query has no key"
    else:
        found = parquet.find(job)
    if wanted and isinstance(found, str):
        remedy = "leave direct out: Spark's own scan then reads the files"
        raise UsageError("CEP909", f"direct=True, but {found}", remedy)
    return found


def parts(job: Job) -> int:
    """How many parts of the events there are, several for each core."""
    if job.options.partitions is not None:
        return job.options.partitions
    return 4 * parallelism(job.df)
