"""Many queries on a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from cepheid.engine.many.rules import RuleSet
from cepheid.errors import UsageError, did_you_mean
from cepheid.explain import Explanation
from cepheid.pattern.paths import spell
from cepheid.pattern.schema import make_schema
from cepheid.spark.checks import check_workers
from cepheid.spark.introspect import parallelism, spark_context
from cepheid.spark.job import check_key, check_names, session_zone
from cepheid.spark.many.columns import common_schema, own_schema
from cepheid.spark.many.options import ManyOptions, read_many_options
from cepheid.spark.many.placing import in_order, in_tasks, placed
from cepheid.spark.many.shipped import ship
from cepheid.spark.many.split import Way, split
from cepheid.spark.many.worker import ManyWorker, match_in_buckets, match_in_slices
from cepheid.spark.names import rename_for_python
from cepheid.spark.schemas import collated_columns, events_schema, spark_schema
from cepheid.spark.slices import slice_by_time

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.api.queries import Queries


@dataclass(frozen=True)
class ManyJob:
    """Queries on a DataFrame: the rules that fit it, and how its events are divided for them."""

    df: DataFrame
    queries: Queries
    rules: RuleSet
    ways: list[Way]
    events: pa.Schema
    options: ManyOptions

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return sum(way.buckets for way in self.ways)


def make_many_job(df: DataFrame, queries: Queries, options: ManyOptions) -> ManyJob:
    """Check queries against a DataFrame. No Spark job runs."""
    if df.isStreaming:
        remedy = "use foreachBatch with queries.session(), or match a batch DataFrame"
        raise UsageError("CEP601", "Queries can't read a streaming DataFrame yet", remedy)
    check_names(df)
    events = events_schema(df.schema, session_zone(df))
    schema = make_schema(events, queries.options.roles)
    rules = _of_output(queries.fitting(schema), options.output)
    tasks = options.partitions or parallelism(df)
    ways = split(rules, queries.options, schema, tasks=tasks, collated=collated_columns(df.schema))
    for way in ways:
        check_key(df, events, way.key)
    return ManyJob(df, queries, rules, ways, events, options)


def _of_output(rules: RuleSet, output: str | None) -> RuleSet:
    """The rules of one template."""
    if output is None:
        return rules
    names = [str(template.name) for template in rules.templates if template.name is not None]
    if output not in names:
        raise UsageError("CEP603", f"there is no template {output!r}", did_you_mean(output, names, "templates"))
    return replace(rules, rules=tuple(r for r in rules.rules if str(rules.templates[r.template].name) == output))


def match_many(df: DataFrame, queries: Queries, **options: Any) -> DataFrame:
    """Return the matches of many queries in a DataFrame as a DataFrame. Nothing runs yet.

    A match has the columns `query` (the id), `template`, `match_start`, `match_end` and `events`, an array of the
    variable, the index and the event.

    engine: as for events in memory.
    partitions: the number of tasks that run at the same time; by default as many as Spark has cores.
    output: the name of a template; only its rules run.
    own: whether matches have the columns of their queries instead, which then must be the same for all of them.
    """
    job = make_many_job(df, queries, read_many_options(options))
    check_workers(df)
    own = job.options.own
    columns = own_schema(job.rules, queries.options, job.events) if own else common_schema(job.rules, job.events)
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


def explain_many(df: DataFrame, queries: Queries, **options: Any) -> Explanation:
    """Explain how the events would be divided among tasks, and why."""
    job = make_many_job(df, queries, read_many_options(options))
    return Explanation("\n".join(["Spark batch", *(f"  {line}" for line in describe(job.ways))]))


def describe(ways: Sequence[Way]) -> Iterator[str]:
    """Yield what is done for which rules."""
    for way in ways:
        rules = f"{len(way.numbers):,} rule{'s' * (len(way.numbers) != 1)}"
        buckets = f"{way.buckets} bucket{'s' * (way.buckets != 1)}"
        if way.column is not None and way.values is not None:
            count = f"{len(way.values):,} value{'s' * (len(way.values) != 1)}"
            yield f"{rules}: split by constants, {way.column} has one of {count}: {buckets}, each with its own rules"
            if len(ways) == 1:
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
