"""A rule for every customer of a bank, all of them over the card payments of a day.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/customers.py
python examples/customers.py --customers 100000 --payments 1000000

Each customer says what is unusual: a small payment abroad that tests the card, then one above the customer's limit
within a time. The rules are rows of a table, and run together: a payment costs what it concerns, not how many rules
there are. Payments of customers without a rule are dropped before Spark sends anything to Python.
"""

import argparse
import time

import numpy as np
import pyarrow as pa
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


def main() -> None:
    """Make rules and a day, match them on Spark and in memory, and compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--customers", type=int, default=2_000, help="how many customers have a rule")
    options.add_argument("--payments", type=int, default=200_000, help="how many payments there are")
    given = options.parse_args()
    builder = SparkSession.builder.master("local[2]").appName("customers")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
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
    mine = sorted((row["query"], row["match_start"], row["match_end"]) for row in found.toArrow().to_pylist())
    same = mine == sorted((row["query"], row["match_start"], row["match_end"]) for row in known.to_pylist())
    spark.stop()
    print("the same alerts in both" if same else "THEY DIFFER")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
