"""Batch on Spark gives the rows that the engine gives in memory, however the events are split."""

import random
import re
import warnings
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import cepheid as cep

KEYED = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.8 AND b.x < 0.2 WITHIN 300"
ALONE = "PATTERN SEQ(A a, B b) WHERE a.x > 0.9 AND b.x < 0.1 WITHIN 40"
ABSENT = "PATTERN SEQ(!(C c), A a, B b, !(D d)) WHERE a.x > 0.9 AND b.x < 0.2 AND c.x > 0.5 AND d.x > 0.5 WITHIN 30"
CART = "PATTERN SEQ(A a, !(D d)"
SCOPED = "FROM readings(A, B, D) WHERE x > 0.1 PATTERN SEQ(A a, * b) WHERE partition_contiguity { [id] } WITHIN 40"
PROGRAM = """
    PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.9 WITHIN 50 RETURN a.id AS id, b.x AS x INTO P;
    FROM P PATTERN SEQ(P p, P q) WHERE [id] AND q.x > p.x WITHIN 200 RETURN p.id AS id, q.x - p.x AS more
"""


def events(n=3000, seed=1, hot=0.7):
    chance = random.Random(seed)
    ids = [None if chance.random() < 0.05 else 1 if chance.random() < hot else chance.randint(2, 9) for _ in range(n)]
    return pa.table(
        {
            "ts": [chance.randint(-5_000, 15_000) for _ in range(n)],
            "type": [chance.choice("ABCDE") for _ in range(n)],
            "id": pa.array(ids, pa.int64()),
            "x": [chance.random() for _ in range(n)],
        }
    )


TABLE = events()


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(TABLE).repartition(3).cache()


def rows(found):
    return sorted(repr(row.asDict(recursive=True)) for row in found.collect())


def wanted(query, table=TABLE):
    return sorted(map(repr, query.match(table).to_pylist()))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.smoke),
        {"partitions": 1},
        {"skew": True, "partitions": 5},
        {"pushdown": False},
    ],
)
@pytest.mark.parametrize("text", [KEYED, ALONE, ABSENT, SCOPED, PROGRAM])
def test_the_same_rows_as_in_memory(df, text, options):
    query = cep.Query(text)
    expected = wanted(query)
    assert expected
    assert rows(query.match(df, **options)) == expected


@pytest.mark.parametrize(
    "text", [f"{CART}) WITHIN 60", f"{CART} FOR 900) WHERE [id]", f"{CART}) WHERE [id] WITHIN 7 events"]
)
def test_absences_that_the_end_cuts_short(df, text):
    query = cep.Query(text)
    expected = sorted(map(repr, query.match(TABLE, open=False).to_pylist()))
    assert 0 < len(expected) < query.match(TABLE).count()
    assert rows(query.match(df, open=False)) == expected


@pytest.mark.smoke
def test_a_key_with_most_of_the_events_is_split_by_time(spark):
    table = events(40_000, seed=2, hot=0.95)
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.95 AND b.x < 0.05 WITHIN 20")
    found = query.match(spark.createDataFrame(table).repartition(2), partitions=4, skew=True)
    assert rows(found) == wanted(query, table)
    told = found.mapInArrow(lambda batches: (b for b in batches), found.schema)  # still one plan, nothing collected
    assert "__cepheid_slice" in told._jdf.queryExecution().toString()


def test_without_key_and_window_it_runs_in_order_and_says_so(df):
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE a.x > 0.998 AND b.x < 0.01")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = query.match(df)
    (warning,) = (str(w.message) for w in told if issubclass(w.category, cep.CepheidWarning))
    assert re.search(r"one task, in order.*add \[attr\], PARTITION BY or WITHIN", warning)
    assert rows(found) == wanted(query)


def at(ts):
    return datetime(2026, 3, 28, tzinfo=UTC) + timedelta(minutes=ts)


@pytest.mark.parametrize(
    ("kind", "time"),
    [
        (pa.timestamp("us", "UTC"), at),
        (pa.timestamp("us"), lambda ts: at(ts).replace(tzinfo=None)),
        (pa.date32(), lambda ts: date(2026, 3, 28) + timedelta(days=ts // 20)),
        (pa.int32(), lambda ts: ts),
    ],
)
def test_times_of_every_type_are_sliced(spark, kind, time):
    table = events(1500, seed=3)
    times = pa.array([time(ts) for ts in table["ts"].to_pylist()], kind)
    table = table.set_column(0, "ts", times)
    window = "3 days" if pa.types.is_date(kind) else "60 minutes" if pa.types.is_timestamp(kind) else "60"
    query = cep.Query(f"PATTERN SEQ(A a, B b) WHERE a.x > 0.9 AND b.x < 0.1 WITHIN {window} RETURN a.x AS x, b.x AS y")
    found = [(r.x, r.y) for r in query.match(spark.createDataFrame(table)).collect()]
    assert sorted(found) == sorted((m["x"], m["y"]) for m in query.match(table))
    assert found


def test_the_schema_is_known_before_running(df):
    for text in (KEYED, PROGRAM, "PATTERN SEQ(A a, B+ b[]) WHERE [id] WITHIN 3 RETURN count(b[].x) AS n, a.type AS t"):
        query = cep.Query(text)
        assert query.schema(df.schema) == query.match(df).schema


@pytest.mark.smoke
def test_nothing_runs_at_definition(spark, df):
    df.count()
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup(None)
    for text in (KEYED, ALONE, PROGRAM):
        assert cep.Query(text).match(df).schema
    assert tracker.getJobIdsForGroup(None) == before


@pytest.mark.smoke
def test_it_fits_transform_and_sql(spark, df):
    query = cep.Query(KEYED)
    assert rows(df.transform(cep.spark.match, query, partitions=2)) == wanted(query)
    df.createOrReplaceTempView("readings")
    text = "FROM readings PATTERN SEQ(A a, B b) WHERE [id] AND a.x > low AND b.x < 0.2 WITHIN 300"
    assert rows(cep.spark.sql(spark, text, params={"low": 0.8})) == wanted(query)
    with pytest.raises(cep.UsageError, match="CEP910") as caught:
        cep.spark.sql(spark, KEYED)
    assert "FROM" in str(caught.value)


@pytest.mark.smoke
def test_any_query_of_a_program_can_be_asked_for(df):
    query = cep.Query(PROGRAM)
    expected = sorted(map(repr, query.match(TABLE).outputs["P"].to_pylist()))
    assert rows(query.match(df, output="P")) == expected
    with pytest.raises(cep.UsageError, match="did you mean 'P'"):
        query.match(df, output="p")


def test_the_explanation_tells_what_spark_does(df):
    told = str(cep.Query(KEYED).explain(df))
    assert "split by key: id" in told
    assert "columns that cross into Python: ts, type, id, x" in told
    assert "read by Spark's own scan" in told
    assert "any key fits into a task (skew=True" in told
    assert "also split by time" in str(cep.Query(KEYED).explain(df, skew=True))
    assert "about 3 slices" in str(cep.Query(ALONE).explain(df, partitions=3))


def test_what_a_function_returns_must_be_annotated(df):
    def half(x):
        return x / 2

    def third(x) -> float:
        return x / 3

    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN f(a.x) AS y"
    with pytest.raises(cep.BindError, match="CEP908") as caught:
        cep.Query(text, functions={"f": half}).match(df)
    assert "def f(…) -> float" in str(caught.value)
    query = cep.Query(text, functions={"f": third})
    assert rows(query.match(df)) == wanted(query)


def test_odd_names_and_times_that_are_null(spark):
    table = pa.table({"a.b": [1, 2, None], "ty`pe": ["A", "B", "A"], "the id": [1, 1, 1]})
    query = cep.Query("PATTERN SEQ(A a, B b) PARTITION BY `the id` WITHIN 5", time="a.b", type="ty`pe")
    frame = spark.createDataFrame(table)
    assert rows(query.match(frame.where(F.col("`a.b`").isNotNull()))) == wanted(query, table.slice(0, 2))
    with pytest.raises(Exception, match="CEP402"):
        query.match(frame).collect()


def test_wrong_arguments_are_told_before_anything_runs(df):
    query = cep.Query(KEYED)
    for options, code in (
        ({"partitions": 0}, "CEP603"),
        ({"late": "collect"}, "CEP601"),
        ({"engine": "reference"}, "CEP601"),
        ({"plan": "fast"}, "CEP6"),
        ({"limit": 3}, "CEP603"),
        ({"partition": 3}, "CEP603.*\n.*did you mean 'partitions'"),
    ):
        with pytest.raises(cep.UsageError, match=code):
            query.match(df, **options)
    with pytest.raises(cep.BindError, match="CEP301"):
        cep.Query("PATTERN SEQ(A a, B b) WHERE [idd] WITHIN 5").match(df)
    with pytest.raises(cep.UsageError, match="CEP603"):
        query.match(TABLE, partitions=3)
    with pytest.raises(cep.UsageError, match=r"df\.toArrow"):
        query.session().push(df)


def test_strings_that_spark_compares_by_its_own_rules_are_not_filtered_by_it(spark):
    table = pa.table({"ts": [1, 2, 3], "type": ["A", "A", "A"], "s": ["X", "y", "x"]})
    collated = spark.createDataFrame(table).selectExpr("ts", "type", "s COLLATE UTF8_LCASE AS s")
    query = cep.Query("PATTERN A a WHERE a.s != 'x' WITHIN 5")
    assert rows(query.match(collated)) == wanted(query, table)
    assert "by its collation" in str(query.explain(collated))


def test_times_further_apart_than_a_number_tells(spark):
    table = pa.table({"ts": [-(2**63), 1, 2, 2**63 - 1], "type": ["A", "A", "B", "B"]})
    query = cep.Query("PATTERN SEQ(A a, B b) WITHIN 5")
    assert rows(query.match(spark.createDataFrame(table))) == wanted(query, table)


def test_columns_that_differ_by_case_only(spark):
    frame = spark.createDataFrame(pa.table({"ts": [1], "type": ["A"], "TS": [1]}))
    with pytest.raises(cep.InputError, match="CEP404") as caught:
        cep.Query("PATTERN A a WITHIN 5").match(frame)
    assert "caseSensitive" in caught.value.remedy


def test_a_session_in_a_zone_that_arrow_writes_otherwise(spark):
    table = pa.table({"ts": pa.array([at(1), at(2)], pa.timestamp("us", "UTC")), "type": ["A", "B"]})
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE a.ts >= '2026-03-28 08:00:00' WITHIN 5 minutes RETURN a.type AS t")
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "GMT+8")
        assert [row.t for row in query.match(spark.createDataFrame(table)).collect()] == ["A"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
