"""Slices of time that overlap by the window, for queries without a key and for hot keys, which have most events.

A slice returns the matches that start in it. So it needs the events up to one window after its end, and, if something
must be absent before the first event, those of one window before it. The length of the slices is computed when the
query runs, from the first and last time of the events, so that defining a query runs no job.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st

from cepheid.spark.names import column_at, column_named
from cepheid.spark.partitioning import SparkPartitioning
from cepheid.spark.worker import SLICE

_LEAST_WINDOWS = 4  # the shortest slice in windows: the overlap is read twice. It must be more than 2 (see _repeated)
_LEAST_TICKS = 64  # the shortest slice in ticks: the number of a slice is shifted by six bits, and must not overflow
_SAMPLE = 0.01  # the fraction of the events in which hot keys are looked for
_LEAST_SAMPLED = 50  # a key with fewer events in the sample may be there by chance
_BITS, _LOW, _HIGH, _COUNT, _TOTAL = (f"__cepheid_{name}" for name in ("bits", "low", "high", "count", "total"))


def ticks_of(df: DataFrame, time: str) -> Column:
    """Return the time column as integers, in the unit that the engine uses."""
    kind = df.schema[time].dataType
    column = column_named(time)
    if isinstance(kind, st.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, st.DateType):
        return F.unix_date(column).cast("long")
    if isinstance(kind, st.TimestampNTZType):
        since = column - F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        units = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000))
        whole = sum((F.extract(F.lit(unit), since).cast("long") * F.lit(micros) for unit, micros in units), F.lit(0))
        return whole + (F.extract(F.lit("SECOND"), since) * F.lit(1_000_000)).cast("long")
    return column.cast("long")


def slice_by_time(df: DataFrame, time: str, partitioning: SparkPartitioning, count: int) -> DataFrame:
    """Cut the events into about `count` slices, each in one task; a row near a border is in two of them."""
    assert partitioning.window is not None
    span = df.agg(F.min(ticks_of(df, time)).alias(_LOW), F.max(ticks_of(df, time)).alias(_HIGH))
    bits = span.select(_bits(_span() / F.lit(count), partitioning).alias(_BITS))
    sliced = _repeated(df.crossJoin(F.broadcast(bits)), ticks_of(df, time), partitioning).drop(_BITS)
    number = F.shiftright(SLICE, 6)
    if hasattr(sliced, "repartitionById"):  # since Spark 4.1; a hash could put neighbouring slices into one task
        return sliced.repartitionById(count, F.pmod(number, F.lit(count)).cast("int"))
    return sliced.repartition(count, number)


def slice_hot_keys(
    df: DataFrame, time: str, partitioning: SparkPartitioning, count: int, partitions: int | None
) -> DataFrame:
    """Partition the events by key, and those of hot keys by slice as well. Hot keys are found in a sample.

    count: a key is hot if it has more than twice the events that a slice would have, were there so many slices.
    """
    assert partitioning.window is not None
    keys = {f"__cepheid_key{k}": column_at(path) for k, path in enumerate(partitioning.key)}
    named = [key.alias(name) for name, key in keys.items()]
    sample = df.select(*named, ticks_of(df, time).alias(_LOW)).sample(fraction=_SAMPLE, seed=7)
    counts = sample.groupBy(*keys).agg(
        F.count(F.lit(1)).alias(_COUNT), F.min(_LOW).alias(_LOW), F.max(_LOW).alias(_HIGH)
    )
    total = counts.agg(F.sum(_COUNT).alias(_TOTAL))
    hot = counts.crossJoin(F.broadcast(total)).where(
        (F.col(_COUNT) * F.lit(count) > F.col(_TOTAL) * F.lit(2)) & (F.col(_COUNT) > F.lit(_LEAST_SAMPLED))
    )
    share = _span() * F.col(_TOTAL) / (F.col(_COUNT) * F.lit(2 * count))
    hot = hot.select(*keys, _bits(share, partitioning).alias(_BITS))
    agree = [key.eqNullSafe(F.col(name)) for name, key in keys.items()]
    # All hot keys have slices of one length: they may share a task, which distinguishes slices by code only.
    hot = hot.withColumn(_BITS, F.max(_BITS).over(Window.partitionBy(F.lit(1))))
    joined = df.join(F.broadcast(hot), agree, "left").drop(*keys)
    sliced = _repeated(joined, ticks_of(df, time), partitioning).drop(_BITS)
    return repartition_by(sliced, partitions, [*keys.values(), F.col(SLICE)])


def repartition_by(df: DataFrame, partitions: int | None, columns: Sequence[Column]) -> DataFrame:
    """Put rows that agree on some columns into one task. Without a number Spark coalesces small tasks itself."""
    return df.repartition(*columns) if partitions is None else df.repartition(partitions, *columns)


def _span() -> Column:
    """Return the distance of first and last time as a double, because that of two longs may exceed a long."""
    return F.col(_HIGH).cast("double") - F.col(_LOW).cast("double")


def _bits(length: Column, partitioning: SparkPartitioning) -> Column:
    """Return the bits of a slice's length, which is a power of two: one integer can then code its number and length."""
    assert partitioning.window is not None
    least = max(_LEAST_WINDOWS * max(partitioning.window, partitioning.lookback), _LEAST_TICKS)
    return F.least(F.ceil(F.log2(F.greatest(length, F.lit(float(least))))), F.lit(62)).cast("int")


def _repeated(df: DataFrame, at: Column, partitioning: SparkPartitioning) -> DataFrame:
    """Repeat each event for every slice that needs it; an event without slices gets one row with a NULL slice."""
    assert partitioning.window is not None
    # A time near the limits of a long cannot be moved by a window: it stays where it is.
    first = F.coalesce(F.try_subtract(at, F.lit(partitioning.window)), at)
    last = F.coalesce(F.try_add(at, F.lit(partitioning.lookback)), at)
    bits = F.col(_BITS)
    code, next_code = (_code(time, bits) for time in (first, last))
    # A slice is longer than two windows, so at most two slices need an event. A higher-order function on arrays would
    # be shorter, but Spark does not compile the stage then.
    codes = F.when(code == next_code, F.array(code)).otherwise(F.array(code, next_code))
    none = F.array(F.lit(None).cast("long"))  # also for a NULL time, which the engine reports
    return df.withColumn(SLICE, F.explode(F.when(bits.isNull() | at.isNull(), none).otherwise(codes)))


def _code(time: Column, bits: Column) -> Column:
    """Return the code of the slice that a time is in. PySpark's `shiftright` takes only constant distances."""
    return F.shiftleft(F.call_function("shiftright", time, bits), 6).bitwiseOR(bits.cast("long"))
