"""Queries over directories of Parquet: ours, and the identity that does the same up to the Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench import queries
from bench.spark import data
from bench.spark.options import Options
from bench.spark.session import PARTITIONS
from cepheid import Query


@dataclass(frozen=True)
class Case:
    """A keyed query, and what the identity has to know of it."""

    name: str
    query: str
    make: Callable[[Options, int], Path]
    key: str
    columns: tuple[str, ...]  # that the query needs, in the order of the schema
    types: tuple[str, ...] = ()  # that the query needs; all if none is named

    def read(self, spark: SparkSession, options: Options, events: int) -> DataFrame:
        """The stream."""
        return spark.read.parquet(str(self.make(options, events)))

    def ours(self, events: DataFrame, **how: Any) -> DataFrame:
        """The matches."""
        return Query(self.query).match(events, partitions=PARTITIONS, **how)

    def needed(self, events: DataFrame) -> DataFrame:
        """The filters and the columns that can stay below the shuffle."""
        filtered = events.where(F.col("type").isin(*self.types)) if self.types else events
        return filtered.select(*self.columns)

    def identity(self, events: DataFrame) -> DataFrame:
        """Same columns, same filters, same shuffle and sort, and a Python function that only counts."""
        sorted_ = self.needed(events).repartition(PARTITIONS, self.key).sortWithinPartitions("ts")
        return sorted_.mapInArrow(counted, "n long")


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many rows there are."""
    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})


def total(counts: DataFrame) -> int:
    """Of a frame of counts."""
    return int(counts.agg(F.sum("n")).first()[0] or 0)  # type: ignore[index]


_W2_COLUMNS = ("ts", "type", "attr1", "attr2", "attr3", "attr4", "attr5")
_W2_TYPES = ("E1", "E2", "E3")

W2 = Case("W2", queries.typed(), data.typed, "attr1", _W2_COLUMNS, _W2_TYPES)
W2_RETURN = Case(
    "W2 RETURN",
    f"{queries.typed()} RETURN a.attr1 AS attr1, a.ts AS a, b.ts AS b, c.ts AS c",
    data.typed,
    "attr1",
    ("ts", "type", "attr1"),
    _W2_TYPES,
)
W4 = Case("W4", queries.W4, data.rfid, "tag_id", ("ts", "type", "tag_id"))
# Of a thousand symbols each is quoted once a second: what lasts 20 seconds has risen twenty times.
QUERY5 = Case(
    "Query 5",
    queries.query5("Stock", 20_000, "S1.symbol = S2.symbol"),
    data.stock,
    "symbol",
    ("ts", "type", "symbol", "price", "volume"),
)
EVENTS = 20_000_000
