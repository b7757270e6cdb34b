"""The bucket of each event, as Spark computes it: an event that no rule can need is dropped before the shuffle."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepheid.spark.job import after_watermark
from cepheid.spark.many.split import RuleSplit
from cepheid.spark.many.steady import hash_of
from cepheid.spark.names import column_named
from cepheid.spark.stream.buckets import bucket_of
from cepheid.spark.worker import SLICE

_VALUE, _BUCKET = "__cepheid_value", "__cepheid_bucket"


def placed(df: DataFrame, ways: Sequence[RuleSplit], events: pa.Schema) -> DataFrame:
    """The events with the column of their bucket; an event is there once for each way that needs it."""
    names = [column_named(name) for name in df.columns]
    places: list[Column] = []
    for number, way in enumerate(ways):
        if way.column is not None:
            df = _with_values(df, way, number, needed=len(ways) == 1)
            places.append(F.array(F.col(f"{_BUCKET}{number}")))
        elif way.key:
            places.append(F.array(bucket_of(events, way.key, way.buckets) + F.lit(way.first)))
        else:
            places.append(F.array(*(F.lit(way.first + k) for k in range(way.buckets))))
    if len(ways) == 1 and (ways[0].key or ways[0].column is not None or ways[0].buckets == 1):
        return df.select(*names, places[0][0].alias(SLICE))
    every = F.explode(F.array_compact(F.concat(*places))) if ways else F.explode(F.array().cast("array<int>"))
    return df.select(*names, every.alias(SLICE))


def _with_values(df: DataFrame, way: RuleSplit, number: int, *, needed: bool) -> DataFrame:
    """The events with the bucket of a value. needed: events without one are dropped."""
    assert way.column is not None
    assert way.values is not None
    value, bucket = f"{_VALUE}{number}", f"{_BUCKET}{number}"
    values = df.sparkSession.createDataFrame(way.values.rename_columns([value, bucket]))
    column = column_named(way.column)
    wanted = column.cast("long") if pa.types.is_integer(way.values.schema.field("value").type) else column
    joined = df.join(F.broadcast(values), wanted == F.col(value), "inner" if needed else "left")
    return joined.drop(value)


def with_buckets(df: DataFrame, ways: Sequence[RuleSplit], events: pa.Schema, time: str, *, drop: bool) -> DataFrame:
    """The events of a stream, then for each way a column with the bucket; NULL where an event matters to no rule of it.

    Ways that send every event to every bucket have no column.

    drop: leave out events that have a value which no rule asks for.
    """
    names = [column_named(name) for name in df.columns]
    places: list[Column] = []
    for number, way in enumerate(ways):
        if way.column is not None:
            place = F.pmod(hash_of(column_named(way.column)), F.lit(way.buckets)) + F.lit(way.first)
            if drop:
                value = F.col(f"{_VALUE}{number}")
                df = _with_value(df, way, value, number)
                place = F.when(value.isNotNull(), place)
            places.append(place.cast("int").alias(bucket_column(number)))
        elif way.key:
            place = bucket_of(events, way.key, way.buckets) + F.lit(way.first)
            places.append(place.alias(bucket_column(number)))
    rows = df.select(*names, *places)
    if not drop or any(way.column is None for way in ways) or not ways:
        return rows
    needed = F.coalesce(*(F.col(bucket_column(number)) for number in range(len(ways)))).isNotNull()
    return rows.where(after_watermark(needed, time))


def bucket_column(number: int) -> str:
    """The column with the buckets of a way."""
    return f"{_BUCKET}{number}"


def _with_value(df: DataFrame, way: RuleSplit, value: Column, number: int) -> DataFrame:
    """The events with the value that rules ask for, or NULL."""
    if way.values is None or not len(way.values):
        return df.withColumn(f"{_VALUE}{number}", F.lit(None).cast("string"))
    values = df.sparkSession.createDataFrame(way.values.rename_columns([f"{_VALUE}{number}"]))
    assert way.column is not None
    column = column_named(way.column)
    wanted = column.cast("long") if pa.types.is_integer(way.values.schema.field("value").type) else column
    return df.join(F.broadcast(values), wanted == value, "left")


def in_tasks(df: DataFrame, count: int) -> DataFrame:
    """Each bucket in a task."""
    if hasattr(df, "repartitionById"):  # since Spark 4.1; a hash could put two buckets into one task
        return df.repartitionById(count, F.col(SLICE))
    return df.repartition(count, F.col(SLICE))


def in_order(df: DataFrame, time: str) -> DataFrame:
    """The rows of a task by bucket or slice, then by time."""
    return df.sortWithinPartitions(F.col(SLICE), column_named(time))
