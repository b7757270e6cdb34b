"""Many queries on a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cepheid.explain import Explanation
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.expressions.paths import spell
from cepheid.spark.checks import check_workers
from cepheid.spark.introspect import parallelism, spark_context
from cepheid.spark.job import check_key, check_names, session_zone
from cepheid.spark.many.arranged import by_ids
from cepheid.spark.many.columns import common_schema, own_schema
from cepheid.spark.many.job import ManyJob, of_output
from cepheid.spark.many.options import ManyOptions, read_many_options
from cepheid.spark.many.placing import in_order, in_tasks, placed
from cepheid.spark.many.shipped import ship
from cepheid.spark.many.split import Evenly, parts_of, split
from cepheid.spark.many.stream import match_stream, stream_ways
from cepheid.spark.many.worker import ManyWorker, match_in_buckets, match_in_slices
from cepheid.spark.names import rename_for_python
from cepheid.spark.schemas import collated_columns, events_schema, spark_schema
from cepheid.spark.slices import slice_by_time

if TYPE_CHECKING:
    from cepheid.api import Queries


def make_many_job(df: DataFrame, queries: Queries, options: ManyOptions) -> ManyJob:
    """Check queries against a DataFrame. No Spark job runs."""
    options.check(streaming=df.isStreaming)
    check_names(df)
    events = events_schema(df.schema, session_zone(df))
    schema = make_schema(events, queries.options.roles)
    rules = of_output(queries.fitting(schema), options.output)
    collated = collated_columns(df.schema)
    if df.isStreaming:
        rules = by_ids(rules)
        ways = stream_ways(df, queries, rules, schema, options, collated)
    else:
        parts = parts_of(rules, queries.options, schema, collated)
        ways = split(parts, Evenly(options.partitions or parallelism(df)))
    for way in ways:
        check_key(df, events, way.key)
    return ManyJob(df, queries, rules, ways, events, options)


def match_many(df: DataFrame, queries: Queries, **options: object) -> DataFrame:
    """Return the matches of many queries in a DataFrame as a DataFrame. Nothing runs yet.

    A match has the columns `query` (the id), `template`, `match_start`, `match_end` and `events`, an array of the
    variable, the index and the event.

    engine: as for events in memory.
    partitions: the number of tasks that run at the same time; by default as many as Spark has cores.
    output: the name of a template; only its rules run.
    own: whether matches have the columns of their queries instead, which then must be the same for all of them.
    late: stream: what happens to late events, which the watermark has passed: "drop" (they are counted) or "error".
    buckets: stream: the number of buckets that events are divided among; it is fixed once there is a checkpoint.
    checkpoint: stream: its checkpoint location, so that a checkpoint of other rules is refused at once.
    migrate: stream: whether to go on with the state of other rules, compared by id: those that are the same go on, the
        others are removed, or added, after the greatest time so far.
    control: stream: a streaming DataFrame with the columns of the rules, `action` ("add", "remove" or "replace") and
        `at`, whose rows change the rules while the stream runs. What is refused is in `cepheid.spark.refusals`.
    """
    job = make_many_job(df, queries, read_many_options(options))
    own = job.options.own
    columns = own_schema(job.rules, queries.options, job.events) if own else common_schema(job.rules, job.events)
    if df.isStreaming:
        return match_stream(job, columns)
    check_workers(df)
    if not job.ways:
        return df.sparkSession.createDataFrame([], spark_schema(columns))
    shipped = ship(job.rules, job.ways, queries.options, spark_context(df))
    worker = ManyWorker(shipped, job.events, columns, job.options.engine, own)
    time, slices = queries.options.roles.time, job.ways[0].slices
    if slices is not None:
        rows = in_order(slice_by_time(df, time, slices, job.buckets), time)
        return rename_for_python(rows).mapInArrow(match_in_slices(worker), spark_schema(columns))
    rows = in_order(in_tasks(placed(df, job.ways, job.events), job.buckets), time)
    return rename_for_python(rows).mapInArrow(match_in_buckets(worker), spark_schema(columns))


def explain_many(df: DataFrame, queries: Queries, **options: object) -> Explanation:
    """Explain how the events would be divided among tasks, and why."""
    job = make_many_job(df, queries, read_many_options(options))
    head = "Spark stream" if df.isStreaming else "Spark batch"
    return Explanation("\n".join([head, *(f"  {line}" for line in describe(job))]))


def describe(job: ManyJob) -> Iterator[str]:
    """Yield what is done for which rules."""
    ways = job.ways
    for way in ways:
        rules = f"{len(way.numbers):,} rule{'s' * (len(way.numbers) != 1)}"
        buckets = f"{way.buckets} bucket{'s' * (way.buckets != 1)}"
        if way.column is not None and way.values is not None:
            count = f"{len(way.values):,} value{'s' * (len(way.values) != 1)}"
            yield f"{rules}: split by constants, {way.column} has one of {count}: {buckets}, each with its own rules"
            if job.options.control is not None:
                yield "  events with other values are sent too: rules may come that ask for them"
            elif len(ways) == 1:
                yield "  events with other values are dropped before the shuffle"
        elif way.key:
            names = ", ".join(path[0] if len(path) == 1 else spell(path) for path in way.key)
            whole = "a key of all rules" if len(ways) == 1 else "a key of these rules"
            yield f"{rules}: split by key, {names}, {whole}: {buckets}, each with all of them"
        elif way.slices is not None:
            yield f"{rules}: no key: split by time into about {way.buckets} slices, which overlap by the longest window"
        else:
            yield f"{rules}: no key and no constants that every event must have: all events go to {buckets} of rules"
    if len(ways) > 1:
        yield "an event is sent once for each line above that needs it; a match is found in one bucket"
    if not ways:
        yield "there are no rules"
    if job.options.control is not None:
        yield "rows of the control stream go to all buckets, and each keeps the rules that are its own"
