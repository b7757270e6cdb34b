"""Streams: the same rows as in one process, however the stream is cut, delayed, stopped and started again."""

import math
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.spark.checks import _import_problem
from cepheid.spark.progress import metrics
from cepheid.spark.stream.buckets import bucket_of, slot

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("id", pa.int64()), ("x", pa.float64())])
SPARK = "ts timestamp, type string, id long, x double"
PAIR = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds"
FAR = 1_000_000.0


def event(second: float, kind: str, key: int | None = 1, x: float = 0.0) -> dict[str, Any]:
    return {"ts": BEGIN + timedelta(seconds=second), "type": kind, "id": key, "x": x}


def table(events: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(events), SCHEMA)


def in_disorder(count: int, files: int) -> list[list[dict[str, Any]]]:
    """Files of events that are out of order by less than ten seconds."""
    chance = Random(7)
    events = [
        event(k + chance.random(), chance.choice("ABC"), chance.randint(1, 9), chance.random()) for k in range(count)
    ]
    events.sort(key=lambda e: e["ts"] + timedelta(seconds=chance.uniform(0, 9)))
    size = -(-count // files)
    return [events[k : k + size] for k in range(0, count, size)]


class Stream:
    """A folder of files as a stream, and what its matches were."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.checkpoint = str(folder / "checkpoint")
        self.given: list[dict[str, Any]] = []
        self.progress: list[Any] = []
        self.files = 0
        (folder / "events").mkdir(parents=True)

    def add(self, *files: Sequence[dict[str, Any]]) -> None:
        """Files, which a stream reads in the order of their times."""
        for events in files:
            path = self.folder / "events" / f"{self.files:04}.parquet"
            pq.write_table(table(events), path)
            os.utime(path, (10**9 + self.files, 10**9 + self.files))
            self.files += 1

    def events(self, delay: str | None = "10 seconds") -> Any:
        """As a streaming DataFrame."""
        reader = self.spark.readStream.schema(SPARK).option("maxFilesPerTrigger", 1)
        found = reader.parquet(str(self.folder / "events"))
        return found if delay is None else found.withWatermark("ts", delay)

    def run(self, query: cep.Query, delay: str = "10 seconds", **options: Any) -> list[dict[str, Any]]:
        """Run it over the files that are not read yet; the rows of all runs so far."""
        writer = query.match(self.events(delay), **options).writeStream.foreachBatch(self.collect)
        running = writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(300), running.lastProgress
            self.progress += running.recentProgress
        finally:
            running.stop()
        return self.given

    def collect(self, batch: Any, number: int) -> None:
        self.given += batch.toArrow().to_pylist()

    def pending(self, query: cep.Query) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = cep.spark.pending(self.spark, query, self.checkpoint).toArrow().to_pylist()
        return found


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def in_order(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def embedded(query: cep.Query, files: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    return in_order(query.match(table([e for events in files for e in events])).to_pylist())


def starts(rows: Sequence[dict[str, Any]]) -> list[float]:
    return sorted((row["match_start"] - BEGIN).total_seconds() for row in rows)


QUERIES = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.x < c.x WITHIN 60 seconds",
    "kleene": "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x WITHIN 60 seconds",
    "absence": "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 30 seconds RETURN a.id AS id, b.x AS x",
    "no key": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 seconds",
    "events": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 4 events",
    "program": """
        PATTERN SEQ(A a, B b) WHERE [id] WITHIN 20 seconds RETURN a.id AS id, b.x AS x INTO P;
        FROM P PATTERN SEQ(P p, P q, !(P r)) WHERE [id] AND p.x < q.x WITHIN 30 seconds""",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.smoke] if name in ("sequence", "program") else []) for name in QUERIES],
)
def test_the_same_rows_as_embedded(stream: Stream, name: str) -> None:
    """Half of the queries end by a watermark far ahead, half are asked what is pending."""
    query, files = cep.Query(QUERIES[name]), in_disorder(300, 3)
    stream.add(*files)
    if name in ("sequence", "absence", "program"):
        stream.add([event(FAR, "X")])
        rows = stream.run(query, buckets=4)
    else:
        rows = stream.run(query, buckets=4)
        assert len(rows) < len(embedded(query, files))
        rows = [*rows, *stream.pending(query)]
        assert metrics(stream.progress[-1])["runs"] > 0
    assert in_order(rows) == embedded(query, files)


@pytest.mark.smoke
def test_an_absence_is_certain_when_the_watermark_passes(stream: Stream) -> None:
    """No further event of that key, nor of its bucket, is needed."""
    stream.add([event(0, "A", 1), event(1, "B", 1)], [event(100, "A", 2)], [event(200, "A", 2)])
    rows = stream.run(cep.Query("PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 20 seconds"))
    assert starts(rows) == [0]


@pytest.mark.smoke
def test_late_events_are_dropped_and_counted(stream: Stream) -> None:
    stream.add([event(0, "A"), event(50, "A")], [event(39, "B"), event(41, "B"), event(52, "B")], [event(100, "A")])
    rows = stream.run(cep.Query(PAIR))
    assert starts(rows) == [50]
    figures = [metrics(progress) for progress in stream.progress]
    assert [sum(f[name] for f in figures) for name in ("events", "matches", "late")] == [5, 1, 1]
    assert figures[0]["state_bytes"] > 0


def test_late_events_as_an_error(stream: Stream) -> None:
    stream.add([event(0, "A"), event(50, "A")], [event(39, "B")])
    with pytest.raises(Exception, match=r"(?s)CEP408.*1 of 1 events.*longer delay"):
        stream.run(cep.Query(PAIR), late="error")


@pytest.mark.smoke
def test_a_restart_goes_on(stream: Stream, spark: Any, tmp_path: Path) -> None:
    query, files = cep.Query(QUERIES["kleene"]), in_disorder(300, 4)
    stream.add(*files[:2])
    stream.run(query, buckets=4)
    kept = shutil.copytree(stream.checkpoint, tmp_path / "kept")
    stream.add(*files[2:], [event(FAR, "X")])
    assert in_order(stream.run(query, buckets=4)) == embedded(query, files)

    # What was changed is refused, and told.
    other = cep.Query(QUERIES["kleene"].replace("60", "61"))
    for refused, options, told in (
        (other, {"buckets": 4}, "another query.*help: start the stream with a new checkpoint"),
        (query, {"buckets": 5}, "4 buckets, the stream has 5.*help: pass buckets=4"),
    ):
        stream.checkpoint = str(shutil.copytree(kept, tmp_path / f"copy{len(told)}"))
        with pytest.raises(Exception, match=f"(?s)CEP905.*{told}"):
            stream.run(refused, **options)
    with pytest.raises(CepheidError, match="CEP905"):
        stream.pending(other)


def test_pending_of_what_is_no_checkpoint_of_ours(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(CepheidError) as caught:
        cep.spark.pending(spark, cep.Query(PAIR), str(tmp_path))
    assert caught.value.code == "CEP905"
    assert "checkpoint" in caught.value.remedy


# Before the start.


def test_without_a_watermark(stream: Stream) -> None:
    with pytest.raises(CepheidError) as caught:
        cep.Query(PAIR).match(stream.events(None))
    assert caught.value.code == "CEP901"
    assert "withWatermark('ts'" in caught.value.remedy


def test_with_a_watermark_on_another_column(stream: Stream) -> None:
    events = stream.events(None).selectExpr("*", "ts AS at").withWatermark("at", "1 second")
    with pytest.raises(CepheidError, match="but on 'at'"):
        cep.Query(PAIR).match(events)


def test_a_time_that_is_no_timestamp(stream: Stream) -> None:
    events = stream.events(None).selectExpr("unix_millis(ts) AS ts", "type", "id", "x")
    with pytest.raises(CepheidError) as caught:
        cep.Query(PAIR).match(events)
    assert caught.value.code == "CEP902"
    assert "timestamp" in caught.value.remedy


def test_another_state_store(stream: Stream) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = stream.spark.conf.get(name)
    stream.spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(CepheidError) as caught:
            cep.Query(PAIR).match(stream.events())
    finally:
        stream.spark.conf.set(name, before)
    assert caught.value.code == "CEP903"
    assert "cep.spark.configure" in caught.value.remedy


def test_a_python_that_lacks_something() -> None:
    assert "no such command" in _import_problem("no-such-python", ("pyarrow",), "")
    shell = shutil.which("false")
    assert shell is not None
    assert _import_problem(shell, ("pyarrow",), "")


def test_a_python_without_cepheid(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the python3 of a machine is, if a script is run by that of an environment which is not activated."""
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'cepheid'\" >&2; exit 1\n")
    other.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
    events = spark.createDataFrame([], "ts long, type string, id long")
    with pytest.raises(
        CepheidError, match=r"(?s)workers run '.*python': ModuleNotFoundError.*PYSPARK_PYTHON"
    ) as caught:
        cep.Query(PAIR).match(events)
    assert caught.value.code == "CEP904"


def test_equal_keys_are_in_one_bucket(spark: Any) -> None:
    values = [0.0, -0.0, math.nan, -math.nan, None]
    rows = spark.createDataFrame([(value,) for value in values], "x double")
    found = [r[0] for r in rows.select(bucket_of(pa.schema([("x", pa.float64())]), (("x",),), 10**6)).collect()]
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_buckets_are_spread_evenly(spark: Any) -> None:
    """Spark puts what it groups by into the partition that its hash says."""
    slots = spark.createDataFrame([(slot(bucket), bucket) for bucket in range(1000)], "slot int, bucket int")
    assert slots.where("hash(slot) != bucket").count() == 0
