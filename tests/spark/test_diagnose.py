"""`q.diagnose(df)`: of a sample, and in full, where the counts are those of the same events in memory."""

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.errors import UsageError

KINDS = ("view", "cart", "view", "purchase", "cart")
EVENTS = pa.table(
    {
        "ts": [7 * k % 1000 for k in range(600)],
        "type": [KINDS[k * k % 5] for k in range(600)],
        "user": [k % 37 for k in range(600)],
        "x": [(k * 31) % 50 for k in range(600)],
    }
)
NONE = "PATTERN SEQ(cart a, purchase b) WHERE [user] AND b.x > a.x + 60 WITHIN 500"
SOME = "PATTERN SEQ(cart a, !(view c), purchase b) WHERE [user] AND b.x > a.x WITHIN 500"
CLOSURE = "PATTERN SEQ(cart+ a[], purchase b) WHERE skip_till_next_match(a, b) { [user] AND a[i].x > 3 } WITHIN 300"


def counts(found: Diagnosis) -> dict[str, Any]:
    """What can be added: not what is near or chosen among equals."""
    told = found.to_dict()
    seen = told["seen"]
    del seen["median_gap"]
    for stage in told["funnel"]:
        del stage["query"]
        stage["tests"] = sorted((test["text"], test["tested"], test["passed"]) for test in stage["tests"])
    return {name: told[name] for name in ("seen", "matches", "funnel", "begun", "followed", "sampled")}


ARCS = "AUTOMATON s -> t ARC s -> u WHEN e.x > 30 ARC u -> t WHEN e.x > 60 PARTITION BY user WITHIN 500"


@pytest.mark.parametrize("text", [NONE, SOME, CLOSURE, ARCS])
def test_in_full_the_counts_are_those_in_memory(spark: Any, text: str) -> None:
    query = cep.Query(text)
    found = query.diagnose(spark.createDataFrame(EVENTS), sample=None)
    assert counts(found) == counts(query.diagnose(EVENTS, sample=None))
    assert found.seen.partitions == 37


@pytest.mark.smoke
def test_in_full_without_a_key(spark: Any) -> None:
    query = cep.Query("PATTERN SEQ(cart a, purchase b) WHERE b.x > a.x + 60 WITHIN 5")
    found = query.diagnose(spark.createDataFrame(EVENTS), sample=None)
    assert counts(found) == counts(query.diagnose(EVENTS, sample=None))
    assert [one.code for one in found.hints] == [one.code for one in query.diagnose(EVENTS).hints]


def test_few_events_are_diagnosed_on_the_driver(spark: Any) -> None:
    query = cep.Query(NONE)
    assert counts(query.diagnose(spark.createDataFrame(EVENTS))) == counts(query.diagnose(EVENTS))


@pytest.mark.parametrize(("text", "matches"), [(NONE, 0), (SOME, len(cep.Query(SOME).match(EVENTS)))])
def test_a_sample_of_keys(spark: Any, text: str, matches: int) -> None:
    found = cep.Query(text).diagnose(spark.createDataFrame(EVENTS), sample=200)
    whole = cep.Query(text).diagnose(EVENTS)
    assert found.seen.types == whole.seen.types
    assert (found.matches, found.seen.events, found.seen.partitions) == (matches, 600, 37)
    assert (found.seen.first, found.seen.last) == (whole.seen.first, whole.seen.last)
    assert 0 < found.sampled < 600


def test_a_sample_without_a_key_is_the_first_events(spark: Any) -> None:
    query = cep.Query("PATTERN SEQ(cart a, purchase b) WHERE b.x > a.x + 60 WITHIN 5")
    found = query.diagnose(spark.createDataFrame(EVENTS), sample=100)
    assert (found.matches, found.seen.events, found.sampled) == (0, 600, 100)


def test_a_key_that_has_all_events_is_not_collected_whole(spark: Any) -> None:
    hot = EVENTS.set_column(2, "user", pa.array([0] * 600))
    found = cep.Query(NONE).diagnose(spark.createDataFrame(hot), sample=100)
    assert (found.matches, found.seen.events, found.seen.partitions) == (0, 600, 1)
    assert found.sampled in (100, 200)


def test_a_type_that_only_the_sample_lacks(spark: Any) -> None:
    rare = pa.concat_tables([EVENTS, pa.table({"ts": [2000], "type": ["refund"], "user": [99], "x": [1]})])
    df = spark.createDataFrame(rare)
    query = "PATTERN SEQ(cart a, {} b) WHERE a.x > 60 WITHIN 5"
    assert "CEP005" not in [one.code for one in cep.Query(query.format("refund")).diagnose(df, sample=50).hints]
    assert "CEP005" in [one.code for one in cep.Query(query.format("refunds")).diagnose(df, sample=50).hints]


def test_no_events(spark: Any) -> None:
    empty = spark.createDataFrame(EVENTS).where("x < 0")
    for sample in ("auto", None, 5):
        found = cep.Query(NONE).diagnose(empty, sample=sample)
        assert (found.matches, found.seen.events, found.begun) == (0, 0, 0)


def test_a_stream(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(UsageError) as told:
        cep.Query("EVENT A a", time="timestamp", type=None).diagnose(stream)
    assert str(told.value) == (
        "error CEP603: a stream can't be diagnosed: it has no end\n"
        "help: diagnose a batch of the same data, such as q.diagnose(spark.read.parquet(…))"
    )
