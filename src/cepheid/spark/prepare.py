"""A query and a DataFrame, looked at together before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.api import Query
from cepheid.spark.options import Options
from cepheid.spark.pushdown import Pushed, push
from cepheid.spark.schemas import bound_queries, events_schema, given_schema, output_number
from cepheid.spark.split import Split, split
from cepheid.spark.work import Work


@dataclass(frozen=True)
class Prepared:
    """A query and a DataFrame, looked at together: what crosses, how it is split, what the workers do."""

    df: DataFrame
    query: Query
    options: Options
    pushed: Pushed
    split: Split
    work: Work

    @property
    def time(self) -> str:
        """The time column."""
        return self.query._roles.time

    @property
    def events(self) -> DataFrame:
        """The rows and columns that cross into Python."""
        chosen = self.df if self.pushed.condition is None else self.df.where(self.pushed.condition)
        if self.pushed.columns == tuple(self.df.columns):
            return chosen
        return chosen.select(*map(quoted, self.pushed.columns))


def prepare(df: DataFrame, query: Query, options: Options) -> Prepared:
    """Check a query against a DataFrame; nothing runs."""
    whole = events_schema(df.schema, zone_of(df))
    bound = bound_queries(query, whole)
    pushed = push(query, whole, enabled=options.pushdown)
    events = pa.schema([whole.field(name) for name in pushed.columns])
    query.session(engine=options.engine, plan=options.plan)  # a wrong name is told here
    work = Work(
        query=query,
        events=events,
        given=given_schema(query, events, options.output),
        output=output_number(query, options.output),
        engine=options.engine,
        plan=options.plan,
    )
    return Prepared(df, query, options, pushed, split(bound, query._sources), work)


def parallelism(df: DataFrame) -> int:
    """How many tasks run side by side."""
    try:
        return max(1, df.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context, and raises one of several errors to say so
        return int(df.sparkSession.conf.get("spark.default.parallelism", None) or 8)


def zone_of(df: DataFrame) -> str:
    """The zone in which the session shows timestamps."""
    return str(df.sparkSession.conf.get("spark.sql.session.timeZone"))


def quoted(name: str) -> str:
    """A column name that may have dots or spaces."""
    return "`" + name.replace("`", "``") + "`"


def crossing(df: DataFrame) -> DataFrame:
    """A DataFrame whose columns can cross into Python: there Spark itself can't find names with dots or backticks."""
    if not any(set(name) & {".", "`"} for name in df.columns):
        return df
    return df.toDF(*(f"c{k}" if set(name) & {".", "`"} else name for k, name in enumerate(df.columns)))
