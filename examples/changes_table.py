"""Thefts at once, corrected when readings come late: a Delta table that is kept up to date by MERGE.

pip install '.[spark]' deltalake       (in a clone; needs Java 17 or newer)
python examples/changes_table.py

The stream is that of changes_log.py. Each micro-batch is merged into a table with `match_id` as its key: `+` inserts a
theft, `-` deletes it. A micro-batch has at most one change of a theft, so it does not matter if Spark repeats one after
a crash: a theft that is there is not inserted again, and one that is gone can't be deleted.

The table is written by the `deltalake` package, on the driver. On a cluster with Delta Lake the same MERGE is
`DeltaTable.forName(spark, "thefts").merge(…)`, and any database that has MERGE will do.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

from changes_log import changes
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from shoplifting import in_batch, make_day

import cepheid as cep


def merge(table: DeltaTable, batch: DataFrame) -> None:
    """Insert the thefts that are new, and delete those that are taken back."""
    rows = batch.toArrow()
    if not rows.num_rows:
        return
    columns = {name: f"change.{name}" for name in rows.column_names if name != "op"}
    (
        table.merge(rows, "theft.match_id = change.match_id", source_alias="change", target_alias="theft")
        .when_matched_delete("change.op = '-'")
        .when_not_matched_insert(columns, "change.op = '+'")
        .execute()
    )


def keep_table(spark: SparkSession, day: Path, work: Path) -> DeltaTable:
    """Run the stream into a table. The first try dies after it has written its third micro-batch."""
    found = changes(spark, day)
    columns = spark.createDataFrame([], found.drop("op").schema).toArrow().schema
    table = DeltaTable.create(work / "thefts", columns, mode="ignore")
    crashes = {2}

    def write(batch: DataFrame, number: int) -> None:
        merge(table, batch)
        print(f"  micro-batch {number:2}: {len(thefts(table)):2} thefts in the table")
        if number in crashes:
            crashes.remove(number)
            raise RuntimeError("the driver dies before Spark knows that this micro-batch is written")

    writer = found.writeStream.foreachBatch(write).option("checkpointLocation", str(work / "checkpoint"))
    while True:
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            return table
        except Exception as error:
            if "the driver dies" not in str(error):
                raise
            print("  the stream has died; it is started again, and repeats the micro-batch")


def thefts(table: DeltaTable) -> list[dict[str, object]]:
    """The rows of the table."""
    return table.to_pyarrow_table().to_pylist()


def main() -> None:
    """Make a day, keep the table, and compare it with the batch."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, default=20_000, help="how many items are taken from the shelves")
    given = options.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    builder = SparkSession.builder.master("local[2]").appName("a table of thefts")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
    spark = cep.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # the crash is meant
    with tempfile.TemporaryDirectory() as folder:
        day, work = Path(folder, "day"), Path(folder, "work")
        print(f"{make_day(day, given.items):,} readings in {len(list(day.iterdir()))} Parquet files")

        table = keep_table(spark, day, work)
        found = [{name: value for name, value in row.items() if name != "match_id"} for row in thefts(table)]
        print(f"table: {len(found)} thefts, in version {table.version()}")

        wanted = in_batch(spark, day).toArrow().to_pylist()
        same = sorted(map(str, found)) == sorted(map(str, wanted))
        print("the same thefts as in a batch" if same else "THEY DIFFER")
    spark.stop()
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
