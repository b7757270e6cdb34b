"""The entry points for Spark: a batch DataFrame leads to a batch DataFrame, a stream to a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from cepheid.api import Query
from cepheid.errors import UsageError
from cepheid.explain import Explanation
from cepheid.spark import batch, stream
from cepheid.spark.describe import describe
from cepheid.spark.flow_graph import flow_graph
from cepheid.spark.job import make_job
from cepheid.spark.options import NAMES, read_options
from cepheid.spark.outputs import match_schema
from cepheid.spark.schemas import events_schema, spark_schema


def match(df: DataFrame, query: Query, **options: object) -> DataFrame:
    """Return the matches of a query in a DataFrame as a DataFrame; fits `df.transform(match, query)`. Nothing runs yet.

    engine, plan: as for events in memory.
    output: the query of a program whose matches are returned, by the name of its INTO; by default the last one.
    partitions: batch: the number of tasks that share the events; by default Spark decides.
    pushdown: whether rows and columns that cannot matter are dropped before they reach Python.
    direct: batch: whether tasks read Parquet files themselves; by default where that is safe.
    skew: batch: whether keys with very many events are also split by time, which needs a sample of the events; by
        default if there is much to read.
    open: batch: whether an absence at the end of a match counts if the last event of the DataFrame is before the end of
        its WITHIN or FOR; a stream never emits such a match.
    late: stream: what happens to late events, which the watermark has passed: "drop" (they are counted) or "error".
    buckets: stream: the number of buckets that the keys are divided among; it is fixed once there is a checkpoint.
    long: return one row for each event of a match, as `Matches.to_long` does, and not one for each match.
    event_time: stream: the name of a column to add, with the time at which a match became certain. It has the watermark
        of the stream, so that operators on event time may follow.
    checkpoint: stream: its checkpoint location, so that a checkpoint of another query is refused at once.
    migrate: stream: whether to go on with the state of a query that has another RETURN or other constants.
    op: the column that says of each row whether it inserts (`+`, `+I`, `+U`) or retracts an event (`-`, `-D`, `-U`).
        It is no column of the events. A batch matches the events that are left; a stream without `speculate` does too,
        as long as they wait for the watermark.
    speculate: stream: how far ahead of the watermark matches are given: "10 minutes", a timedelta, a whole number in
        the unit of the query, or "all" for at once. The rows are then changes: `op` is + for a match that is new and -
        for one that is retracted, and both have the same `match_id`. A match has at most one in a micro-batch.
    sequence: a column that counts the events of a partition by 1, for contiguous queries: no match spans a gap in
        it, so that a stream emits each at once and never retracts it.
    changes: batch: how an automaton changes in the course of the events, as for events in memory.
    control: stream: a streaming DataFrame with the columns id, action, text and at, whose rows change the query while
        it runs. Matches then have a first column `query` with the name of the query that emitted them; the rows
        that were refused are in `cepheid.spark.refusals`.
    """
    read = read_options(options)
    for name in ("event_time", "speculate", "control"):
        if getattr(read, name) is not None and not df.isStreaming:
            remedy = "leave it out" if name != "control" else "leave it out, or pass a list of changes: changes=[…]"
            raise UsageError("CEP603", f"{name} is an option for streams, and this is a batch", remedy)
    if read.changes and df.isStreaming:
        remedy = "leave it out, and send the changes as rows of a control stream: control=df"
        raise UsageError("CEP603", "changes is an option for batches, and this is a stream", remedy)
    job = make_job(df, query, read)
    return stream.match(job) if df.isStreaming else batch.match(job)


def explain(df: DataFrame, query: Query, **options: object) -> Explanation:
    """Explain how a query would run on a DataFrame: what is sent to Python, how it is partitioned, and why."""
    job = make_job(df, query, read_options(options))
    explanation = job.query.explain(job.worker_query.event_schema, plan=job.options.plan)
    text = "\n\n".join([explanation.text, "\n".join(describe(job))])
    return replace(explanation, text=text, graphs=(*explanation.graphs, flow_graph(job)))


def schema(events: st.StructType, query: Query, *, output: str | None = None, long: bool = False) -> st.StructType:
    """Return the columns of a match in events of some schema. Nothing runs."""
    return spark_schema(match_schema(query, events_schema(events, "UTC"), output, long=long))


def sql(spark: SparkSession, text: str, **options: Any) -> DataFrame:
    """Return the matches in the view or table that the FROM of a query names. Takes options of `Query` and `match`."""
    query = Query(text, **{name: value for name, value in options.items() if name not in NAMES})
    streams = (zip(analysed.query.streams, source, strict=False) for analysed, source in query.compiled.flow)
    name = next((stream.name for read in streams for stream, into in read if into is None), None)
    if name is None:
        raise UsageError("CEP910", "the query does not name the view that it reads", "begin it with FROM and a name")
    return match(spark.table(name), query, **{name: value for name, value in options.items() if name in NAMES})
