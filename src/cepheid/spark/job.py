"""A query and a DataFrame, validated together before Spark plans anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as st

from cepheid.api import Query
from cepheid.api.hosting import read_column
from cepheid.engine.session.change_times import in_ticks
from cepheid.engine.session.delays import spelt_speculation
from cepheid.engine.session.history import History, Life
from cepheid.engine.session.query_changes import with_queries
from cepheid.engine.stream.operations import WORDS
from cepheid.errors import BindError, InputError, UsageError, did_you_mean
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.paths import Path
from cepheid.spark.names import column_named
from cepheid.spark.options import Options
from cepheid.spark.outputs import match_schema, output_number
from cepheid.spark.partitioning import SparkPartitioning, choose_partitioning
from cepheid.spark.pushdown import Pushdown, derive_pushdown
from cepheid.spark.schemas import collated_columns, events_schema
from cepheid.spark.signs import OPERATION
from cepheid.spark.slices import ticks_of
from cepheid.spark.worker import WorkerQuery

_BEFORE_ALL = -(2**55)  # microseconds, in the year -827: no event is earlier


@dataclass(frozen=True)
class Job:
    """A query on a DataFrame: what is sent to Python, how it is partitioned, and what the workers run.

    whole: the DataFrame with events that the query does not see, as it was added or removed on the way.
    until: up to when absences are known, in ticks, if the query was removed.
    """

    df: DataFrame
    query: Query
    options: Options
    pushdown: Pushdown
    partitioning: SparkPartitioning
    worker_query: WorkerQuery
    whole: DataFrame
    until: int | None = None

    @property
    def time(self) -> str:
        """The name of the time column."""
        return self.query.compiled.roles.time

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are sent to Python, with that of the operations."""
        op = self.options.op
        return self.pushdown.columns if op is None else (*self.pushdown.columns, op)

    @property
    def selection(self) -> list[Column]:
        """The columns that are sent to Python."""
        op = self.options.op
        return self.pushdown.selection + ([] if op is None else [column_named(op).alias(OPERATION)])

    @property
    def sent(self) -> pa.Schema:
        """The types of the columns that are sent to Python, under the names that they have in the DataFrame."""
        events, op = self.worker_query.event_schema, self.options.op
        return events if op is None else events.append(pa.field(op, pa.string()))

    @property
    def condition(self) -> Column | None:
        """The condition of the rows that are sent to Python; None if all are."""
        condition = self.pushdown.condition
        return after_watermark(condition, self.time) if condition is not None and self.df.isStreaming else condition

    @property
    def events(self) -> DataFrame:
        """The rows and columns that are sent to Python."""
        condition = self.condition
        rows = self.df if condition is None else self.df.where(condition)
        if self.pushdown.columns == tuple(self.df.columns) and self.pushdown.narrowed is None:
            return rows
        return rows.select(*self.selection)


def after_watermark(condition: Column, time: str) -> Column:
    """Return a condition on events of a stream that Spark evaluates after the watermark.

    Spark moves a condition that does not read the time below the watermark operator. Rows that it removes would then no
    longer advance the watermark, so the condition is made to read the time.
    """
    return condition | (column_named(time) < F.timestamp_micros(F.lit(_BEFORE_ALL)))


def make_job(df: DataFrame, query: Query, options: Options) -> Job:
    """Validate a query against a DataFrame. No Spark job runs."""
    check_names(df)
    query, control = query.sequenced(options.sequence), options.control is not None
    op = read_column("op", options.op, query.compiled.roles)
    all_columns = events_schema(_without_operations(df.schema, op), session_zone(df))
    whole, until = df, None
    if options.changes:
        life, options = _life(query, options, query.compiled.schema(all_columns))
        df, query, until = _lived(df, life), life.now(query.compiled.schema(all_columns)), life.lifetime.until
    bound = query.compiled.bind(query.compiled.schema(all_columns))
    collated = collated_columns(df.schema)
    pushdown = derive_pushdown(
        query, all_columns, enabled=options.pushdown, collated=collated, whole=options.long, op=op, control=control
    )
    events = pushdown.schema(all_columns)
    speculate = spelt_speculation(options.speculate, query.compiled.roles.unit)
    if op is not None and options.sequence is not None:
        remedy = "leave one of them out: a number that can be retracted says nothing about what is missing"
        raise UsageError("CEP603", "sequence and op can't be combined", remedy)
    query.session(engine=options.engine, plan=options.plan)  # raises for an unknown engine or plan
    worker_query = WorkerQuery(
        query=query,
        event_schema=events,
        match_schema=match_schema(
            query, events, options.output, long=options.long, changes=speculate is not None, control=control
        ),
        output=output_number(query, options.output),
        engine=options.engine,
        plan=options.plan,
        long=options.long,
        op=op,
        speculate=speculate,
        sequence=options.sequence,
        control=control,
    )
    partitioning = choose_partitioning(bound, [source for _, source in query.compiled.flow])
    worker_query = replace(worker_query, key=partitioning.key)
    check_key(df, all_columns, partitioning.key)
    return Job(df, query, options, pushdown, partitioning, worker_query, whole, until)


def _life(query: Query, options: Options, schema: Schema) -> tuple[Life, Options]:
    """Return the query whose matches are wanted, with its changes in the course of the events."""
    changes = with_queries(in_ticks(options.changes, schema, None), query)
    history = History(Life(query)).after(changes, schema)
    if options.output is not None and options.output in history.added:
        return history.added[options.output], replace(options, output=None)
    return history.own, options


def _lived(df: DataFrame, life: Life) -> DataFrame:
    """Return the events that a query sees."""
    time = ticks_of(df, life.query.compiled.roles.time)
    if life.lifetime.since is not None:
        df = df.where(time > life.lifetime.since)
    return df if life.lifetime.until is None else df.where(time <= life.lifetime.until)


def _without_operations(schema: st.StructType, op: str | None) -> st.StructType:
    """Return the columns of the events. The column that says what is inserted and what is retracted is none of them."""
    if op is None:
        return schema
    if op not in schema.names:
        remedy = did_you_mean(op, schema.names, "columns")
        raise BindError("CEP301", f"op is '{op}', and the events have no such column", remedy)
    kind = schema[op].dataType
    if not isinstance(kind, st.StringType):
        message = f"column '{op}' is {kind.simpleString()}, not text"
        raise InputError("CEP412", message, f"write one of {WORDS} into it")
    return st.StructType([field for field in schema if field.name != op])


def session_zone(df: DataFrame) -> str:
    """Return the session's time zone as Arrow spells it: `GMT+8` is `+08:00`."""
    zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    offset = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?", zone)
    return zone if offset is None else f"{offset[1]}{int(offset[2]):02}:{offset[3] or '00'}"


def check_names(df: DataFrame) -> None:
    """Refuse columns that differ only in case, unless Spark's resolution of names is case sensitive."""
    if not _is_case_sensitive(df):
        _check_apart("columns", df.columns)


def check_key(df: DataFrame, events: pa.Schema, key: Sequence[Path]) -> None:
    """Refuse the same of the fields on the way to a key."""
    if _is_case_sensitive(df):
        return
    for name, *fields in key:
        arrow = events.field(name).type
        for field in fields:
            _check_apart(f"fields of '{name}'", [other.name for other in arrow if other.name.lower() == field.lower()])
            arrow = arrow.field(field).type


def _is_case_sensitive(df: DataFrame) -> bool:
    return str(df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def _check_apart(what: str, names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            message = f"Spark cannot tell the {what} '{other}' and '{name}' apart: they differ only in case"
            raise InputError("CEP404", message, "rename one of them, or set spark.sql.caseSensitive")
