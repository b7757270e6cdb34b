"""`q.trace(df)` and `q.why_not(df, …)`: on events that are collected, as in memory."""

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import UsageError
from cepheid.spark import tracing

EVENTS = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6],
        "type": ["cart", "cart", "view", "purchase", "purchase", "cart"],
        "user": [7, 8, 7, 7, 8, None],
        "x": [3, 9, 1, 5, 5, 5],
        "note": list("abcdef"),
    }
)
PAIR = "PATTERN SEQ(cart a, !(view c), purchase b) WHERE [user] AND b.x > a.x WITHIN 500"
ARCS = "AUTOMATON s -> t ARC s -> u WHEN e.x > 2 ARC u -> t WHEN e.x > 4 PARTITION BY user WITHIN 500"


@pytest.mark.parametrize("text", [PAIR, ARCS])
def test_the_trace_is_that_in_memory(spark: Any, text: str) -> None:
    query = cep.Query(text)
    found = query.trace(spark.createDataFrame(EVENTS))
    assert (
        found.to_arrow().drop_columns(["row", "ts"]).equals(query.trace(EVENTS).to_arrow().drop_columns(["row", "ts"]))
    )
    assert (found.read, found.events) == (6, 6)
    few = query.trace(spark.createDataFrame(EVENTS), limit=2)
    assert few.to_arrow().num_rows == 2


def test_the_first_events_of_many(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "COLLECTED", 3)
    found = cep.Query(PAIR).trace(spark.createDataFrame(EVENTS))
    assert found.to_arrow()["position"].to_pylist()[:3] == [0, 1, 2]
    assert str(found).splitlines()[-1] == "… the first 3 of 6 events"


def test_why_not_collects_the_keys_of_the_rows(spark: Any) -> None:
    df = spark.createDataFrame(EVENTS)
    query = cep.Query(PAIR)
    assert query.why_not(df, a={"note": "a"}, b={"ts": 4}).rule == "S10"
    failed = query.why_not(df, a={"note": "b"}, b={"note": "e"})
    assert (failed.rule, failed.message) == ("S5", "b.x > a.x: 5 > 9")
    apart = query.why_not(df, a={"note": "a"}, b={"note": "e"})
    assert apart.rule == "S5"
    assert apart.message.endswith("do not agree on [user]")
    assert query.why_not(df, a={"note": "f"}, b={"note": "e"}).rule == "S3"
    own = cep.Query(ARCS).why_not(df, first={"ts": 1}, last={"ts": 3})
    assert (own.rule, own.message.split(": ", 1)[1]) == ("S18", "u -> t asks for e.x > 4: 1 > 4")


def test_rows_as_spark_gives_them(spark: Any) -> None:
    """Times without a zone there are those of this machine."""
    start = datetime(2024, 1, 1, 12)
    rows = [
        {"ts": start + timedelta(seconds=k), "type": kind, "user": 7, "x": float("nan") if k else 1.0, "tags": [k]}
        for k, kind in enumerate(("cart", "purchase", "purchase"))
    ]
    df = spark.createDataFrame(rows)
    query = cep.Query("PATTERN SEQ(cart a, view? v, purchase+ b[]) WHERE skip_till_next_match { [user] } WITHIN 1 hour")
    for match in query.match(df).collect():
        assert query.why_not(df, a=match.a, v=None, b=match.b).is_match
        assert query.why_not(df, a=match.a.asDict(), b=[one.asDict() for one in match.b]).is_match
    assert query.why_not(df, a={"tags": [0]}, b={"ts": start + timedelta(seconds=1)}).is_match
    with pytest.raises(UsageError) as told:
        query.why_not(df, a={"user": "seven"}, b={"tags": [1]})
    assert told.value.message == "a: no event has user='seven'"


def test_why_not_without_a_key(spark: Any) -> None:
    query = cep.Query("PATTERN SEQ(cart a, purchase b) WHERE b.x > a.x")
    assert query.why_not(spark.createDataFrame(EVENTS), a={"ts": 1}, b={"ts": 5}).is_match


@pytest.mark.parametrize(
    ("rows", "message", "remedy"),
    [
        (
            {"a": 0, "b": {"ts": 4}},
            "0 names no row: those of a DataFrame have no numbers",
            "pass a dict of columns that only one event has, such as {'id': 7}",
        ),
        ({"a": {"not": "a"}, "b": {"ts": 4}}, "the events have no column 'not'", "did you mean 'note'?"),
        (
            {"a": {"ts": 99}, "b": {"ts": 4}},
            "a: no event has ts=99",
            "name columns and values as the table has them",
        ),
        ({"b": {"ts": 4}}, "a match has a too", "name these rows: a=…"),
    ],
)
def test_rows_that_cannot_be_found(spark: Any, rows: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as told:
        cep.Query(PAIR).why_not(spark.createDataFrame(EVENTS), **rows)
    assert (told.value.code, told.value.message, told.value.remedy) == ("CEP618", message, remedy)


def test_too_many_events(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "COLLECTED", 2)
    with pytest.raises(UsageError) as told:
        cep.Query(PAIR).why_not(spark.createDataFrame(EVENTS), a={"ts": 1}, b={"ts": 4})
    assert (told.value.code, told.value.message) == (
        "CEP618",
        "there are more than 2 events of these keys, too many to collect",
    )


def test_a_stream(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    query = cep.Query("EVENT A a", time="timestamp", type=None)
    with pytest.raises(UsageError) as told:
        query.trace(stream)
    assert str(told.value) == (
        "error CEP603: a stream can't be traced: it has no end\n"
        "help: trace a batch of the same data, such as q.trace(spark.read.parquet(…)), or a session: "
        "session(trace=1000)"
    )
    with pytest.raises(UsageError) as told:
        query.why_not(stream, a={"value": 1})
    assert told.value.code == "CEP603"
