"""A fraud rule that is tightened at noon, while the stream runs: what was begun in the morning is kept.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/control.py

Somebody who has stolen a card tries it with small payments, and then buys something large. The rule asks for three
small payments and one of more than 500. At noon that becomes two and 200: a row in a folder says so, and the stream
goes on. Cards that were tried before noon are found by the new rule too: the payments that count are in the state.
"""

import argparse
import json
import random
import tempfile
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import cepheid as cep

FRAUD = cep.Query(
    """
    AUTOMATON idle -> alarm
    REGISTER  small INT = 0
    ARC       idle -> tried  WHEN e.amount < 5 SET small = 1
    ARC       tried -> tried WHEN e.amount < 5 SET small = r.small + 1
    IGNORE    tried WHEN e.amount >= 5
    ARC big:  tried -> alarm WHEN e.amount > 500 AND r.small = 3
    PARTITION BY card
    WITHIN    3 hours
    RETURN    last.card AS card, r.small AS small, last.amount AS amount
    """,
    type=None,
)
DAY = datetime(2026, 3, 14, tzinfo=UTC)
NOON = DAY + timedelta(hours=12)
TIGHTER = [
    {"id": "big", "action": "remove_arc", "at": NOON},
    {
        "id": "big",
        "action": "add_arc",
        "text": "ARC tried -> alarm WHEN e.amount > 200 AND r.small = 2",
        "at": NOON,
    },
]
TYPO = [{"id": "odd", "action": "add_arc", "text": "ARC tried -> alarm WHEN e.amuont > 9000"}]


def make_payments(cards: int, seed: int = 7) -> list[pa.Table]:
    """The payments of each hour of a day; every tenth card is stolen at some time."""
    chance = random.Random(seed)
    rows = []

    def pay(card: int, at: datetime, amount: float) -> None:
        rows.append({"ts": at, "card": card, "amount": round(amount, 2)})

    for card in range(cards):
        for _ in range(chance.randint(2, 12)):
            pay(card, DAY + timedelta(seconds=chance.randrange(86_400)), chance.uniform(5, 180))
        if card % 10 == 0:
            at = DAY + timedelta(seconds=chance.randrange(80_000))
            for _ in range(chance.choice([2, 3])):
                pay(card, at, chance.uniform(0.5, 3))
                at += timedelta(seconds=chance.randrange(60, 1800))
            pay(card, at, chance.uniform(220, 900))
    rows.sort(key=lambda row: row["ts"])
    columns = pa.schema([("ts", pa.timestamp("us", "UTC")), ("card", pa.int64()), ("amount", pa.float64())])
    hours = [[row for row in rows if row["ts"].day == DAY.day and row["ts"].hour == hour] for hour in range(24)]
    return [pa.Table.from_pylist(hour, columns) for hour in hours]


def live(spark: SparkSession, work: Path) -> DataFrame:
    """The alarms, as payments and rules come in."""
    payments = spark.readStream.schema("ts timestamp, card long, amount double").parquet(str(work / "payments"))
    rules = spark.readStream.schema("id string, action string, text string, at timestamp").json(str(work / "rules"))
    return FRAUD.match(payments.withWatermark("ts", "10 minutes"), control=rules)


def send(rows: list[dict], work: Path, name: str) -> None:
    """Write control rows as a file, whole at once: a stream must not read half of it."""
    draft = work / "draft.json"
    draft.write_text("".join(f"{json.dumps(row, default=datetime.isoformat)}\n" for row in rows))
    draft.rename(work / "rules" / name)


def run(spark: SparkSession, hours: list[pa.Table], work: Path) -> DataFrame:
    """Run the stream over the day; the rules come in the middle of it."""
    for name in ("payments", "rules"):
        (work / name).mkdir(parents=True)
    stream = (
        live(spark, work)
        .writeStream.option("path", str(work / "alarms"))
        .option("checkpointLocation", str(work / "checkpoint"))
        .start()
    )
    for part, (begin, end) in enumerate([(0, 6), (6, 11), (11, 15), (15, 24)]):
        if begin == 11:
            send([*TIGHTER, *TYPO], work, "noon.json")  # before the watermark is at noon
        pq.write_table(pa.concat_tables(hours[begin:end]), work / "draft.parquet")
        (work / "draft.parquet").rename(work / "payments" / f"{part}.parquet")
        stream.processAllAvailable()
        alarms = spark.read.parquet(str(work / "alarms")).count()
        print(f"  {begin:2} to {end:2} o'clock: {alarms} alarms so far")
    stream.stop()
    rest = cep.spark.pending(spark, FRAUD, str(work / "checkpoint"))  # of the last minutes of the day
    return spark.read.parquet(str(work / "alarms")).unionByName(rest)


def main() -> None:
    """Run the stream, and compare with a batch that has the same changes."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--cards", type=int, default=3000, help="how many cards pay")
    given = options.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    builder = SparkSession.builder.master("local[2]").appName("rules that change")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4")
    spark = cep.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        hours = make_payments(given.cards)
        print(f"{sum(map(len, hours)):,} payments of {given.cards:,} cards")
        alarms = run(spark, hours, work).cache()
        print(f"{alarms.count()} alarms")

        before, after = F.col("match_start") < F.lit(NOON), F.col("match_end") > F.lit(NOON)
        kept = alarms.where(before & after & (F.col("small") == 2))
        print(f"{kept.count()} of them by the new rule, of cards that were first tried before noon:")
        kept.drop("valid_until").orderBy("match_end").show(3, truncate=False)

        for row in cep.spark.refusals(spark, str(work / "checkpoint")).collect():
            print(f"refused: {row.action} {row.id}: {row.reason}")
        changes = cep.spark.changes(spark, FRAUD, str(work / "checkpoint"))
        batch = FRAUD.match(spark.read.parquet(str(work / "payments")), changes=changes)
        same = sorted(alarms.drop("query").collect()) == sorted(batch.collect())
        print("the same alarms as in a batch with these changes" if same else "THEY DIFFER")
    spark.stop()
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
