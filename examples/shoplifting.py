"""Shoplifters in a day of a store's RFID readings: in batch over Parquet, then the same query on the stream.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/shoplifting.py

Every item has a tag. Readers at the shelves, the registers and the exits report each tag that passes. An item that was
taken from a shelf and left the store, and no register has seen it in between, was stolen.
"""

import argparse
import os
import random
import tempfile
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep

THEFTS = cep.Query("""
    PATTERN SEQ(Shelf a, !(Register b), Exit c)
    WHERE   [tag_id]
    WITHIN  12 hours
    RETURN  a.tag_id AS tag, a.reader AS shelf, c.reader AS door
""")

READING = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("tag_id", pa.int64()), ("reader", pa.string())]
)


def make_day(folder: Path, items: int = 20_000, seed: int = 7) -> int:
    """Write a day of readings: a Parquet file for each hour in which they arrived. Gives their number.

    A reading arrives up to five minutes after it was made, so that a file holds some of the hour before.
    """
    random.seed(seed)
    opening = datetime(2026, 3, 14, 8, tzinfo=UTC)
    hours: dict[int, list[tuple[datetime, str, int, str]]] = {}
    for tag in range(items):
        taken = random.uniform(0, 11 * 3600)
        steps = [(taken, "Shelf", f"shelf {random.randint(1, 40)}")]
        fate = random.random()
        paid = taken + random.uniform(60, 2400)
        if fate < 0.90:  # bought
            steps += [(paid, "Register", f"register {random.randint(1, 9)}")]
        if fate < 0.9006:  # bought, or stolen; the others were put back
            steps += [(paid + random.uniform(20, 240), "Exit", random.choice(["north door", "south door"]))]
        steps += [(random.uniform(0, 43_000), "Stocktaking", "handheld") for _ in range(2)]
        for seconds, kind, reader in steps:
            reading = (opening + timedelta(seconds=round(seconds, 3)), kind, tag, reader)
            hours.setdefault(int((seconds + random.uniform(0, 300)) // 3600), []).append(reading)
    folder.mkdir(parents=True, exist_ok=True)
    for hour, readings in sorted(hours.items()):
        file = folder / f"readings-{hour:02}.parquet"
        pq.write_table(pa.table(list(zip(*readings, strict=True)), schema=READING), file)
        os.utime(file, (hour * 3600, hour * 3600))  # a stream takes files in the order of their times
    return sum(map(len, hours.values()))


def in_batch(spark: SparkSession, day: Path) -> DataFrame:
    """The thefts of the whole day."""
    return THEFTS.match(spark.read.parquet(str(day)))


def on_the_stream(spark: SparkSession, day: Path, work: Path) -> DataFrame:
    """The same, as the files come in: three at a time, as if three hours had passed."""
    readings = (
        spark.readStream.schema(spark.read.parquet(str(day)).schema)
        .option("maxFilesPerTrigger", 3)
        .parquet(str(day))
        .withWatermark("ts", "10 minutes")  # readings may be so late
    )
    checkpoint, sink = str(work / "checkpoint"), str(work / "thefts")
    query = (
        THEFTS.match(readings)
        .writeStream.format("parquet")
        .option("path", sink)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)  # all files that are there, then end; without it the stream goes on
        .start()
    )
    query.awaitTermination()
    for progress in query.recentProgress:
        done = cep.spark.metrics(progress)
        print(f"  micro-batch {progress.batchId}: {done['events']:,} events, {done['matches']} thefts")
    # The last ten minutes wait for the watermark. The day is over: nothing can come any more.
    return spark.read.parquet(sink).unionByName(cep.spark.pending(spark, THEFTS, checkpoint))


def main() -> None:
    """Make a day, look for thefts in both ways, and compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, default=20_000, help="how many items are taken from the shelves")
    given = options.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    builder = SparkSession.builder.master("local[2]").appName("shoplifting")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 4)  # two for each core; Spark's 200 are for clusters
    spark = cep.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        day, work = Path(folder, "day"), Path(folder, "work")
        print(f"{make_day(day, given.items):,} readings in {len(list(day.iterdir()))} Parquet files")

        thefts = in_batch(spark, day).orderBy("match_end").cache()
        print(f"batch: {thefts.count()} thefts")
        thefts.show(20, truncate=False)

        print("stream:")
        streamed = on_the_stream(spark, day, work)
        print(f"stream: {streamed.count()} thefts")

        same = sorted(thefts.collect()) == sorted(streamed.select(thefts.columns).collect())
        print("the same thefts in both" if same else "THEY DIFFER")
    spark.stop()
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
