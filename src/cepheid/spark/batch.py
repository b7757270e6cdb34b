"""Batch: what Spark does with the events before they reach the engine in its Python workers."""

from __future__ import annotations

import warnings

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import CepheidWarning, UsageError
from cepheid.spark import parquet
from cepheid.spark.logical import is_plain_read, parallelism, size
from cepheid.spark.names import crossing, named
from cepheid.spark.prepare import Prepared
from cepheid.spark.schemas import spark_schema
from cepheid.spark.slices import by_time, hot_by_time, placed_by
from cepheid.spark.work import SLICE, in_order, in_slices

WORTH_A_SAMPLE = 1 << 30
"""Bytes of input from which on hot keys are looked for: it takes one more scan, and each row is looked up."""


def match(prepared: Prepared) -> DataFrame:
    """The matches as a DataFrame."""
    direct = direct_scan(prepared)
    if isinstance(direct, parquet.Direct):
        return parquet.run(prepared, direct)
    events, split = prepared.events, prepared.split
    if split.key and why_keys_are_whole(prepared):
        placed = placed_by(events, prepared.options.partitions, [named(name) for name in split.key])
    elif split.key:
        placed = hot_by_time(events, prepared.time, split, parts(prepared), prepared.options.partitions)
    elif split.window is not None:
        placed = by_time(events, prepared.time, split, parts(prepared))
    else:
        message = f"the query runs in one task, in order: it has no key, and {split.unsliced}"
        warnings.warn(f"{message}; add [attr], PARTITION BY or WITHIN", CepheidWarning, stacklevel=4)
        placed = events.repartition(1)
    sliced = SLICE in placed.columns
    order = [F.col(SLICE), named(prepared.time)] if sliced else [named(prepared.time)]
    function = in_slices(prepared.work) if sliced else in_order(prepared.work)
    return crossing(placed.sortWithinPartitions(*order)).mapInArrow(function, spark_schema(prepared.work.given))


def why_keys_are_whole(prepared: Prepared) -> str:
    """Why no key is split by time; nothing where those with too many events are."""
    if prepared.split.window is None:
        return prepared.split.unsliced
    if prepared.options.skew is False:
        return "switched off by skew=False"
    if prepared.options.skew is None and not is_plain_read(prepared.df):
        return "the DataFrame is computed, and a sample would compute it twice (skew=True: do so)"
    if prepared.options.skew is None and size(prepared.df) < WORTH_A_SAMPLE:
        return (
            f"less than {WORTH_A_SAMPLE >> 30} GB, so that a task can have all of a key (skew=True: look for hot ones)"
        )
    return ""


def direct_scan(prepared: Prepared) -> parquet.Direct | str:
    """The Parquet files that tasks can read by themselves, or why they don't."""
    wanted = prepared.options.direct
    if wanted is False:
        return "switched off by direct=False"
    if not prepared.split.key:
        found: parquet.Direct | str = "the query has no key"
    else:
        found = parquet.find(prepared)
    if wanted and isinstance(found, str):
        remedy = "leave direct out: Spark's own scan then reads the files"
        raise UsageError("CEP909", f"direct=True, but {found}", remedy)
    return found


def parts(prepared: Prepared) -> int:
    """How many parts of the events there are, several for each core."""
    if prepared.options.partitions is not None:
        return prepared.options.partitions
    return 4 * parallelism(prepared.df)
