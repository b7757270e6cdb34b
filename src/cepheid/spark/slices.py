"""Time in slices that overlap by the window, for queries without a key and for keys that have most of the events.

A slice gives the matches that start in it, so it needs the events up to a window after its end, and, where something
must be absent before the first event, those of a window before it. How long slices are is found while the query runs,
from the first and last time of the events: nothing runs when it is defined.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as st

from cepheid.spark.names import named, quoted
from cepheid.spark.partitioning import Partitioning
from cepheid.spark.worker import SLICE

_LEAST = 4  # a slice is so many windows long at least: the overlap is read twice. Three would do (see _numbered)
_SHORTEST = 64  # ticks: the number of a slice is kept with six more bits
_SAMPLE = 0.01
_ENOUGH = 50  # events of a key in the sample, below which chance decides
_BITS, _LOW, _HIGH, _COUNT, _TOTAL = (f"__cepheid_{name}" for name in ("bits", "low", "high", "count", "total"))


def ticks_of(df: DataFrame, time: str) -> Column:
    """A time column as the whole numbers that the engine counts in."""
    kind = df.schema[time].dataType
    found = named(time)
    if isinstance(kind, st.TimestampType):
        return F.unix_micros(found)
    if isinstance(kind, st.DateType):
        return F.unix_date(found).cast("long")
    if isinstance(kind, st.TimestampNTZType):
        since = found - F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        parts = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000))
        whole = sum((F.extract(F.lit(unit), since).cast("long") * F.lit(micros) for unit, micros in parts), F.lit(0))
        return whole + (F.extract(F.lit("SECOND"), since) * F.lit(1_000_000)).cast("long")
    return found.cast("long")


def by_time(df: DataFrame, time: str, partitioning: Partitioning, parts: int) -> DataFrame:
    """The rows of each slice of the whole stream, to be run side by side; a row near a border is there twice."""
    assert partitioning.window is not None
    span = df.agg(F.min(ticks_of(df, time)).alias(_LOW), F.max(ticks_of(df, time)).alias(_HIGH))
    bits = span.select(_bits(_span() / F.lit(parts), partitioning.window).alias(_BITS))
    sliced = _numbered(df.crossJoin(F.broadcast(bits)), ticks_of(df, time), partitioning).drop(_BITS)
    number = F.shiftright(SLICE, 6)
    if hasattr(sliced, "repartitionById"):  # since Spark 4.1: neighbours never meet in one task by chance
        return sliced.repartitionById(parts, F.pmod(number, F.lit(parts)).cast("int"))
    return sliced.repartition(parts, number)


def hot_by_time(df: DataFrame, time: str, partitioning: Partitioning, parts: int, partitions: int | None) -> DataFrame:
    """Rows by key; of keys that have more events than a task should, also by slice. Such keys are found in a sample."""
    assert partitioning.window is not None
    names = [quoted(name) for name in partitioning.key]
    sample = df.select(*names, ticks_of(df, time).alias(_LOW)).sample(fraction=_SAMPLE, seed=7)
    counts = sample.groupBy(*names).agg(
        F.count(F.lit(1)).alias(_COUNT), F.min(_LOW).alias(_LOW), F.max(_LOW).alias(_HIGH)
    )
    total = counts.agg(F.sum(_COUNT).alias(_TOTAL))
    # Twice what a task would have if all had the same, and enough in the sample to tell.
    hot = counts.crossJoin(F.broadcast(total)).where(
        (F.col(_COUNT) * F.lit(parts) > F.col(_TOTAL) * F.lit(2)) & (F.col(_COUNT) > F.lit(_ENOUGH))
    )
    share = _span() * F.col(_TOTAL) / (F.col(_COUNT) * F.lit(2 * parts))
    renamed = [F.col(name).alias(f"__cepheid_key{k}") for k, name in enumerate(names)]
    hot = hot.select(*renamed, _bits(share, partitioning.window).alias(_BITS))
    agree = [F.col(name).eqNullSafe(F.col(f"__cepheid_key{k}")) for k, name in enumerate(names)]
    # Slices of all hot keys are of one length: they may meet in a task, whose slices are told apart by number only.
    hot = hot.withColumn(_BITS, F.max(_BITS).over(Window.partitionBy(F.lit(1))))
    joined = df.join(F.broadcast(hot), agree, "left").drop(*(f"__cepheid_key{k}" for k in range(len(names))))
    sliced = _numbered(joined, ticks_of(df, time), partitioning).drop(_BITS)
    return placed_by(sliced, partitions, [*map(F.col, names), F.col(SLICE)])


def placed_by(df: DataFrame, partitions: int | None, columns: Sequence[Column]) -> DataFrame:
    """Rows that agree on some columns in one task; without a number Spark joins small tasks by itself."""
    return df.repartition(*columns) if partitions is None else df.repartition(partitions, *columns)


def _span() -> Column:
    """As a double: two whole numbers may lie further apart than a whole number tells."""
    return F.col(_HIGH).cast("double") - F.col(_LOW).cast("double")


def _bits(length: Column, window: int) -> Column:
    """Slices are a power of two long: one number then says which slice it is and how long."""
    least = max(_LEAST * window, _SHORTEST)
    return F.least(F.ceil(F.log2(F.greatest(length, F.lit(float(least))))), F.lit(62)).cast("int")


def _numbered(df: DataFrame, at: Column, partitioning: Partitioning) -> DataFrame:
    """A row for each slice that needs the event; where there are no slices, one without a number."""
    assert partitioning.window is not None
    # A time near the ends of what a number holds can't be moved by a window: it stays where it is.
    first = F.coalesce(F.try_subtract(at, F.lit(partitioning.window)), at)
    last = F.coalesce(F.try_add(at, F.lit(partitioning.lookback)), at)
    bits = F.col(_BITS)
    own, other = (_code(time, bits) for time in (first, last))
    # A slice is longer than twice the window, so that an event is needed by two of them at most. A function over an
    # array would say this shorter, and would keep Spark from compiling the whole stage.
    codes = F.when(own == other, F.array(own)).otherwise(F.array(own, other))
    none = F.array(F.lit(None).cast("long"))  # also for a time that is NULL: the engine tells of it
    return df.withColumn(SLICE, F.explode(F.when(bits.isNull() | at.isNull(), none).otherwise(codes)))


def _code(time: Column, bits: Column) -> Column:
    """The slice that a time is in. Python's function shifts by constant distances only."""
    return F.shiftleft(F.call_function("shiftright", time, bits), 6).bitwiseOR(bits.cast("long"))
