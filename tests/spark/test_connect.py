"""Spark Connect: the same calls on a remote session. It runs in a process of its own, since sessions don't mix."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

APPLICATION = """
import json, sys, warnings
from datetime import UTC, datetime, timedelta
from pyspark.sql import SparkSession
import cepheid as cep, cepheid.spark

warnings.simplefilter("ignore")
folder = sys.argv[1]
builder = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
spark = cepheid.spark.configure(builder).getOrCreate()
begin = datetime(2026, 1, 1, tzinfo=UTC)
rows = [(begin + timedelta(seconds=n), "AB"[n % 2], n % 3, n) for n in range(300)]
events = spark.createDataFrame(rows, "ts timestamp, type string, id int, x int")
events.coalesce(1).write.parquet(folder + "/in")
events = spark.read.parquet(folder + "/in")
text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds RETURN a.x AS ax, b.x AS bx"
query = cep.Query(text)
events.createOrReplaceTempView("readings")


def pairs(frame):
    return sorted((row.ax, row.bx) for row in frame.select("ax", "bx").collect())


told = {"remote": "connect" in type(spark).__module__}
told["embedded"] = sorted((row["ax"], row["bx"]) for row in query.match(events.toArrow()).to_pylist())
told["schema"] = query.schema(events.schema).simpleString() == query.match(events).schema.simpleString()
told["batch"] = pairs(query.match(events))
told["sql"] = pairs(cep.spark.sql(spark, "FROM readings " + text))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", cep.CepheidWarning)
    never = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 20 AND a.x < 10 WITHIN 30")
    for frame in (events, spark.readStream.schema(events.schema).parquet(folder + "/in").withWatermark("ts", "1 day")):
        never.match(frame)
        cep.Query("EVENT A a WITHIN 30").match(frame)
told["warnings"] = [w.message.code for w in caught if isinstance(w.message, cep.CepheidWarning)]
told["explain"] = str(query.explain(events))
stream = spark.readStream.schema(events.schema).parquet(folder + "/in").withWatermark("ts", "0 seconds")
writer = query.match(stream).writeStream.format("parquet").option("path", folder + "/out")
running = writer.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True).start()
running.awaitTermination(200)
told["error"] = str(running.exception() or "")
told["metrics"] = [cepheid.spark.metrics(progress) for progress in running.recentProgress]
told["stream"] = pairs(spark.read.parquet(folder + "/out"))
with open(sys.argv[2], "w") as out:
    json.dump(told, out)
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_batch_sql_and_stream_on_a_remote_session(tmp_path: Path) -> None:
    for name in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(name)
    result = tmp_path / "result.json"
    command = [sys.executable, "-c", APPLICATION, str(tmp_path), str(result)]
    environment = {**os.environ, "SPARK_TESTING": "1", "SPARK_LOCAL_IP": "127.0.0.1"}  # any free port
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert not done.returncode, done.stderr[-3000:]
    told = json.loads(result.read_text())
    assert told["remote"]
    assert told["schema"]
    assert len(told["embedded"]) > 100
    assert told["batch"] == told["sql"] == told["embedded"]
    assert told["warnings"] == ["CEP004", "CEP007", "CEP007", "CEP007"]  # each once for each query
    assert "split by key: id" in told["explain"]
    assert not told["error"]
    end = 299  # of the last event the watermark can't tell that it is the only one of its time
    assert [pair for pair in told["stream"] if pair[1] < end] == [pair for pair in told["embedded"] if pair[1] < end]
    assert sum(metrics["events"] for metrics in told["metrics"]) == 300
