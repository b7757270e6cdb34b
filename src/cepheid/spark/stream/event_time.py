"""The column of a match by which Spark's own operators on event time may follow a query.

Spark has one watermark for a whole streaming query, and an operator drops rows whose event time is not after the
watermark of the micro-batch before. The end of a match may be before it: an absence is certain only when its window is
over. So a match gets a time of its own: when it became certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from cepheid.engine.encoding.times import ticks
from cepheid.errors import UsageError
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import END, START
from cepheid.spark.checks import WATERMARK
from cepheid.spark.introspect import plan_nodes
from cepheid.spark.job import Job
from cepheid.spark.schemas import spark_schema
from cepheid.spark.worker import WorkerQuery

_STATEFUL = ("Aggregate", "Deduplicate", "FlatMapGroups", "Join", "TransformWithState")
_OURS = "TransformWithStateInPySpark"


@dataclass(frozen=True)
class EventTime:
    """The column that is added to the matches of a stream.

    wait: how long after its start a match becomes certain at the earliest, in ticks: the window, if the pattern ends
        with an absence.
    period: how long after its end, if the absence has a FOR.
    """

    name: str
    wait: int
    period: int

    def field(self, worker_query: WorkerQuery) -> pa.Field:
        """The column in Arrow: of the type of the time column."""
        return pa.field(self.name, worker_query.match_schema.field(END).type)

    def add(self, worker_query: WorkerQuery, matches: pa.Table, passed: int | None) -> pa.Table:
        """Add the column to matches.

        passed: the watermark, in ticks, that the operators behind may have reached before this micro-batch.
        """
        schema = worker_query.schema
        times = np.maximum(ticks(schema, matches, END) + max(1, self.period), ticks(schema, matches, START) + self.wait)
        if passed is not None:
            times = np.maximum(times, passed + 1)
        field = self.field(worker_query)
        return matches.append_column(field, pa.array(times, pa.int64()).view(field.type))


def event_time_of(job: Job) -> EventTime | None:
    """Return the column that the options ask for."""
    name, columns = job.options.event_time, job.worker_query.match_schema.names
    if name is None:
        return None
    if job.options.long:
        remedy = "leave out long=True, and explode the events of the matches behind the operators on event time"
        raise UsageError("CEP603", "event_time and long can't be combined", remedy)
    if name.lower() in (column.lower() for column in columns):
        remedy = f"choose a name that is none of {', '.join(columns)}"
        raise UsageError("CEP603", f"event_time is '{name}', and a match has a column of that name", remedy)
    bound = job.query.compiled.bind(job.worker_query.schema)[job.worker_query.output]
    return EventTime(name, *waits_of(bound))


def waits_of(bound: Runnable) -> tuple[int, int]:
    """Return how long a match waits for absences at its end, in ticks: after its start, and after its end."""
    periods = [bound.periods[n] for n in bound.trailing]
    for_window = bound.waits and bound.timed and (not periods or None in periods)
    longest = max((bound.ticks(period) for period in periods if period is not None), default=0)
    return bound.window or 0 if for_window else 0, longest


def output_schema(job: Job, columns: pa.Schema, added: EventTime | None) -> st.StructType:
    """Return the columns of a match for Spark. The one that is added has the watermark of the events."""
    schema = spark_schema(columns)
    if added is not None:
        delay = (job.df.schema[job.time].metadata or {})[WATERMARK]
        schema[added.name].metadata = {WATERMARK: delay}
    return schema


def follows_state(df: DataFrame) -> bool:
    """Tell whether events come out of a stateful operator, which emits them when the watermark has passed them."""
    return any(str(node.nodeName()).startswith(_STATEFUL) for node in plan_nodes(df))


def refuse_second_watermark(matches: DataFrame) -> None:
    """Make `withWatermark` on matches an error, also after a select and the like.

    Spark would wait for ever: its watermark is the least of all, the second one moves when there are matches, and there
    are none before the first one has moved.
    """
    kind: Any = type(matches)
    original = kind.withWatermark
    if getattr(original, "of_cepheid", False):
        return

    @wraps(original)
    def withWatermark(self: DataFrame, eventTime: str, delayThreshold: str) -> DataFrame:  # noqa: N802, N803
        if any(str(node.nodeName()) == _OURS for node in plan_nodes(self)):
            message = f"withWatermark('{eventTime}', …) on the matches of a stream: Spark has one watermark in a query"
            remedy = "leave it out, and match with event_time='certain_at': that column has the watermark; "
            remedy += "or write the matches to a table, and read that as a stream (docs/spark/streams.md, Event time)"
            raise UsageError("CEP911", message, remedy)
        return original(self, eventTime, delayThreshold)  # type: ignore[no-any-return]

    withWatermark.of_cepheid = True  # type: ignore[attr-defined]
    kind.withWatermark = withWatermark
