"""Events of matches on Spark: one row for each, and events beside values in RETURN, as in memory."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

import cepheid as cep

KEYED = "PATTERN SEQ(A a, B+ b[]) WHERE [id] AND a.x > 0.8 AND b[].x < 0.3 WITHIN 40 seconds RETURN a.x AS x"
ALONE = "PATTERN SEQ(A a, B b) WHERE a.x > 0.9 AND b.x < 0.1 WITHIN 40 seconds"
EVENTS = """
    PATTERN SEQ(A a, B+ b[]) WHERE [id] AND a.x > 0.8 AND b[].x < 0.3 WITHIN 40 seconds
    RETURN match_id, a, b[] AS bs, b[2] AS second, a.x AS x, ALL(b[].x < a.x) AS less, collect(b[].ts) AS times,
        total(b[].x) AS total
"""
SPARK = "ts timestamp, type string, id long, x double"


def _events(n: int = 1500) -> pa.Table:
    chance = random.Random(3)
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    return pa.table(
        {
            "ts": pa.array([begin + timedelta(seconds=3 * k) for k in range(n)], pa.timestamp("us", "UTC")),
            "type": [chance.choice("ABC") for _ in range(n)],
            "id": [chance.randint(1, 3) for _ in range(n)],
            "x": [chance.random() for _ in range(n)],
        }
    )


TABLE = _events()


def in_memory(query: cep.Query, *, long: bool) -> list[str]:
    matches = query.match(TABLE)
    return sorted(map(repr, (matches.to_long() if long else matches.to_arrow()).to_pylist()))


def in_spark(found: Any) -> list[str]:
    return sorted(map(repr, found.toArrow().to_pylist()))


@pytest.mark.parametrize(
    ("text", "long"), [(KEYED, True), (ALONE, True), (EVENTS, False)], ids=["keyed", "alone", "events"]
)
def test_a_batch_and_files_and_a_stream(spark: Any, tmp_path: Any, text: str, long: bool) -> None:
    query = cep.Query(text, functions={"total": cep.Aggregate(0.0, lambda state, x: state + x, returns=float)})
    expected = in_memory(query, long=long)
    assert expected
    (tmp_path / "events").mkdir()
    pq.write_table(TABLE, tmp_path / "events" / "part.parquet", store_schema=False)
    files = spark.read.schema(SPARK).parquet(str(tmp_path / "events"))
    assert in_spark(query.match(files.repartition(3), long=long)) == expected
    assert in_spark(query.match(files, long=long)) == expected
    assert query.match(files, long=long).schema == cep.spark.schema(files.schema, query, long=long)
    live = spark.readStream.schema(SPARK).parquet(str(tmp_path / "events")).withWatermark("ts", "1 second")
    name = f"long_{abs(hash(text))}"
    streaming = query.match(live, long=long).writeStream.format("memory").queryName(name)
    running = streaming.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    running.awaitTermination()
    rest = cep.spark.pending(spark, query, str(tmp_path / "state"), long=long)
    assert sorted([*in_spark(spark.table(name)), *in_spark(rest)]) == expected


def test_what_can_not_be_combined(spark: Any) -> None:
    events = spark.createDataFrame(TABLE)
    with pytest.raises(cep.InputError, match="the events have a column 'index'"):
        cep.Query(ALONE).match(events.withColumnRenamed("id", "index"), long=True)


def test_the_type_of_an_aggregate_of_the_users_own() -> None:
    columns = StructType([StructField("ts", LongType()), StructField("type", StringType())])
    text = "PATTERN A+ a[] WITHIN 9 RETURN ids(a[].ts) AS ids"
    typed = cep.Query(text, functions={"ids": cep.Aggregate((), lambda s, x: (*s, x), returns=pa.list_(pa.int64()))})
    assert cep.spark.schema(columns, typed)["ids"].dataType == ArrayType(LongType())
    untyped = cep.Query(text, functions={"ids": cep.Aggregate((), lambda s, x: (*s, x))})
    with pytest.raises(cep.BindError, match=r"CEP908.*ids") as error:
        cep.spark.schema(columns, untyped)
    assert "returns=float" in str(error.value)
