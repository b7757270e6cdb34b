"""Lets tasks look at event types, and warns on the driver about those of the query that look misspelt.

Rows of types that no query names are dropped before they reach Python. Where that does not make the source read less,
a quarter of those whose type sounds like one of the query come along, marked, and are dropped by the task.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepheid.api.observed import Observed, named_types
from cepheid.errors import CepheidWarning, Place, calling_place
from cepheid.pattern.schema import Schema
from cepheid.spark.introspect import filters_end_in_spark, spark_context
from cepheid.spark.job import Job
from cepheid.spark.names import column_named
from cepheid.spark.reports import Report, open_channel
from cepheid.spark.tap import KEPT, Tap

_ONE_IN = 4


class _Listener:
    """On the driver: warns when all tasks of a stage have told what they have seen."""

    def __init__(self, job: Job, context: Any, place: Place) -> None:
        self.surprises = job.query.surprises
        self.schema: Schema = job.worker_query.schema
        self.context = context
        self.place = place
        self.rows = 0
        self.types: frozenset[str] = frozenset()
        self.told: Counter[int] = Counter()

    def __call__(self, report: Report) -> None:
        self.rows += report.rows
        self.types |= report.types
        self.told[report.stage] += 1
        stage = self.context.statusTracker().getStageInfo(report.stage)
        if stage is None or self.told[report.stage] < stage.numTasks:
            return
        del self.told[report.stage]
        try:
            seen = Observed(self.rows, whole=False, types=self.types, counted=False)
            self.surprises.warn(self.surprises.of_events(self.schema, seen), self.place)
        except CepheidWarning as warning:  # a filter makes it an error, which would end Spark's thread
            logging.getLogger("cepheid").warning("%s", warning)


def tapped_events(job: Job) -> tuple[DataFrame, Tap | None]:
    """Return the rows and columns that are sent to Python, and what looks at their types there, if anything can."""
    role, context = job.query.compiled.roles.type, spark_context(job.df)
    named = frozenset(named_types(job.query.compiled))
    if role is None or context is None or not named:
        return job.events, None
    channel = open_channel(context, _Listener(job, context, calling_place()))
    tap = Tap(channel, named, job.pushdown.columns.index(role))
    condition = job.condition
    if condition is None or not (job.df.isStreaming or filters_end_in_spark(job.df)):
        return job.events, tap
    rows = job.df.where(condition | _sounds_alike(job, role, named))
    columns = [*job.pushdown.selection, F.coalesce(condition, F.lit(False)).alias(KEPT)]
    return rows.select(*columns), tap


def _sounds_alike(job: Job, role: str, named: frozenset[str]) -> Column:
    """Return a condition for some rows of types that may have been meant by the query."""
    sounds = F.array(*(F.soundex(F.lit(name)) for name in sorted(named)))
    some = F.pmod(F.xxhash64(column_named(job.time)), F.lit(_ONE_IN)) == 0
    return F.array_contains(sounds, F.soundex(column_named(role))) & some
