"""Thefts at once, corrected when readings come late: a log of changes in Parquet, and the thefts that stand.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/changes_log.py

The readings of shoplifting.py arrive up to five minutes late, each hour in a file. A stream that waits ten minutes is
never wrong, and always ten minutes behind. This one tells each theft in the micro-batch of its last reading. If the
reading at the register comes later, the theft is taken back.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from shoplifting import THEFTS, in_batch, make_day

import cepheid as cep


def changes(spark: SparkSession, day: Path) -> DataFrame:
    """The changes, as the files come in: one at a time, as if an hour had passed."""
    readings = (
        spark.readStream.schema(spark.read.parquet(str(day)).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(day))
        .withWatermark("ts", "10 minutes")  # readings may be so late; until then a theft may be taken back
    )
    return THEFTS.match(readings, speculate="all")


def write_log(spark: SparkSession, day: Path, work: Path) -> DataFrame:
    """Write the changes to Parquet files, and read them again: Spark's file sink has each micro-batch once."""
    query = (
        changes(spark, day)
        .writeStream.format("parquet")
        .option("path", str(work / "changes"))
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)  # all files that are there, then end; without it the stream goes on
        .start()
    )
    query.awaitTermination()
    for progress in query.recentProgress:
        done = cep.spark.metrics(progress)
        told = f"{done['matches']:2} given, {done['withdrawn']:2} taken back"
        print(f"  micro-batch {progress.batchId:2}: {done['events']:6,} events; of the thefts {told}")
    return spark.read.parquet(str(work / "changes"))


def main() -> None:
    """Make a day, write the log, and compare what stands with the batch."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, default=20_000, help="how many items are taken from the shelves")
    given = options.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    builder = SparkSession.builder.master("local[2]").appName("a log of changes")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
    spark = cep.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        day, work = Path(folder, "day"), Path(folder, "work")
        print(f"{make_day(day, given.items):,} readings in {len(list(day.iterdir()))} Parquet files")

        log = write_log(spark, day, work)
        taken_back = log.where(log.op == "-").count()
        print(f"log: {log.count()} changes, {taken_back} of them take a theft back")
        stands = cep.spark.current(log).drop("match_id")
        print(f"current: {stands.count()} thefts stand")
        stands.orderBy("match_end").show(5, truncate=False)

        thefts = in_batch(spark, day)
        same = sorted(stands.collect()) == sorted(thefts.select(stands.columns).collect())
        print("the same thefts as in a batch" if same else "THEY DIFFER")
    spark.stop()
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
