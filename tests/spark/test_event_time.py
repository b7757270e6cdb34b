"""Operators on event time behind the matches of a stream: nothing is late, nothing waits for ever."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from test_state import QUERIES, Run, some, table, worker_query
from test_stream import BEGIN, PAIR, Stream, event

import cepheid as cep
from cepheid.engine.encoding.times import ticks
from cepheid.errors import CepheidError
from cepheid.spark.stream.event_time import EventTime, waits_of

ABSENCE = "PATTERN SEQ(A a, !(B b)) WHERE [id] WITHIN 20 seconds RETURN a.id AS id"


def at(second: float) -> Any:
    return (BEGIN + timedelta(seconds=second)).replace(tzinfo=None)


def run(stream: Stream, matches: Any) -> list[Any]:
    """Run what is made of matches over all files."""
    rows: list[Any] = []
    writer = matches.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    running = writer.option("checkpointLocation", stream.checkpoint).trigger(availableNow=True).start()
    try:
        assert running.awaitTermination(300), running.lastProgress
    finally:
        running.stop()
    return rows


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Stream:
    """The watermark moves to 40 s, just where a match ends, and then over several hours."""
    found = Stream(spark, tmp_path)
    found.add(
        [event(0, "A"), event(1, "B")],
        [event(40, "A"), event(40, "B", x=1)],
        [event(50, "A", 2), event(51, "A")],
        [event(55, "B")],
        [event(9000, "X")],
        [event(20000, "X")],
    )
    return found


def test_windows_of_matches(stream: Stream) -> None:
    matches = cep.Query(PAIR).match(stream.events(), event_time="certain_at")
    assert matches.columns == ["match_start", "match_end", "a", "b", "certain_at"]
    rows = run(stream, matches.groupBy(F.window("certain_at", "1 minute")).count())
    assert rows == [((at(0), at(60)), 3)]


def test_duplicates_of_absences(stream: Stream) -> None:
    """An absence is known twenty seconds after its end, when the watermark has passed that."""
    matches = cep.Query(ABSENCE).match(stream.events(), event_time="certain_at")
    rows = run(stream, matches.dropDuplicatesWithinWatermark(["id"]).select("id", "match_end", "certain_at"))
    assert rows == [(2, at(50), at(70))]


def test_a_join_of_matches(stream: Stream) -> None:
    pairs = cep.Query(f"{PAIR} RETURN a.id AS id").match(stream.events(), event_time="pair_at")
    query = cep.Query("PATTERN SEQ(A a, X x) WITHIN 3 hours RETURN a.id AS other")
    later = query.match(stream.events(), event_time="later_at").drop("match_start", "match_end")
    both = pairs.join(later, F.expr("id = other - 1 AND later_at BETWEEN pair_at AND pair_at + INTERVAL 3 HOURS"))
    rows = run(stream, both.select("match_end", "later_at"))
    assert sorted(rows) == [(at(second), at(9000.000001)) for second in (1, 40, 55)]


def test_matches_of_matches(stream: Stream) -> None:
    pairs = cep.Query(f"{PAIR} RETURN a.id AS id").match(stream.events(), event_time="ts")
    second = cep.Query("PATTERN SEQ(P p, P q) WHERE [id] WITHIN 1 hour RETURN p.id AS id", type=None)
    rows = run(stream, second.match(pairs.select("ts", "id")).select("match_start", "match_end"))
    tick = 0.000001
    assert sorted(rows) == [(at(a + tick), at(b + tick)) for a, b in ((1, 40), (1, 55), (40, 55))]


@pytest.mark.parametrize("before", [lambda m: m, lambda m: m.select("match_end").where("match_end IS NOT NULL")])
def test_a_second_watermark_is_refused(stream: Stream, before: Any) -> None:
    with pytest.raises(CepheidError) as caught:
        before(cep.Query(PAIR).match(stream.events())).withWatermark("match_end", "1 minute")
    assert caught.value.code == "CEP911"
    assert "event_time='certain_at'" in caught.value.remedy


def test_a_name_that_is_taken(stream: Stream) -> None:
    with pytest.raises(CepheidError) as caught:
        cep.Query(PAIR).match(stream.events(), event_time="Match_End")
    assert caught.value.code == "CEP603"


def test_a_batch_has_no_such_column(spark: Any) -> None:
    events = spark.createDataFrame([], "ts timestamp, type string, id long")
    with pytest.raises(CepheidError) as caught:
        cep.Query(PAIR).match(events, event_time="certain_at")
    assert caught.value.code == "CEP603"


WAITING = [
    "PATTERN SEQ(A a, !(B b) FOR 30 seconds) WHERE [id] WITHIN 4 seconds",
    "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 8 seconds OUTPUT LONGEST",
    "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 8 seconds OUTPUT NON_OVERLAP COOLDOWN 9 seconds",
]


@pytest.mark.parametrize("text", [*QUERIES, *WAITING])
def test_no_match_is_late(text: str) -> None:
    """A bucket is called for events or by its timer; what it gives is after the watermark of the batch before."""
    query = worker_query(text, engine="plain")
    bound = query.query.compiled.bind(query.schema)[query.output]
    column, total = EventTime("at", *waits_of(bound)), 0
    for seed in range(4):
        run, given, before = Run(query), 0, 0
        for cut in [*some(150, seed), table((200, "X", 1)), table((400, "X", 1)), None]:
            for events in (cut, None):
                timer, now = run.bucket().timer, run.watermark
                if events is not None or (timer is not None and timer < now):
                    output = run.step(events)
                    for part in query.tables(output.matches) if output.matches is not None else ():
                        times = ticks(query.schema, column.add(query, part, output.passed), "at")
                        assert (times > before * 1000).all()
                        given += len(times)
                before = now
                if events is not None:
                    run.watermark = max(now, max(events["ts"].cast(pa.int64()).to_pylist()) // 1000 - run.delay)
        total += given
    assert total > 0
