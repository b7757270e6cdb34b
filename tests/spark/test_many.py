"""Many queries on Spark give what they give in memory, however the events are split."""

import random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.spark.many.columns import common_schema
from cepheid.spark.many.entry import make_many_job
from cepheid.spark.many.options import ManyOptions
from cepheid.spark.many.shipped import ship
from cepheid.spark.many.worker import ManyWorker

CHANCE = random.Random(5)
SYMBOLS = ["X", "Y", "Z", None]
COUNT = 400
TABLE = pa.table(
    {
        "ts": [CHANCE.randint(0, 90) for _ in range(COUNT)],  # several at each time
        "type": [CHANCE.choice("ABC") for _ in range(COUNT)],
        "symbol": [CHANCE.choice(SYMBOLS) for _ in range(COUNT)],
        "shop": pa.array([CHANCE.choice([1, 2, 3, None]) for _ in range(COUNT)], pa.int32()),
        "price": [CHANCE.randint(0, 20) for _ in range(COUNT)],
    }
)
RULES = pa.table(
    {
        "id": [f"u{k}" for k in range(24)],
        # Nobody has Q, and NULL is equal to nothing.
        "name": [CHANCE.choice(["X", "Y", "Q", None]) for _ in range(24)],
        "place": pa.array([CHANCE.choice([1, 2, 9, 2**40, None]) for _ in range(24)], pa.int64()),
        "high": [CHANCE.randint(8, 18) for _ in range(24)],
        "span": [CHANCE.choice(["5 ms", "9 ms", "20 ms"]) for _ in range(24)],
    }
)

CONSTANT = "PATTERN SEQ(A a, B b) WHERE [symbol = name] AND a.price > high AND b.price < 6 WITHIN span"
EACH = "PATTERN SEQ(A a, B b) WHERE a.shop = place AND b.shop = place AND a.price > high WITHIN 6"
ABSENT = "PATTERN SEQ(A a, !(C c), B b) WHERE a.symbol = name AND b.symbol = name AND c.price > high WITHIN 5"
KEYED = "PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high AND b.price < 6 WITHIN 8"
STRICT = "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.symbol = name AND b.symbol = name }"
FREE = "PATTERN SEQ(A a, B b) WHERE a.price > high AND b.price < 2 WITHIN 2"
BAGS = "PATTERN SEQ(A a, B+ b[]) WHERE [symbol = name] AND a.price > high AND b[i].price < 4 WITHIN 6"


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(TABLE).repartition(3).cache()


def with_events(row):
    """A match in memory, with its events as Spark has them."""
    events = []
    for name, value in row.items():
        if name in ("query", "match_start", "match_end"):
            continue
        for index, event in enumerate(value if isinstance(value, list) else [value]):
            events.append((name, index + 1, tuple(event.items())))
    return row["query"], row["match_start"], row["match_end"], sorted(events, key=repr)


def wanted(queries):
    return sorted((with_events(row) for row in queries.match(TABLE).to_pylist()), key=repr)


def found(frame):
    rows = []
    for row in frame.collect():
        events = [(e["variable"], e["index"], tuple(e["event"].asDict().items())) for e in row["events"]]
        rows.append((row["query"], row["match_start"], row["match_end"], sorted(events, key=repr)))
    return sorted(rows, key=repr)


@pytest.mark.parametrize(
    ("template", "told"),
    [
        pytest.param(CONSTANT, "split by constants, symbol has one of 3 values: 3 buckets", marks=pytest.mark.smoke),
        pytest.param(KEYED, "split by key, symbol, a key of all rules: 2 buckets", marks=pytest.mark.smoke),
        (ABSENT, "no key: split by time into about 4 slices"),
        (STRICT, "no key and no constants that every event must have: all events go to 2 buckets of rules"),
    ],
)
def test_the_same_as_in_memory(df, template, told):
    queries = cep.Queries(template, RULES)
    expected = wanted(queries)
    assert expected
    assert found(queries.match(df)) == expected
    assert told in queries.explain(df).text


def test_templates_with_several_ways_to_split(df):
    named = pa.concat_tables(
        RULES.slice(8 * k, 8).append_column("template", pa.array([name] * 8))
        for k, name in enumerate(("constant", "each", "free"))
    )
    queries = cep.Queries({"constant": CONSTANT, "each": EACH, "free": FREE}, named)
    expected = wanted(queries)
    matches = queries.match(df)
    assert found(matches) == expected
    assert {row["template"] for row in matches.select("template").distinct().collect()} == {"constant", "each", "free"}
    told = queries.explain(df).text
    assert "symbol has one of" in told
    assert "shop has one of" in told
    assert "8 rules: no key" in told
    own = queries.match(df, output="each", own=True)
    assert own.columns == ["query", "match_start", "match_end", "a", "b"]
    assert own.count() == len(queries.match(TABLE).outputs["each"])
    with pytest.raises(cep.CepheidError, match="no template 'eech'"):
        queries.match(df, output="eech")


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("template", [CONSTANT, EACH, ABSENT, KEYED, STRICT, FREE, BAGS])
def test_every_way_to_split(df, template, partitions):
    queries = cep.Queries(template, RULES)
    assert found(queries.match(df, partitions=partitions)) == wanted(queries)


def test_what_is_wrong_is_told_before_anything_runs(df):
    rules = [{"id": f"u{k}", "template": name, "name": "X", "high": 9} for k, name in enumerate(("good", "bad"))]
    templates = {"good": KEYED, "bad": "PATTERN SEQ(A a, B b) WHERE a.note = name"}
    with pytest.raises(cep.CepheidError, match=r"rule 'u1': .*note"):
        cep.Queries(templates, rules).match(df)
    queries = cep.Queries(templates, rules, errors="collect")
    assert {row["query"] for row in queries.match(df).collect()} == {"u0"}
    assert queries.errors["id"].to_pylist() == ["u1"]


CESAR = """
    CESAR LET S1 := A LET S2 := B
    SELECT[S1.price > high AND S1.shop = place](S1 ;[S1.shop = S2.shop AND DUR <= 6] S2)
"""
PROGRAM = """
    PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high WITHIN 6 RETURN a.symbol AS symbol, b.price AS price INTO P;
    FROM P PATTERN SEQ(P p, P q) WHERE [symbol] AND q.price > p.price WITHIN 9 RETURN q.price - p.price AS more
"""


@pytest.mark.slow
@pytest.mark.parametrize("template", [CONSTANT, CESAR, PROGRAM])
def test_the_columns_of_a_query(df, template):
    queries = cep.Queries(template, RULES)
    expected = sorted(map(repr, queries.match(TABLE).to_pylist()))
    assert expected
    assert sorted(repr(row.asDict(recursive=True)) for row in queries.match(df, own=True).collect()) == expected
    assert queries.match(df).count() == len(expected)


def test_more_events_than_are_matched_at_once(df, monkeypatch):
    queries = cep.Queries(BAGS, RULES)
    job = make_many_job(df, queries, ManyOptions())
    shipped = ship(job.rules, job.ways, queries.options, None)
    worker = ManyWorker(shipped, job.events, common_schema(job.rules, job.events))
    events = TABLE.sort_by("ts").to_batches(max_chunksize=40)
    monkeypatch.setattr("cepheid.spark.many.worker.AT_ONCE", 100)
    monkeypatch.setattr("cepheid.spark.many.worker.PUSH", 50)
    # Every bucket gets all events here: its rules take their own.
    rows = [row["query"] for k in range(job.buckets) for t in worker.match(k, iter(events)) for row in t.to_pylist()]
    assert sorted(rows) == sorted(row["query"] for row in queries.match(TABLE).to_pylist())
    assert rows


def test_nothing_to_match(df):
    queries = cep.Queries(CONSTANT, RULES)
    assert queries.match(df.where("false")).collect() == []
    assert cep.Queries(CONSTANT, RULES.filter(RULES["name"].is_null())).match(df).collect() == []
    assert cep.Queries(CONSTANT, RULES.slice(0, 0)).match(df).columns == [
        "query",
        "template",
        "match_start",
        "match_end",
        "events",
    ]


def test_rules_can_be_a_dataframe(df, spark):
    queries = cep.Queries(CONSTANT, spark.createDataFrame(RULES))
    assert queries.match(df).count() == len(cep.Queries(CONSTANT, RULES).match(TABLE))


def test_unknown_options(df):
    queries = cep.Queries(CONSTANT, RULES)
    with pytest.raises(cep.CepheidError, match="unknown option 'partition'"):
        queries.match(df, partition=3)
    with pytest.raises(cep.CepheidError, match="partitions= is an option for Spark"):
        queries.match(TABLE, partitions=3)
