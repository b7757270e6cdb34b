"""Queries on batch DataFrames: how Spark partitions and sorts the events before its Python workers match them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import CepheidWarning, UsageError, warn
from cepheid.spark.checks import check_workers
from cepheid.spark.event_watch import tapped_events
from cepheid.spark.introspect import estimated_bytes, is_plain_read, parallelism
from cepheid.spark.job import Job
from cepheid.spark.names import column_at, column_named, rename_for_python
from cepheid.spark.parquet import DirectScan, find_direct_scan, match_files
from cepheid.spark.peek import warn_of_first_events
from cepheid.spark.schemas import spark_schema
from cepheid.spark.slices import repartition_by, slice_by_time, slice_hot_keys, ticks_of
from cepheid.spark.unmet import unmet_report
from cepheid.spark.worker import HORIZON, SLICE, match_in_order, match_in_slices

_NET = "__cepheid_net"

WORTH_A_SAMPLE = 1 << 30
"""Bytes of input from which on hot keys are looked for: that costs one more scan, and a lookup for each row."""


def match(job: Job) -> DataFrame:
    """Return the matches as a DataFrame."""
    check_workers(job.df)
    looked_at = warn_of_first_events(job)
    direct = direct_scan(job)
    if isinstance(direct, DirectScan):
        return match_files(job, direct)
    events, tap = (job.events, None) if looked_at else tapped_events(job)
    events, partitioning = with_horizon(job, events), job.partitioning
    if partitioning.key and why_keys_are_whole(job):
        placed = repartition_by(events, job.options.partitions, list(map(column_at, partitioning.key)))
    elif partitioning.key:
        placed = slice_hot_keys(events, job.time, partitioning, slice_count(job), job.options.partitions)
    elif partitioning.window is not None:
        placed = slice_by_time(events, job.time, partitioning, slice_count(job))
    else:
        message = f"the query runs in one task, in order: it has no key, and {partitioning.not_by_time}"
        warn(CepheidWarning("CEP010", message, partitioning.remedy))
        placed = events.repartition(1)
    sliced = SLICE in placed.columns
    order = [F.col(SLICE), column_named(job.time)] if sliced else [column_named(job.time)]
    function = (match_in_slices if sliced else match_in_order)(job.worker_query, unmet_report(job))
    if tap is not None:
        function = tap.on(function)
    rows = rename_for_python(placed.sortWithinPartitions(*order))
    return rows.mapInArrow(function, spark_schema(job.worker_query.match_schema))


def with_horizon(job: Job, events: DataFrame) -> DataFrame:
    """Events, with the last time of all rows where an absence must not be cut short by the end of the input."""
    if job.options.open:
        return events if job.until is None else events.withColumn(HORIZON, F.lit(job.until).cast("long"))
    rows = job.whole if job.options.op is None else _left(job.whole, job.options.op)
    last = F.max(ticks_of(rows, job.time))
    known = last if job.until is None else F.least(last, F.lit(job.until))
    return events.crossJoin(F.broadcast(rows.agg(known.alias(HORIZON))))


def _left(df: DataFrame, op: str) -> DataFrame:
    """Return the rows that are left of insertions and retractions, each once."""
    columns = [column_named(name) for name in df.columns if name != op]
    signs = F.when(column_named(op).startswith("+"), F.lit(1)).otherwise(F.lit(-1))
    return df.groupBy(*columns).agg(F.sum(signs).alias(_NET)).where(F.col(_NET) > 0)


def why_keys_are_whole(job: Job) -> str:
    """Return why no key is split by time; an empty string if keys with too many events are."""
    if job.partitioning.window is None:
        return job.partitioning.not_by_time
    if job.options.skew is False:
        return "switched off by skew=False"
    if job.options.skew is None and not is_plain_read(job.df):
        return "the DataFrame is computed, and sampling it would compute it twice (skew=True samples it)"
    if job.options.skew is None and estimated_bytes(job.df) < WORTH_A_SAMPLE:
        size = f"{WORTH_A_SAMPLE >> 30} GB"
        return f"the input is smaller than {size}, so that any key fits into a task (skew=True looks for hot keys)"
    return ""


def direct_scan(job: Job) -> DirectScan | str:
    """Return the Parquet files that tasks can read themselves, or the reason why Spark reads."""
    requested = job.options.direct
    if requested is False:
        return "switched off by direct=False"
    if not job.options.open or job.until is not None:
        scan: DirectScan | str = "open=False needs the last time of all rows, which Spark finds"
    else:
        scan = find_direct_scan(job) if job.partitioning.key else "the query has no key"
    if requested and isinstance(scan, str):
        remedy = "leave direct out: Spark's own scan then reads the files"
        raise UsageError("CEP909", f"direct=True, but {scan}", remedy)
    return scan


def slice_count(job: Job) -> int:
    """Return into about how many slices of time the events are cut: several for each core."""
    if job.options.partitions is not None:
        return job.options.partitions
    return 4 * parallelism(job.df)
