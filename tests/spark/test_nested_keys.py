"""Keys that are fields of structs: what Spark shuffles by, and what the buckets of a stream go by."""

import os
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHO = pa.struct([("id", pa.int64()), ("x", pa.float64())])
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("p", pa.struct([("user", pa.string()), ("who", WHO)]))]
)
SPARK = "ts timestamp, type string, p struct<user: string, who: struct<id: long, x: double>>"
QUERIES = {
    "[attr]": "PATTERN SEQ(A a, B b) WHERE [p.user] AND a.p.who.id < b.p.who.id WITHIN 20 seconds",
    "PARTITION BY": "PATTERN SEQ(A a, B+ b[]) PARTITION BY p.user, p.who.id WITHIN 30 seconds",
    "a float": "PATTERN SEQ(A a, B b) WHERE [p.who.x] WITHIN 60 seconds",
    "a value": "PATTERN SEQ(A a, B b) WHERE [p.user = 'u1'] WITHIN 20 seconds RETURN a.p.who.id AS id, b.ts AS at",
    "NON_OVERLAP": "PATTERN SEQ(A a, B b, !(C c)) WHERE [p.user] WITHIN 20 seconds OUTPUT NON_OVERLAP",
    "program": """
        PATTERN SEQ(A a, B b) WHERE [p.user] WITHIN 20 seconds RETURN a.p AS p, b.p.who.id AS id INTO P;
        FROM P PATTERN SEQ(P p, P q) WHERE [p.user] AND p.id < q.id WITHIN 30 seconds RETURN p.id AS i, q.id AS j""",
}


def payload(chance):
    """A struct, or none, or one whose fields are NULL; two spellings of zero."""
    if chance.random() < 0.1:
        return None
    who = None if chance.random() < 0.1 else {"id": chance.randint(1, 3), "x": chance.choice([0.0, -0.0, 1.5, None])}
    return {"user": chance.choice(["u1", "u2", "u3", "u4", None]), "who": who}


def events(count=400, seed=5):
    chance = random.Random(seed)
    kinds = (chance.choice("ABC") for _ in range(count))
    return [{"ts": BEGIN + timedelta(seconds=k), "type": kind, "p": payload(chance)} for k, kind in enumerate(kinds)]


TABLE = pa.Table.from_pylist(events(), SCHEMA)


def in_order(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(TABLE, SPARK).repartition(3).cache()


@pytest.mark.parametrize("name", QUERIES)
def test_batch_gives_the_rows_of_memory(df, name):
    query = cep.Query(QUERIES[name])
    expected = in_order(query.match(TABLE).to_pylist())
    assert expected
    assert in_order(query.match(df, partitions=3).toArrow().to_pylist()) == expected


def test_hot_keys_are_split_by_time(df):
    query = cep.Query(QUERIES["[attr]"])
    expected = in_order(query.match(TABLE).to_pylist())
    assert in_order(query.match(df, skew=True, partitions=5).toArrow().to_pylist()) == expected


def test_an_explanation_names_the_key(df):
    text = str(cep.Query(QUERIES["PARTITION BY"]).explain(df))
    assert "split by key: p.user, p.who.id; each task sorts" in text


def test_fields_that_differ_only_in_case_are_no_keys_to_spark(spark):
    rows = spark.createDataFrame([(1, "A", ("x", "y"))], "ts long, type string, p struct<user: string, User: string>")
    message = "CEP404: Spark cannot tell the fields of 'p' 'user' and 'User' apart: they differ only in case"
    with pytest.raises(cep.InputError, match=message):
        cep.Query("PATTERN SEQ(A a, B b) WHERE [p.user] WITHIN 9").match(rows)


def test_rows_without_the_key_stay_in_the_jvm(df):
    text = str(cep.Query(QUERIES["a value"]).explain(df))
    assert "pushed down: [p.user = 'u1']" in text


@pytest.mark.parametrize("name", ["[attr]", "a float", "program"])
def test_a_stream_gives_the_rows_of_memory(spark, tmp_path, name):
    query, given = cep.Query(QUERIES[name]), []
    (tmp_path / "events").mkdir()
    for k in range(2):
        path = tmp_path / "events" / f"{k}.parquet"
        pq.write_table(TABLE.slice(k * 200, 200), path)
        os.utime(path, (10**9 + k, 10**9 + k))
    stream = spark.readStream.schema(SPARK).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
    matches = query.match(stream.withWatermark("ts", "0 seconds"), buckets=4)
    writer = matches.writeStream.foreachBatch(lambda batch, _: given.extend(batch.toArrow().to_pylist()))
    checkpoint = str(tmp_path / "checkpoint")
    running = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    assert running.awaitTermination(300), running.lastProgress
    given += cep.spark.pending(spark, query, checkpoint).toArrow().to_pylist()
    expected = in_order(query.match(TABLE).to_pylist())
    assert expected
    assert in_order(given) == expected
