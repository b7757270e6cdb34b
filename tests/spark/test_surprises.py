"""Warnings on Spark: from a look at the first events where that needs no job, else from what the tasks have seen."""

import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = ("view", "cart", "purchase", "view")
MISSPELT = "PATTERN SEQ(Cart a, purchase b) WHERE [user] AND a.x > 0 WITHIN 1 minute"
RIGHT = "PATTERN SEQ(cart a, purchase b) WHERE [user] AND a.x > 0 WITHIN 1 minute"

SEEN = "CEP005: the tasks have seen no event of the type 'Cart'; did you mean 'cart'?"


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


@pytest.mark.parametrize("form", ["computed", "cached", "csv", "list"])
def test_what_the_tasks_have_seen(spark: Any, tmp_path: Path, form: str) -> None:
    """The driver is told before the action returns, and the rows that came along to be looked at are in no match."""
    table = shop()
    df = spark.createDataFrame(table)
    if form == "computed":
        df = df.repartition(3)
    elif form == "cached":
        df = df.repartition(3).cache()
        df.count()
    elif form == "csv":
        df.write.option("header", "true").csv(str(tmp_path / "csv"))
        df = spark.read.schema(df.schema).option("header", "true").csv(str(tmp_path / "csv"))
    else:
        df = spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], df.schema)
    query = cep.Query(MISSPELT)
    found: list[Any] = []
    assert told(lambda: found.append(query.match(df))) == []
    assert told(found[0].collect) == [SEEN]
    assert told(found[0].collect) == []
    right = cep.Query(RIGHT)
    assert told(lambda: found.append(right.match(df).count())) == []
    assert found[1] == right.match(table).count() == 50


def test_all_rows_are_looked_at_where_all_are_sent(spark: Any) -> None:
    df = spark.createDataFrame(shop()).repartition(2)
    text = "PATTERN SEQ(Cart a, purchase b) WHERE strict_contiguity(a, b) { [user] } WITHIN 1 minute"
    assert told(lambda: cep.Query(text).match(df).count()) == [SEEN]


def test_a_filter_that_makes_warnings_errors_does_not_stop_spark(spark: Any) -> None:
    df = spark.createDataFrame(shop()).repartition(2)
    assert cep.Query(MISSPELT).match(df).count() == 0


@pytest.mark.parametrize(("text", "warns"), [(MISSPELT, True), (RIGHT, False)])
def test_a_stream(spark: Any, tmp_path: Path, text: str, warns: bool) -> None:
    table = shop()
    (tmp_path / "events").mkdir()
    for k in range(2):
        pq.write_table(table.slice(100 * k, 100), tmp_path / "events" / f"{k}.parquet")
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

    assert told(run) == [SEEN] * warns
    assert bool(given) is not warns


def test_a_stream_of_a_window_without_a_unit(spark: Any, tmp_path: Path) -> None:
    events = spark.readStream.schema(spark.createDataFrame(shop()).schema).parquet(str(tmp_path))
    text = "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30"
    assert [w[:6] for w in told(lambda: cep.Query(text).match(events.withWatermark("ts", "1 minute")))] == ["CEP007"]
