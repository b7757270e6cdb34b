"""A rule for every customer of a bank, all of them over the card payments of a day, in batch and as a stream.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/customers.py
python examples/customers.py --customers 100000 --payments 1000000

Each customer says what is unusual: a small payment abroad that tests the card, then one above the customer's limit
within a time. The rules are rows of a table, and run together: a payment costs what it concerns, not how many rules
there are. Payments of customers without a rule are dropped before Spark sends anything to Python.

The stream reads the same day as files, one in each micro-batch, and gives the same alerts. Its state has the payments
that wait and the alerts that have begun; the rules are in a file that every machine gets once.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import cepheid as cep

UNUSUAL = """
    PATTERN SEQ(Abroad a, Payment b)
    WHERE   skip_till_next_match(a, b) { [customer = own] AND a.amount < trial AND b.amount > most }
    WITHIN  span
"""


def make_rules(customers: int, seed: int = 7) -> pa.Table:
    """A rule for each customer; only one of ten customers of the day has one."""
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array([f"customer {k}" for k in range(customers)]),
            "own": pa.array(np.arange(customers) * 10, pa.int64()),
            "trial": pa.array(chance.integers(2, 6, customers)),
            "most": pa.array(chance.integers(300, 900, customers)),
            "span": pa.array(chance.choice(["30 minutes", "2 hours", "6 hours"], customers)),
        }
    )


def make_day(customers: int, payments: int, seed: int = 8) -> pa.Table:
    """The payments of a day."""
    chance = np.random.default_rng(seed)
    opening = np.datetime64("2026-03-14T00:00:00", "us").astype(np.int64)
    times = opening + chance.integers(0, 86_400_000_000, payments)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "type": pa.array(chance.choice(["Payment", "Abroad"], payments, p=[0.7, 0.3])),
            "customer": pa.array(chance.integers(0, customers * 10, payments)),
            "amount": pa.array(np.round(chance.lognormal(3, 2, payments), 2)),
        }
    )


def write_hours(day: pa.Table, folder: Path) -> None:
    """The payments as the bank writes them: a file for every six hours, in the order of their times."""
    folder.mkdir()
    ordered = day.sort_by("ts")
    size = -(-ordered.num_rows // 4)
    for k in range(4):
        pq.write_table(ordered.slice(k * size, size), folder / f"{k}.parquet")


def run_stream(spark: SparkSession, alerts: cep.Queries, schema: Any, folder: Path) -> list[dict[str, Any]]:
    """The alerts of a stream of files, and those that are still pending when all of them are read."""
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    matches = alerts.match(source.withWatermark("ts", "10 minutes"))
    checkpoint = str(folder / "checkpoint")
    writer = matches.writeStream.format("parquet").option("path", str(folder / "out"))
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    found = spark.read.parquet(str(folder / "out")).union(cep.spark.pending(spark, alerts, checkpoint))
    rows: list[dict[str, Any]] = found.select("query", "match_start", "match_end").toArrow().to_pylist()
    return rows


def as_sorted(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Alerts in an order that does not depend on who has found them."""
    return sorted((row["query"], row["match_start"], row["match_end"]) for row in rows)


def main() -> None:
    """Make rules and a day, match them on Spark, as a stream and in memory, and compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--customers", type=int, default=2_000, help="how many customers have a rule")
    options.add_argument("--payments", type=int, default=200_000, help="how many payments there are")
    given = options.parse_args()
    builder = SparkSession.builder.master("local[2]").appName("customers")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4")
    spark = cep.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    rules, day = make_rules(given.customers), make_day(given.customers, given.payments)
    alerts = cep.Queries(UNUSUAL, rules)
    print(f"{alerts}, {day.num_rows:,} payments")
    payments = spark.createDataFrame(day).cache()
    payments.count()
    print(alerts.explain(payments))

    begin = time.perf_counter()
    found = alerts.match(payments).cache()
    count = found.count()
    print(f"{count:,} alerts on Spark in {time.perf_counter() - begin:.1f} s, with the start of its Python workers")
    shown = found.select("query", "match_start", "match_end", "events.event.amount")
    shown.orderBy("match_end").show(5, truncate=False)

    begin = time.perf_counter()
    known = alerts.match(day)
    print(f"{len(known):,} alerts in memory in {time.perf_counter() - begin:.1f} s")
    same = as_sorted(found.toArrow().to_pylist()) == as_sorted(known.to_pylist())

    with tempfile.TemporaryDirectory() as folder:
        write_hours(day, Path(folder, "in"))
        begin = time.perf_counter()
        live = run_stream(spark, alerts, payments.schema, Path(folder))
        print(f"{len(live):,} alerts of a stream of 4 files in {time.perf_counter() - begin:.1f} s")
    same = same and as_sorted(live) == as_sorted(known.to_pylist())
    spark.stop()
    print("the same alerts in all of them" if same else "THEY DIFFER")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
