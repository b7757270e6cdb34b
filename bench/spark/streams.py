"""Streams of files, run to their end; and what their progress tells."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.spark.data import FILES
from cepheid import Query
from cepheid.spark.progress import metrics
from cepheid.spark.stream import pending

SETTINGS = {
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.shuffle.partitions": "2",  # one for each core, as configure() has it: each has a store of its own
}
WARM = 2  # micro-batches that are not counted: imports, first files


@dataclass(frozen=True)
class Batch:
    """A micro-batch; the last may be without rows, for the sake of the watermark."""

    rows: int
    seconds: float
    out: int  # rows to the sink
    state: int  # bytes, as our metrics say; 0 where there is none
    store: int  # bytes that the state store holds in memory
    withdrawn: int = 0  # rows to the sink that take a match back


def read(spark: SparkSession, path: Path) -> DataFrame:
    """A few files to a micro-batch, the watermark a second behind."""
    schema = spark.read.parquet(str(path)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES).parquet(str(path))
    return stream.withWatermark("ts", "1 second")


def run(frame: DataFrame, checkpoint: Path, counted: str | None = None) -> list[Batch]:
    """To its end, from a fresh checkpoint; its rows are counted, or a column of counts summed up."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    count = F.count(F.lit(1)) if counted is None else F.coalesce(F.sum(counted), F.lit(0))
    writer = frame.observe("bench", count.alias("out")).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return [_batch(json.loads(progress.json)) for progress in query.recentProgress]


def settled(batches: list[Batch]) -> list[Batch]:
    """Those with data, without the first ones."""
    return [batch for batch in batches if batch.rows][WARM:]


def checked(spark: SparkSession, query: Query, path: Path, checkpoint: Path, batches: list[Batch]) -> int:
    """How many matches a stream found. With those that its end would still give, they are those of a batch."""
    found, rest = sum(batch.out for batch in batches), pending(spark, query, str(checkpoint)).count()
    whole = query.match(spark.read.parquet(str(path))).count()
    assert found + rest == whole, f"{found:,} matches in the stream and {rest:,} at its end, {whole:,} in a batch"
    return found


def _batch(told: dict[str, Any]) -> Batch:
    operators = told.get("stateOperators") or []
    return Batch(
        rows=told["numInputRows"],
        seconds=told["durationMs"]["triggerExecution"] / 1000,
        out=int(told["observedMetrics"]["bench"]["out"] or 0),
        state=int(metrics(told).get("state_bytes", 0)),
        store=sum(operator["memoryUsedBytes"] for operator in operators),
        withdrawn=int(metrics(told).get("withdrawn", 0)),
    )


def written(checkpoint: Path) -> tuple[dict[int, int], int]:
    """Bytes of state in a checkpoint: what each version logged, and all snapshots together."""
    logged: dict[int, int] = defaultdict(int)
    snapshots = 0
    for file in (checkpoint / "state").rglob("*"):
        if file.is_dir() or file.name.startswith("."):
            continue
        version = re.match(r"(\d+)(_.*)?\.(changelog|delta)$", file.name)
        if version:
            logged[int(version[1])] += file.stat().st_size
        else:
            snapshots += file.stat().st_size
    return dict(logged), snapshots
