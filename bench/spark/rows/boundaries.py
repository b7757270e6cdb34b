"""Bytes of an event over each boundary: on disk, over shuffles, to Python and back, into the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import SparkSession

from bench.harness import Figure
from bench.spark import data, metrics, streams
from bench.spark.cases import EVENTS, W2, W2_RETURN, W4
from bench.spark.options import Options
from bench.spark.rows.streaming import ROWS, shoplifting
from bench.spark.session import session
from cepheid import Query

SENT = "data sent to Python workers"
BACK = "data returned from Python workers"


def boundaries(options: Options) -> Iterator[Figure]:
    """Bytes of an event over each boundary: Parquet, shuffle, to Python and back, checkpoint."""
    events = options.sized(EVENTS) // 4
    with session(options, **streams.SETTINGS) as spark:
        for case in (W2, W2_RETURN, W4):
            frame = case.read(spark, options, events)
            share = f"{case.needed(frame).count() / events:.0%} of the events are relevant"
            stored = data.size(case.make(options, events)) / events
            yield Figure("bytes", case.name, "Parquet, all columns", stored, "bytes an event", note=share)
            for name, direct in (("JVM scan", False), ("direct", True)):
                matches = case.ours(frame, direct=direct)
                for what, size in _crossed(spark, matches.count).items():
                    yield Figure("bytes", case.name, f"{what}, {name}", size / events, "bytes an event")
        yield from _streamed(spark, options)


def _streamed(spark: SparkSession, options: Options) -> Iterator[Figure]:
    """The same of a stream."""
    keys, rows, count = 10_000, min(ROWS, options.sized(10 * ROWS)), 4
    path, checkpoint = data.rfid_stream(options, keys, rows, count), options.data / "checkpoint-bytes"
    query = Query(shoplifting(keys))

    def run() -> None:
        streams.run(query.match(streams.read(spark, path)), checkpoint)

    crossed = _crossed(spark, run)
    logged, snapshots = streams.written(checkpoint)
    crossed["checkpoint, logged"] = sum(logged.values())
    crossed["checkpoint, snapshots"] = snapshots
    for what, size in crossed.items():
        yield Figure("bytes", "W4, stream", what, size / (rows * count), "bytes an event")


def _crossed(spark: SparkSession, run: Callable[[], object]) -> dict[str, int]:
    stage, plan = metrics.stages(spark), metrics.plans(spark)
    run()
    told = metrics.planned(spark, plan)
    return {"shuffle": metrics.shuffled(spark, stage), "to Python": told[SENT], "from Python": told[BACK]}
