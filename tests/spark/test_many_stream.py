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
import pytest

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
    size = count // 3
    return [pa.Table.from_pylist(rows[begin : begin + size], SCHEMA) for begin in range(0, count, size)]


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

    def changes(self) -> Any:
        return self.spark.readStream.schema(self.control).json(str(self.folder / "control"))

    def match(self) -> Any:
        options = dict(self.options)
        if self.control is not None:
            options["control"] = self.changes()
        return self.queries.match(self.frame(), **{"buckets": 2, **options})

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


@pytest.mark.smoke
def test_several_ways_late_events_and_a_restart(spark, tmp_path):
    chance = Random(1)
    queries = cep.Queries(TEMPLATES, rules(chance))
    first, middle, last = events(chance)
    stream = Stream(spark, tmp_path, queries)
    stream.add(first, middle)
    stream.run()
    # An event that concerns nobody moves the watermark; one that is too late is counted by each bucket it would go to.
    nobody = pa.Table.from_pylist([{"ts": second(900), "type": "D", "symbol": "Z"}], SCHEMA)
    too_late = pa.Table.from_pylist([{"ts": second(-50), "type": "A", "symbol": "X", "price": 19}], SCHEMA)
    stream.add(pa.concat_tables([last, too_late]), nobody)
    stream.run()
    expected = wanted(queries, first, middle, last, nobody)
    assert len(expected) > 50
    assert sorted(map(told, stream.rows)) == expected
    assert stream.matches() == expected
    text = queries.explain(stream.frame(), buckets=2).text
    assert text.startswith("Spark stream\n")
    assert "split by constants, symbol has one of 3 values: 2 buckets, each with its own rules" in text
    assert "split by constants, shop has one of" in text
    assert "no key and no constants that every event must have: all events go to 2 buckets of rules" in text
    assert "late" in {name for one in stream.counts for name, count in one.items() if count}


CONTROL = "id string, action string, at timestamp, template string, name string, place long, high long, span string"


def test_rules_come_and_go(spark, tmp_path):
    """Times of changes are those of events; the stream stops in between, with a change that is still to come."""
    chance = Random(2)
    names = ("constant", "ending")
    templates = {name: TEMPLATES[name] for name in names}
    start = rules(chance, 8, names)
    queries = cep.Queries(templates, start)
    more = [{**one, "name": "X", "high": 9} for one in rules(chance, 16, names).to_pylist()]
    first, middle, last = events(chance)
    stream = Stream(spark, tmp_path, queries, CONTROL)
    changes = [
        [
            {**more[8], "action": "add"},
            {**more[9], "action": "add", "at": second(30)},
            {"id": "u0", "action": "remove", "at": second(20)},
            {**more[10], "action": "add", "template": "constant", "span": "5 secunds"},
        ],
        [
            {**more[1], "action": "replace", "at": second(50)},
            {"id": "u9", "action": "remove", "at": second(58)},
            {"id": "u2", "action": "remove", "at": second(0)},
        ],
    ]
    stream.change(*changes[0])
    stream.add(first, middle)
    stream.run()
    stream.change(*changes[1])
    stream.add(last)
    stream.run()
    refused = cep.spark.refusals(spark, stream.checkpoint).collect()
    assert [(row.id, row.action, row.reason[:6]) for row in refused] == [
        ("u10", "add", "CEP307"),
        ("u2", "remove", "CEP608"),
    ]
    assert "column 'span': the parameter 'span' is '5 secunds'" in refused[0].reason
    assert json.loads(refused[0].text)["span"] == "5 secunds"
    assert stream.total("refused") == 2
    session = queries.session()
    session.push(SCHEMA.empty_table())
    session.add(table_of(start, more[8]))
    session.remove(["u0"], at=second(20))
    session.add(table_of(start, more[9]), at=second(30))
    session.remove(["u1"], at=second(50))
    session.add(table_of(start, more[1]), at=second(50))
    session.remove(["u9"], at=second(58))
    session.push(pa.concat_tables([first, middle, last]))
    expected = sorted(map(shown, session.close().to_pylist()))
    assert stream.matches() == expected
    assert all(any(f"('{name}'" in row for row in expected) for name in ("u1", "u8", "u9"))
    assert "events with other values are sent too" in queries.explain(stream.frame(), control=stream.changes()).text


def table_of(like: pa.Table, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{name: row[name] for name in like.column_names} for row in rows], like.schema)


def test_other_rules(spark, tmp_path):
    """A checkpoint of other rules is refused, or goes on with them."""
    chance = Random(3)
    start = rules(chance, 10, ("constant",))
    queries = cep.Queries(TEMPLATES, start)
    first, middle, last = events(chance)
    stream = Stream(spark, tmp_path, queries)
    stream.add(first, middle)
    stream.run()
    changed = [
        *start.to_pylist()[:6],
        {**start.to_pylist()[6], "high": 5},
        {**start.to_pylist()[0], "id": "u77", "name": "Z", "high": 0, "span": "20 seconds"},
    ]
    other = cep.Queries(TEMPLATES, table_of(start, *reversed(changed)))
    stream.queries, stream.options = other, {"checkpoint": stream.checkpoint}
    with pytest.raises(cep.CepheidError, match=r"CEP905: the checkpoint belongs to other rules.*\n.*migrate=True"):
        stream.match()
    stream.options["buckets"] = 4
    stream.queries = queries
    with pytest.raises(cep.CepheidError, match="CEP905: the checkpoint has 2 buckets, the stream has 4"):
        stream.match()
    alone = cep.Query(KEYED.replace("high", "9"))
    with pytest.raises(cep.CepheidError, match="a stream of many queries, and this one is of one query"):
        alone.match(stream.frame(), checkpoint=stream.checkpoint)
    divided = cep.Queries({**TEMPLATES, "constant": KEYED}, start)
    with pytest.raises(cep.CepheidError, match="how events are divided changed with them"):
        divided.match(stream.frame(), checkpoint=stream.checkpoint, buckets=2, migrate=True)
    with pytest.raises(cep.CepheidError, match="CEP905: the checkpoint belongs to other rules"):
        cep.spark.pending(spark, other, stream.checkpoint)
    stream.queries, stream.options = other, {"checkpoint": stream.checkpoint, "migrate": True}
    stream.add(last)
    stream.run()
    latest = max(row["ts"] for table in (first, middle) for row in table.to_pylist())
    session = queries.session()
    session.push(SCHEMA.empty_table())
    session.remove(["u6", "u7", "u8", "u9"], at=latest)
    session.add(table_of(start, *changed[6:]), at=latest)
    session.push(pa.concat_tables([first, middle, last]))
    expected = sorted(map(shown, session.close().to_pylist()))
    assert stream.matches() == expected
    assert any("('u77'" in row for row in expected)


def test_no_rules_and_wrong_options(spark, tmp_path):
    queries = cep.Queries(CONSTANT, rules(Random(4), 0).drop_columns(["template"]))
    stream = Stream(spark, tmp_path, queries)
    stream.add(*events(Random(4), 30)[:1])
    stream.run()
    assert stream.rows == []
    assert stream.matches() == []
    frame = stream.frame()
    assert queries.match(frame).columns == ["query", "template", "match_start", "match_end", "events"]
    assert "there are no rules" in queries.explain(frame).text
    for options, message in [
        ({"partitions": 3}, "partitions is an option for batches, and this is a stream"),
        ({"late": "collect"}, "unknown policy 'collect'"),
        ({"migrate": True}, "migrate needs the checkpoint"),
        ({"control": 5}, "CEP912: control is a int, not a DataFrame"),
        ({"control": spark.readStream.schema("id string").json(str(tmp_path / "control"))}, "lacks action"),
        (
            {
                "control": spark.readStream.schema(CONTROL.replace("id string", "id long")).json(
                    str(tmp_path / "control")
                )
            },
            "column 'id' of the control stream is bigint, not string",
        ),
    ]:
        with pytest.raises(cep.CepheidError, match=message):
            queries.match(frame, **options)
    batch = spark.createDataFrame(events(Random(4), 30)[0])
    with pytest.raises(cep.CepheidError, match="late is an option for streams, and this is a batch"):
        queries.match(batch, late="error")
    with pytest.raises(cep.CepheidError, match="CEP901"):
        queries.match(spark.readStream.schema(spark_schema(SCHEMA)).parquet(str(tmp_path / "in")))
