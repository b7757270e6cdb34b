"""Some events of a batch DataFrame, collected on the driver."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.api import Query
from cepheid.errors import UsageError
from cepheid.spark.job import Job, make_job
from cepheid.spark.names import column_named
from cepheid.spark.options import read_options
from cepheid.spark.worker import conform

COLLECTED = 100_000
"""Events that are collected by default."""


def batch_job(df: DataFrame, query: Query, what: str, remedy: str) -> Job:
    """Validate a query against a batch DataFrame. what: what is done with it, for the error where it is a stream."""
    if df.isStreaming:
        raise UsageError("CEP603", f"a stream can't be {what}: it has no end", remedy)
    return make_job(df, query, read_options({"pushdown": False}))


def first_events(job: Job, rows: DataFrame, most: int) -> pa.Table:
    """The first rows by their time."""
    return collect(job, rows.orderBy(column_named(job.time)).limit(most))


def collect(job: Job, rows: DataFrame) -> pa.Table:
    """Collect some rows on the driver, in the types that a worker reads."""
    return conform(rows.toArrow(), job.worker_query.event_schema)
