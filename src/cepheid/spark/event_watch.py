"""Lets tasks look at events where the driver could not, and warns on the driver about what they have seen.

Rows that no query can use are dropped before they reach Python. Where that does not make the source read less, some of
them come along, marked, and are dropped by the task.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
from pyspark import SparkContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepheid.api.hosting import ENOUGH, Observed, key_name, smallest_distance
from cepheid.errors import CepheidWarning, Place, calling_place
from cepheid.pattern.tree.uses import uses
from cepheid.spark.introspect import is_plain_read, sources_read_all, spark_context
from cepheid.spark.job import Job
from cepheid.spark.names import column_named
from cepheid.spark.one_file import one_file
from cepheid.spark.reports import Report, TaskReport, open_channel
from cepheid.spark.tap import KEPT, Tap

FIRST_ROWS = 256
"""Dropped rows of each partition of a batch that come along."""

ALIKE_ONE_IN = 64
"""Of the other dropped rows of a batch, one in so many of those whose type sounds like one of the query."""

COMPUTED_ONE_IN = 64
"""Of the dropped rows of a batch that is computed, one in so many."""

STREAM_ONE_IN = 16
"""Of the dropped rows of a stream, one in so many comes along, for a while."""

A_WHILE = timedelta(minutes=10)
"""The time after which no more rows of a stream come along."""

_LEAST_OF_STREAM = 100  # events of a stream before it means something that a column has had no value
_SETTLED = 10 * ENOUGH  # events after which nothing new is expected
_INDEX = (1 << 33) - 1  # the bits of `monotonically_increasing_id` that number the rows of a partition


class _SeenListener:
    """On the driver: warns when all tasks of a stage have reported what they have seen."""

    def __init__(self, job: Job, context: SparkContext, tests: frozenset[str], place: Place) -> None:
        self.surprises = job.query.surprises
        self.schema = job.worker_query.schema
        self.tests = tests
        self.hidden = _hidden(job)
        self.streaming = job.df.isStreaming
        self.context = context
        self.place = place
        self.seen = TaskReport()
        self.reported: Counter[int] = Counter()
        self.settled = False

    def __call__(self, report: Report) -> None:
        if self.settled:
            return
        self.seen += report.seen
        self.reported[report.stage] += 1
        stage = self.context.statusTracker().getStageInfo(report.stage)
        if stage is None or self.reported[report.stage] < stage.numTasks:
            return
        del self.reported[report.stage]
        self.settled = self.seen.rows >= _SETTLED
        try:
            self.surprises.warn(self.surprises.of_events(self.schema, self.observed()), self.place)
        except CepheidWarning as warning:  # a filter makes it an error, which would end Spark's thread
            logging.getLogger("cepheid").warning("%s", warning)

    def observed(self) -> Observed:
        seen = self.seen
        return Observed(
            seen.rows,
            whole=False,
            counted=False,
            ended=not self.streaming,
            hidden=self.hidden,
            types=None if self.schema.roles.type is None else seen.types,
            empty=frozenset() if self.streaming and seen.rows < _LEAST_OF_STREAM else self.tests - seen.valued,
            low=seen.low,
            high=seen.high,
            gap=None if seen.times is None else smallest_distance(np.array(seen.times, np.int64)),
        )


def _hidden(job: Job) -> frozenset[str]:
    """The types that have conditions, or that only FROM names: Spark may have dropped all of their events."""
    readers = [analysed for analysed, source in job.query.compiled.flow if None in source]
    components = [(each, analysed) for analysed in readers for each in analysed.components.values()]
    return job.query.surprises.claims.only_from.union(
        name
        for component, analysed in components
        if any(use.variable == component.variable for test in analysed.conditions for use in uses(test))
        for name in component.types
    )


def tapped_events(job: Job) -> tuple[DataFrame, Tap | None]:
    """Return the rows and columns that are sent to Python, and what looks at them there, if anything can."""
    context, claims = spark_context(job.df), job.query.surprises.claims
    if context is None:
        return job.events, None
    schema, columns = job.worker_query.schema, job.pushdown.columns
    # A nested column is not read for this: of a key that is a field, nothing is reported.
    tests = {key_name(path): columns.index(path[0]) for path in claims.keys if len(path) == 1}
    role, named = schema.roles.type, frozenset(claims.types)
    tap = Tap(
        open_channel(context, _SeenListener(job, context, frozenset(tests), calling_place())),
        schema,
        named,
        None if role is None else columns.index(role),
        columns.index(job.time),
        tests,
        claims.shortest(schema),
    )
    return _with_marked(job, role, named), tap


def _with_marked(job: Job, role: str | None, named: frozenset[str]) -> DataFrame:
    """The rows that are sent, and some that are there to be looked at only."""
    condition, columns = job.condition, job.selection
    if condition is None:
        return job.events
    kept = F.coalesce(condition, F.lit(False)).alias(KEPT)
    if job.df.isStreaming:
        return job.df.where(condition | _some_of_stream()).select(*columns, kept)
    if sources_read_all(job.df):
        some = _some_of_batch(role, named) if is_plain_read(job.df) else _some_below_joins(job)
        return job.df.where(condition | some).select(*columns, kept)
    file = one_file(job.df)
    if file is None:
        return job.events
    marked = file.limit(FIRST_ROWS).select(*columns, F.lit(False).alias(KEPT))
    return job.df.where(condition).select(*columns, F.lit(True).alias(KEPT)).union(marked)


def _some_of_batch(role: str | None, named: frozenset[str]) -> Column:
    """The first rows of each partition; a few of those of types that may have been meant by the query."""
    first = F.monotonically_increasing_id().bitwiseAND(F.lit(_INDEX)) < F.lit(FIRST_ROWS)
    if role is None:
        return first
    sounds = F.array(*(F.soundex(F.lit(name)) for name in sorted(named)))
    alike = F.array_contains(sounds, F.soundex(column_named(role)))
    return (alike & _one_in(ALIKE_ONE_IN)) | first


def _some_below_joins(job: Job) -> Column:
    """Some rows of any kind, by a condition that Spark can test before a join or an aggregation, as the query's."""
    return F.pmod(F.xxhash64(column_named(job.time)), F.lit(COMPUTED_ONE_IN)) == 0


def _some_of_stream() -> Column:
    """Some rows of any kind, in the micro-batches of the first minutes. Spark cannot number the rows of a stream."""
    end = F.lit(datetime.now(UTC) + A_WHILE)
    return (F.current_timestamp() < end) & _one_in(STREAM_ONE_IN)


def _one_in(count: int) -> Column:
    return F.rand(count) * F.lit(count) < F.lit(1)
