"""Matches that are still in the checkpoint of a stream that has stopped, of one query or of many."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepheid.api import Queries, Query
from cepheid.spark.many.stream import pending_many
from cepheid.spark.stream import pending as pending_of_query


def pending(spark: SparkSession, query: Query | Queries, checkpoint: str, **options: Any) -> DataFrame:
    """Return what would match if a stream ended where its checkpoint is.

    These are matches with events that the watermark has not passed, and absences whose window is still open.
    The checkpoint is only read: the stream can be started again, and then returns these matches itself.
    Of a stream with `speculate` they are changes, which belong to those that it has returned.

    output: the query of a program, or the template of many queries, whose matches are returned.
    long: of one query: one row for each event of a match.
    migrate: of one query: whether the state may be that of a query with another RETURN or other constants.
    own: of many queries: with the columns that their matches have, which then must be the same for all of them.
    """
    if isinstance(query, Queries):
        return pending_many(spark, query, checkpoint, **options)
    return pending_of_query(spark, query, checkpoint, **options)
