"""Warnings on Spark: from a look at the first events where that needs no job, else from what the tasks have seen."""

import os
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.spark.one_file import one_file

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = ("view", "cart", "purchase", "view")
MISSPELT = "PATTERN SEQ(Cart a, purchase b) WHERE [user] AND a.x > 0 WITHIN 1 minute"
RIGHT = "PATTERN SEQ(cart a, purchase b) WHERE [user] AND a.x > 0 WITHIN 1 minute"

SEEN = "CEP005: the tasks have seen no event of the type 'Cart'; did you mean 'cart'?"
OF_TASKS = [
    (
        "PATTERN SEQ(cart a, !(buy b)) WHERE [user] WITHIN 1 minute",
        "CEP005: the tasks have seen no event of the type 'buy', so that its negation always holds; "
        "types that the query does not name: purchase, view",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30 ms",
        "CEP006: WITHIN is 30 milliseconds, and no two events that the tasks have seen of different times are closer "
        "than 1 second; check the unit of WITHIN",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [value] WITHIN 1 minute",
        "CEP008: the tasks have seen no value in 'value', so that [value] never holds; name a column that has values",
    ),
]


def shop(count: int = 200, value: int | None = 1) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([BEGIN + timedelta(seconds=k) for k in range(count)], pa.timestamp("us", "UTC")),
            "type": [KINDS[k % 4] for k in range(count)],
            "user": [k // 4 for k in range(count)],
            "x": [1.0] * count,
            "value": pa.array([value] * count, pa.int64()),
        }
    )


def told(run: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cep.CepheidWarning)
        run()
    ours = [w for w in caught if isinstance(w.message, cep.CepheidWarning)]
    assert all(w.filename == __file__ for w in ours)
    return [str(w.message) for w in ours]


def jobs(spark: Any) -> Sequence[int]:
    found: Sequence[int] = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    return found


@pytest.fixture(params=["rows", "parquet"])
def first_events(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Callable[[pa.Table], Any]:
    """Events whose first rows the driver can look at."""

    def make(table: pa.Table) -> Any:
        if request.param == "rows":
            return spark.createDataFrame(table)
        pq.write_table(table, tmp_path / "events.parquet")
        return spark.read.parquet(str(tmp_path))

    return make


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (MISSPELT, "CEP005: no event has the type 'Cart'; did you mean 'cart'?"),
        (
            "PATTERN SEQ(cart a, !(buy b)) WHERE [user] WITHIN 1 minute",
            "CEP005: no event has the type 'buy', so that its negation always holds; "
            "types that the query does not name: purchase, view",
        ),
        (
            "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30 ms",
            "CEP006: WITHIN is 30 milliseconds, and no two events of different times are closer than 1 second; "
            "check the unit of WITHIN",
        ),
        (
            "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30",
            "CEP007: WITHIN 30 has no unit, and is read as 30 milliseconds; "
            "write the unit: WITHIN 30 seconds, or WITHIN 30 milliseconds if that is meant",
        ),
        (
            "PATTERN SEQ(cart a, purchase b) WHERE [value] WITHIN 1 minute",
            "CEP008: every event has NULL in 'value', so that [value] never holds; name a column that has values",
        ),
    ],
)
def test_a_look_at_the_first_events_needs_no_job(
    spark: Any, first_events: Callable[[pa.Table], Any], text: str, warning: str
) -> None:
    df, query = first_events(shop(value=None)), cep.Query(text)
    before = jobs(spark)
    assert told(lambda: query.match(df)) == [warning]
    assert told(lambda: query.match(df)) == []
    assert jobs(spark) == before


def test_seconds_that_are_read_as_milliseconds(first_events: Callable[[pa.Table], Any]) -> None:
    table = shop()
    seconds = pa.array([1_772_323_200 + k for k in range(len(table))])
    df = first_events(table.set_column(0, "ts", seconds))
    assert [w[:6] for w in told(lambda: cep.Query(RIGHT).match(df))] == ["CEP009"]
    assert told(lambda: cep.Query(RIGHT, unit="s").match(df)) == []


def test_of_a_long_file_only_the_first_events_are_known(spark: Any, tmp_path: Path) -> None:
    pq.write_table(shop(12_000), tmp_path / "events.parquet")
    df = spark.read.parquet(str(tmp_path))
    assert told(lambda: cep.Query(MISSPELT).match(df)) == [
        "CEP005: none of the first 10,000 events has the type 'Cart'; did you mean 'cart'?"
    ]


def form_of(spark: Any, table: pa.Table, form: str, folder: Path) -> Any:
    """The same events as a DataFrame whose first rows the driver can't look at."""
    df = spark.createDataFrame(table)
    if form == "computed":
        return df.repartition(3)
    if form == "cached":
        cached = df.repartition(3).cache()
        cached.count()
        return cached
    if form == "joined":
        users = spark.createDataFrame([(k,) for k in range(len(table))], "user long")
        return df.join(users, "user").select(*df.columns)
    if form == "csv":
        df.write.option("header", "true").csv(str(folder / "csv"))
        return spark.read.schema(df.schema).option("header", "true").csv(str(folder / "csv"))
    if form == "filtered parquet":
        pq.write_table(table, folder / "a b.parquet")
        return spark.read.parquet(str(folder)).where("x > 0")
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], df.schema)


@pytest.mark.parametrize("form", ["computed", "cached", "joined", "csv", "filtered parquet", "list"])
def test_what_the_tasks_have_seen(spark: Any, tmp_path: Path, form: str) -> None:
    """The driver is told before the action returns, and the rows that came along to be looked at are in no match."""
    table = shop(2_000)
    df = form_of(spark, table, form, tmp_path)
    query = cep.Query(MISSPELT)
    found: list[Any] = []
    assert told(lambda: found.append(query.match(df))) == []
    assert told(found[0].collect) == [SEEN]
    assert told(found[0].collect) == []
    right = cep.Query(RIGHT)
    assert told(lambda: found.append(right.match(df).count())) == []
    assert found[1] == right.match(table).count() == 500


@pytest.mark.parametrize("form", ["joined", "filtered parquet"])
def test_all_that_the_tasks_have_seen(spark: Any, tmp_path: Path, form: str) -> None:
    df = form_of(spark, shop(2_000, value=None), form, tmp_path)
    for text, warning in OF_TASKS:
        assert told(cep.Query(text).match(df).count) == [warning]


def test_one_of_many_files_is_looked_at(spark: Any, tmp_path: Path) -> None:
    for name in "ab":
        pq.write_table(shop(), tmp_path / f"{name} c.parquet")
    df = spark.read.parquet(str(tmp_path)).where("x > 0").drop("value")
    last = Path(unquote(urlsplit(df.inputFiles()[-1]).path)).name
    (other,) = (path for path in tmp_path.iterdir() if path.name != last)
    other.write_bytes(b"PAR1 is all of it PAR1")
    found = one_file(df)
    assert found is not None
    assert found.count() == 200
    assert one_file(df.groupBy("type").count()) is None
    assert one_file(df.withColumnRenamed("x", "_metadata")) is None


def test_tasks_see_seconds_that_are_read_as_milliseconds(spark: Any) -> None:
    table = shop()
    df = spark.createDataFrame(table.set_column(0, "ts", pa.array([1_772_323_200 + k for k in range(len(table))])))
    assert [w[:6] for w in told(cep.Query(RIGHT).match(df.repartition(2)).count)] == ["CEP009"]


def test_events_of_other_tasks_are_in_between(spark: Any) -> None:
    """Each task has events that are a second apart; all of them together are closer."""
    df = spark.createDataFrame(shop()).selectExpr("ts", "type", "user", "0 AS part")
    parts = [df.selectExpr(f"ts + INTERVAL {k * 100} MILLISECONDS AS ts", "type", f"{k} AS user") for k in range(10)]
    events = parts[0]
    for part in parts[1:]:
        events = events.union(part)
    query = cep.Query("PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30 ms")
    assert told(query.match(events.repartition(2), partitions=7).count) == []


def test_a_type_with_a_condition_may_be_there(spark: Any) -> None:
    """Spark drops events of the type that do not fulfil it, so that no task may have seen one."""
    df = spark.createDataFrame(shop(2_000)).repartition(2)
    query = cep.Query("PATTERN SEQ(cart a, !(buy b)) WHERE [user] AND b.x > 5 WITHIN 1 minute")
    assert told(query.match(df).count) == []


def test_all_rows_are_looked_at_where_all_are_sent(spark: Any) -> None:
    df = spark.createDataFrame(shop()).repartition(2)
    text = "PATTERN SEQ(Cart a, purchase b) WHERE strict_contiguity(a, b) { [user] } WITHIN 1 minute"
    assert told(lambda: cep.Query(text).match(df).count()) == [SEEN]


def test_a_filter_that_makes_warnings_errors_does_not_stop_spark(spark: Any) -> None:
    df = spark.createDataFrame(shop()).repartition(2)
    assert cep.Query(MISSPELT).match(df).count() == 0


@pytest.mark.parametrize(
    ("text", "warnings"),
    [(MISSPELT, [SEEN]), (RIGHT, []), *((text, [warning]) for text, warning in OF_TASKS[1:])],
)
def test_a_stream(spark: Any, tmp_path: Path, text: str, warnings: list[str]) -> None:
    table = shop(4_000, value=None)
    (tmp_path / "events").mkdir()
    for k in range(2):
        pq.write_table(table.slice(2_000 * k, 2_000), tmp_path / "events" / f"{k}.parquet")
        os.utime(tmp_path / "events" / f"{k}.parquet", (k, k))  # Spark takes the oldest file first
    schema = spark.createDataFrame(table).schema
    given: list[Any] = []

    def run() -> None:
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        events = reader.parquet(str(tmp_path / "events")).withWatermark("ts", "0 seconds")
        writer = (
            cep.Query(text)
            .match(events, buckets=1)
            .writeStream.foreachBatch(lambda batch, _: given.extend(batch.collect()))
        )
        running = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
        assert running.awaitTermination(300)

    assert told(run) == warnings
    assert len(given) == (0 if warnings else 1_000)


def test_a_stream_of_a_window_without_a_unit(spark: Any, tmp_path: Path) -> None:
    events = spark.readStream.schema(spark.createDataFrame(shop()).schema).parquet(str(tmp_path))
    text = "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30"
    assert [w[:6] for w in told(lambda: cep.Query(text).match(events.withWatermark("ts", "1 minute")))] == ["CEP007"]
