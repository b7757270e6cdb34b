"""A query and a DataFrame, looked at together before anything is planned."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.api import Query
from cepheid.errors import InputError
from cepheid.spark.names import named
from cepheid.spark.options import Options
from cepheid.spark.partitioning import Partitioning, choose_partitioning
from cepheid.spark.pushdown import Pushdown, push
from cepheid.spark.schemas import bound_queries, events_schema, match_schema, odd_strings, output_number
from cepheid.spark.worker import WorkerQuery

_LEAST = -(2**55)  # microseconds, in the year -827: no event is earlier


@dataclass(frozen=True)
class Job:
    """A query and a DataFrame, looked at together: what crosses, how it is split, what the workers do."""

    df: DataFrame
    query: Query
    options: Options
    pushdown: Pushdown
    partitioning: Partitioning
    worker_query: WorkerQuery

    @property
    def time(self) -> str:
        """The time column."""
        return self.query._roles.time

    @property
    def events(self) -> DataFrame:
        """The rows and columns that cross into Python."""
        condition = self.pushdown.condition
        if condition is not None and self.df.isStreaming:
            # A condition that does not read the time would be moved below the watermark: events that the query does
            # not look at would no longer move it.
            condition |= named(self.time) < F.timestamp_micros(F.lit(_LEAST))
        chosen = self.df if condition is None else self.df.where(condition)
        if self.pushdown.columns == tuple(self.df.columns):
            return chosen
        return chosen.select(*map(named, self.pushdown.columns))


def make_job(df: DataFrame, query: Query, options: Options) -> Job:
    """Check a query against a DataFrame; nothing runs."""
    _check_names(df)
    whole = events_schema(df.schema, zone_of(df))
    bound = bound_queries(query, whole)
    pushed = push(query, whole, enabled=options.pushdown, odd=odd_strings(df.schema))
    events = pa.schema([whole.field(name) for name in pushed.columns])
    query.session(engine=options.engine, plan=options.plan)  # a wrong name is told here
    worker_query = WorkerQuery(
        query=query,
        event_schema=events,
        match_schema=match_schema(query, events, options.output),
        output=output_number(query, options.output),
        engine=options.engine,
        plan=options.plan,
    )
    return Job(df, query, options, pushed, choose_partitioning(bound, query._sources), worker_query)


def zone_of(df: DataFrame) -> str:
    """The zone in which the session shows timestamps, as Arrow writes it: `GMT+8` is `+08:00`."""
    zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?", zone)
    return zone if found is None else f"{found[1]}{int(found[2]):02}:{found[3] or '00'}"


def _check_names(df: DataFrame) -> None:
    """Spark finds columns by name whatever the case, unless told otherwise."""
    if str(df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return
    seen: dict[str, str] = {}
    for name in df.columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            message = f"Spark can't tell the columns '{other}' and '{name}' apart"
            raise InputError("CEP404", message, "rename one of them, or set spark.sql.caseSensitive")
