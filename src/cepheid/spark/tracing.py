"""`trace` and `why_not` of batch DataFrames: on some events, collected on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_, or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from cepheid.api import Query
from cepheid.api.hosting import check_limit
from cepheid.diagnosis.expected import WhyNot
from cepheid.diagnosis.named_rows import CODE, items_of
from cepheid.diagnosis.trace import Trace
from cepheid.errors import UsageError, did_you_mean
from cepheid.spark.collected import COLLECTED, batch_job, collect, first_events
from cepheid.spark.job import Job
from cepheid.spark.names import column_at, column_named

_KEY = "__cepheid_key{}"


def trace(df: DataFrame, query: Query, *, limit: int | None = 10_000) -> Trace:
    """Show what the runs of a query do on the first events of a batch DataFrame.

    At most 100,000 events are collected, the first ones by their time. limit: the maximum number of rows; None: all.
    """
    check_limit(limit)
    remedy = "trace a batch of the same data, such as q.trace(spark.read.parquet(…)), or a session: session(trace=1000)"
    job = batch_job(df, query, "traced", remedy)
    few = first_events(job, job.events, COLLECTED)
    steps = query.trace(few, limit=limit)
    if few.num_rows < COLLECTED:
        return steps
    return replace(steps, events=steps.events - few.num_rows + df.count())


def why_not(df: DataFrame, query: Query, rows: Mapping[str, object]) -> WhyNot:
    """Say why some rows of a batch DataFrame are not a match.

    rows: of each variable a dict of columns that only one event has; of a closure, a list of them. All events with the
    keys of these are collected, or all events if the query has no key.
    """
    job = batch_job(df, query, "asked", "ask a batch of the same data, such as q.why_not(spark.read.parquet(…), …)")
    named = {variable: _as_dicts(named_rows) for variable, named_rows in rows.items()}
    chosen = _of_keys(job, [item for named_rows in named.values() for item in items_of(named_rows)])
    few = collect(job, chosen.limit(COLLECTED + 1))
    if few.num_rows > COLLECTED:
        whose = "of these keys" if job.partitioning.key else "in the DataFrame"
        message = f"there are more than {COLLECTED:,} events {whose}, too many to collect"
        raise UsageError(CODE, message, "pass fewer events, such as q.why_not(df.where('ts >= …'), …)")
    return query.why_not(few, **{name: _as_collected(few.schema, named_rows) for name, named_rows in named.items()})


def _as_dicts(named: object) -> object:
    """Rows of Spark as dicts; other things as they are."""
    if isinstance(named, Row):
        return named.asDict(recursive=True)
    return [_as_dicts(row) for row in named] if isinstance(named, list | tuple) else named


def _as_collected(schema: pa.Schema, named: object) -> object:
    """Times without a zone, which pyspark takes for those of this machine, as the collected events have them."""
    if isinstance(named, list):
        return [_as_collected(schema, row) for row in named]
    if not isinstance(named, Mapping):
        return named
    zoned = {field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.tz is not None}
    return {
        name: value.astimezone() if name in zoned and isinstance(value, datetime) and value.tzinfo is None else value
        for name, value in named.items()
    }


def _of_keys(job: Job, items: list[object]) -> DataFrame:
    """The events with the keys of those that are named."""
    named = reduce(or_, [_is_named(job, item) for item in items], F.lit(False))
    key = job.partitioning.key
    if not key:
        return job.events
    keys = [column_at(path).alias(_KEY.format(number)) for number, path in enumerate(key)]
    wanted = job.events.where(named).select(*keys).distinct()
    equal = [column_at(path).eqNullSafe(F.col(_KEY.format(number))) for number, path in enumerate(key)]
    return job.events.join(F.broadcast(wanted), reduce(and_, equal), "left_semi")


def _is_named(job: Job, item: object) -> Column:
    """Whether a row has the columns of a dict."""
    if not isinstance(item, Mapping) or not item:
        message = f"{item!r} names no row: those of a DataFrame have no numbers"
        raise UsageError(CODE, message, "pass a dict of columns that only one event has, such as {'id': 7}")
    for name in item:
        if name not in job.events.columns:
            remedy = did_you_mean(str(name), job.events.columns, "columns")
            raise UsageError(CODE, f"the events have no column '{name}'", remedy)
    types = {field.name: field.dataType for field in job.events.schema}
    tests = [column_named(name).eqNullSafe(F.lit(v)) for name, v in item.items() if _is_comparable(v, types[name])]
    return reduce(and_, tests, F.lit(True))


def _is_comparable(value: object, type_: DataType) -> bool:
    """Whether Spark compares a value with a column as we do. It may cast others, or fail; the collected rows decide."""
    match value:
        case str():
            return isinstance(type_, StringType)
        case bool():
            return isinstance(type_, BooleanType)
        case int() | float() | Decimal():
            return isinstance(type_, NumericType)
        case datetime():
            return isinstance(type_, TimestampType | TimestampNTZType)
        case date():
            return isinstance(type_, DateType)
    return value is None
