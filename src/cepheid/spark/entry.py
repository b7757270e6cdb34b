"""A query on a Spark DataFrame: batch in, batch out; a stream in, a stream out."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from cepheid.api import Query
from cepheid.errors import UsageError
from cepheid.explain import Explanation
from cepheid.spark import batch, stream
from cepheid.spark.describe import describe
from cepheid.spark.job import make_job
from cepheid.spark.options import NAMES, read_options
from cepheid.spark.schemas import events_schema, match_schema, spark_schema


def match(df: DataFrame, query: Query, **options: Any) -> DataFrame:
    """The matches of a query in a DataFrame, as a DataFrame; fits `df.transform(match, query)`. Nothing runs yet.

    engine, plan: as for events in memory.
    output: which query of a program, by the name of its INTO; the last one's otherwise.
    partitions: how many tasks the events are split among; Spark's own number otherwise.
    pushdown: whether filters on single events stay in the JVM.
    direct: whether tasks read Parquet files by themselves; None: where that is safe.
    skew: whether keys with very many events are split by time; None: where there is much to read, by one more scan.
    late: what becomes of events of a stream that come after the watermark: "drop" (they are counted) or "error".
    buckets: among how many parts the keys of a stream are divided; it can't be changed once a checkpoint has it.
    """
    job = make_job(df, query, read_options(options))
    return stream.match(job) if df.isStreaming else batch.match(job)


def explain(df: DataFrame, query: Query, **options: Any) -> Explanation:
    """How a query would run on a DataFrame: what crosses into Python, how it is split, and why."""
    job = make_job(df, query, read_options(options))
    own = query.explain(job.worker_query.event_schema, plan=job.options.plan)
    return Explanation("\n\n".join([own.text, "\n".join(describe(job))]), own.sources)


def schema(events: st.StructType, query: Query, *, output: str | None = None) -> st.StructType:
    """The columns of a match over events of a schema, known before running."""
    return spark_schema(match_schema(query, events_schema(events, "UTC"), output))


def sql(spark: SparkSession, text: str, **options: Any) -> DataFrame:
    """The matches of a query over the view or table that its FROM names; options of `Query`, and of `match`."""
    query = Query(text, **{name: value for name, value in options.items() if name not in NAMES})
    pairs = zip(query._analysed, query._sources, strict=True)
    name = next((a.query.source for a, source in pairs if source is None and a.query.source), None)
    if name is None:
        raise UsageError("CEP910", "the query does not say which view it reads", "begin it with FROM and its name")
    return match(spark.table(name), query, **{name: value for name, value in options.items() if name in NAMES})
