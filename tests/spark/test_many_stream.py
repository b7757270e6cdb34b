"""Many queries on streams of Spark give what they give in memory, whatever the micro-batches are."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import cepheid as cep
from cepheid.spark.progress import metrics
from cepheid.spark.schemas import spark_schema

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("symbol", pa.string()),
        ("shop", pa.int32()),
        ("price", pa.int64()),
    ]
)
CONSTANT = "PATTERN SEQ(A a, B b) WHERE [symbol = name] AND a.price > high AND b.price < 6 WITHIN span"
EACH = "PATTERN SEQ(A a, B b) WHERE a.shop = place AND b.shop = place AND a.price > high WITHIN 6 seconds"
KEYED = "PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high AND b.price < 6 WITHIN 8 seconds"
FREE = "PATTERN SEQ(A a, B b) WHERE a.price > high AND b.price < 2 WITHIN 2 seconds"
ENDING = "PATTERN SEQ(A a, B b, !(C c)) WHERE [symbol = name] AND a.price > high AND c.price > 4 WITHIN 6 seconds"
TEMPLATES = {"constant": CONSTANT, "each": EACH, "free": FREE, "ending": ENDING}


def second(at: float) -> datetime:
    return BEGIN + timedelta(seconds=at)


def events(chance: Random, count: int = 300, end: int = 60, disorder: int = 4) -> list[pa.Table]:
    """Files of events, each up to some seconds out of order; several have the same time."""
    rows = [
        {
            "ts": second(end * k // count - chance.randint(0, disorder)),
            "type": chance.choice("ABC"),
            "symbol": chance.choice(["X", "Y", "Z", None]),
            "shop": chance.choice([1, 2, 3, None]),
            "price": chance.randint(0, 20),
        }
        for k in range(count)
    ]
    cuts = sorted(chance.sample(range(1, count), 2))
    parts = zip([0, *cuts], [*cuts, count], strict=True)
    return [pa.Table.from_pylist(rows[begin:stop], SCHEMA) for begin, stop in parts]


def rules(chance: Random, count: int = 24, names: Sequence[str] = tuple(TEMPLATES)) -> pa.Table:
    """Nobody has Q, and NULL is equal to nothing."""
    return pa.table(
        {
            "id": [f"u{k}" for k in range(count)],
            "template": [chance.choice(names) for _ in range(count)],
            "name": pa.array([chance.choice(["X", "Y", "Q", None]) for _ in range(count)], pa.string()),
            "place": pa.array([chance.choice([1, 2, 9, 2**40, None]) for _ in range(count)], pa.int64()),
            "high": pa.array([chance.randint(8, 18) for _ in range(count)], pa.int64()),
            "span": [chance.choice(["5 seconds", "9 seconds", "20 seconds"]) for _ in range(count)],
        }
    )


def shown(row: dict[str, Any]) -> str:
    """A match in memory, in the form in which Spark has it."""
    held = []
    for name, value in row.items():
        if name not in ("query", "match_start", "match_end"):
            several = value if isinstance(value, list) else [value]
            held += [(name, index + 1, tuple(event.items())) for index, event in enumerate(several)]
    return repr((row["query"], row["match_start"], row["match_end"], sorted(held, key=repr)))


def told(row: dict[str, Any]) -> str:
    """The same of a row of Spark."""
    held = [(one["variable"], one["index"], tuple(one["event"].items())) for one in row["events"]]
    return repr((row["query"], row["match_start"], row["match_end"], sorted(held, key=repr)))


class Stream:
    """A folder of events and one of control rows; what the stream has given so far."""

    def __init__(
        self, spark: Any, folder: Path, queries: cep.Queries, control: str | None = None, **options: Any
    ) -> None:
        self.spark, self.folder, self.queries, self.options = spark, folder, queries, options
        self.control = control
        self.checkpoint = str(folder / "checkpoint")
        self.batches: dict[int, list[dict[str, Any]]] = {}
        self.counts: list[dict[str, int]] = []
        self.files = 0
        for name in ("in", "control"):
            (folder / name).mkdir()

    def frame(self) -> Any:
        source = self.spark.readStream.schema(spark_schema(SCHEMA)).option("maxFilesPerTrigger", 1)
        return source.parquet(str(self.folder / "in")).withWatermark("ts", "4 seconds")

    def match(self) -> Any:
        options = dict(self.options)
        if self.control is not None:
            options["control"] = self.spark.readStream.schema(self.control).json(str(self.folder / "control"))
        return self.queries.match(self.frame(), **{"buckets": 3, **options})

    def add(self, *files: pa.Table) -> None:
        for table in files:
            self.files += 1
            draft = self.folder / "draft.parquet"
            pq.write_table(table, draft)
            self._move(draft, self.folder / "in" / f"{self.files:04}.parquet")

    def change(self, *rows: dict[str, Any]) -> None:
        self.files += 1
        draft = self.folder / "draft.json"
        draft.write_text("".join(f"{json.dumps(row, default=lambda at: at.isoformat())}\n" for row in rows))
        self._move(draft, self.folder / "control" / f"{self.files:04}.json")

    def _move(self, draft: Path, place: Path) -> None:
        os.utime(draft, (10**9 + self.files, 10**9 + self.files))
        draft.rename(place)

    def run(self) -> None:
        """Go on with the stream until all files are read."""

        def collect(batch: Any, number: int) -> None:
            self.batches[number] = batch.toArrow().to_pylist()

        writer = self.match().writeStream.foreachBatch(collect).option("checkpointLocation", self.checkpoint)
        running = writer.trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(300), running.lastProgress
        finally:
            running.stop()
        self.counts += [metrics(one) for one in running.recentProgress if "addBatch" in one.durationMs]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for number in sorted(self.batches) for row in self.batches[number]]

    def matches(self) -> list[str]:
        """What the stream has given, and what it would give if it ended here."""
        left = cep.spark.pending(self.spark, self.queries, self.checkpoint).toArrow().to_pylist()
        return sorted(map(told, [*self.rows, *left]))

    def total(self, name: str) -> int:
        return sum(one[name] for one in self.counts)


def wanted(queries: cep.Queries, *tables: pa.Table) -> list[str]:
    return sorted(map(shown, queries.match(pa.concat_tables(tables)).to_pylist()))


def test_several_ways_and_a_restart(spark, tmp_path):
    chance = Random(1)
    queries = cep.Queries(TEMPLATES, rules(chance))
    first, second_, third = events(chance)
    stream = Stream(spark, tmp_path, queries)
    stream.add(first, second_)
    stream.run()
    stream.add(third)
    stream.run()
    expected = wanted(queries, first, second_, third)
    assert len(expected) > 50
    assert stream.rows
    assert stream.matches() == expected
    assert stream.total("events") > 0
    text = queries.explain(stream.frame(), buckets=3).text
    assert text.startswith("Spark stream\n")
    assert "split by constants, symbol has one of" in text
    assert "all events go to 3 buckets" in text
