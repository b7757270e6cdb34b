"""Change streams on Spark: after every micro-batch the changes add up to what the embedded session has given."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from change_streams import OP, Ledger, Oracle, counted, cut, with_operations
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.spark import netting, slices, worker
from cepheid.spark.progress import metrics
from cepheid.spark.schemas import spark_schema
from cepheid.testing.spark import match_batch, rows_of, to_dataframe, to_spark_types, told
from cepheid.testing.strategies import PLAIN, GeneratedQuery, merges, programs, scenarios, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=7))
ANYTHING = scenarios() | scenarios(schema=PLAIN) | scenarios(schema=PLAIN) | PROGRAMS
EVENTS = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64()), ("s", pa.string())]
)
QUERIES = {
    "negation": "PATTERN SEQ(A a, !(X n), B b) WHERE [k] AND n.x > a.x WITHIN 20",
    "absence at the end": "PATTERN SEQ(A a, B b, !(X n)) WHERE [k] AND n.x > a.x WITHIN 20",
    "closure": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [k] AND b[i].x >= b[1].x } "
    "WITHIN 12 RETURN count(b[].x) AS n, sum(b[].x) AS total",
    "non overlap": "PATTERN SEQ(A a, B b, !(X n)) WHERE [k] AND n.x > a.x WITHIN 20 OUTPUT NON_OVERLAP",
    "no key": "PATTERN SEQ(!(X m), A a, B b) WHERE m.x = 0 AND b.x > a.x WITHIN 9",
    "program": "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 8 RETURN a.k AS k, b.x AS x INTO P;"
    "FROM P PATTERN SEQ(P p, P q, !(P r)) WHERE [k] AND p.x < q.x WITHIN 30",
    "automaton": "AUTOMATON s -> f REGISTER n INT = 0, top INT = NULL ARC s -> m ON A SET top = e.x "
    "ARC m -> m ON B WHEN e.x >= r.top SET n = r.n + 1 IGNORE m ON X ARC m -> f ON C, A WHEN r.n < 3 "
    "ARC m -> f AT END WHEN r.n > 1 SET n = 0 - r.n WHERE [k] WITHIN 12",
    "contiguity": "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [k] } RETURN a.x + b.x AS sum",
}


def many_events(chance: Random, size: int) -> pa.Table:
    """With ties, NULLs and equal rows; the time goes on by 1 after two events, about."""

    def row(at: int) -> dict[str, Any]:
        found = {"k": chance.randrange(4), "x": chance.randint(0, 4), "s": chance.choice("uv")}
        found = {name: value if chance.random() > 0.04 else None for name, value in found.items()}
        return {"ts": 10**9 + at // 2, "type": chance.choice("AABBCX"), **found}

    events = pa.Table.from_pylist([row(at) for at in range(size)], schema=EVENTS)
    return pa.concat_tables([events, events.slice(size // 3, size // 10)])


# Batch.


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows are many: tasks net them in pieces, slices are short, and sessions match them."""
    monkeypatch.setattr(slices, "_LEAST_WINDOWS", 3)
    monkeypatch.setattr(slices, "_LEAST_TICKS", 2)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if k % 3 else []) for k, name in enumerate(QUERIES)]
)
def test_a_batch_is_the_match_of_what_is_left(name: str, spark: Any, tmp_path: Path, small_pieces: None) -> None:
    chance, query = Random(name), cep.Query(QUERIES[name])
    changes = pa.concat_tables(cut(many_events(chance, 300), chance, 3))
    wanted = counted(query.match(changes, op=OP).to_pylist())
    assert wanted
    assert wanted != counted(query.match(changes.drop_columns([OP])).to_pylist())
    assert counted(match_batch(spark, query, changes, scattered=3, partitions=5, skew=True, op=OP)) == wanted
    pq.write_table(changes.slice(0, 200), tmp_path / "0.parquet", row_group_size=50)
    pq.write_table(changes.slice(200), tmp_path / "1.parquet")
    files = spark.read.parquet(str(tmp_path))
    assert counted(rows_of(query.match(files, op=OP))) == wanted


def test_a_batch_ends_with_the_last_event_that_is_left(spark: Any) -> None:
    """Then an absence whose window is not over is not certain; what was retracted does not end it."""
    query = cep.Query("PATTERN SEQ(A a, !(X n)) WHERE [k] WITHIN 20")
    events = pa.Table.from_pylist([{"ts": t, "type": "A", "k": 1, "x": 0, "s": "u"} for t in (0, 5, 22, 90)], EVENTS)
    changes = with_operations(pa.concat_tables([events, events.slice(3)]), [*"++++-"])
    wanted = counted(query.match(changes, op=OP, open=False).to_pylist())
    assert wanted.total() == 1
    assert counted(match_batch(spark, query, changes, op=OP, open=False)) == wanted


def test_tasks_with_many_rows_net_them_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a time is on both sides of the border of two batches, and in a session."""
    query, chance = cep.Query(QUERIES["negation"]), Random(4)
    changes = pa.concat_tables(cut(many_events(chance, 400), chance, 1))
    changes = changes.take(pc.sort_indices(changes, [("ts", "ascending")]))
    wanted = counted(query.match(changes, op=OP).to_pylist())
    rows = changes.rename_columns([*EVENTS.names, "__cepheid_op"]).to_batches(max_chunksize=7)
    asked = worker.WorkerQuery(query, EVENTS, query.schema(EVENTS), 0, op=OP)
    for together, at_once, push in ((10, 10**6, 10**6), (1, 20, 5), (50, 20, 60)):
        monkeypatch.setattr(netting, "TOGETHER", together)
        monkeypatch.setattr(worker, "AT_ONCE", at_once)
        monkeypatch.setattr(worker, "PUSH", push)
        told: list[int] = []
        found = pa.Table.from_batches(worker.match_in_order(asked, told.append)(iter(rows)), asked.match_schema)
        assert counted(found.to_pylist()) == wanted
        assert len(told) == 1


@pytest.mark.smoke
@pytest.mark.filterwarnings("default::cepheid.CepheidWarning")
def test_unmet_retractions_are_ignored_and_told(spark: Any) -> None:
    events = many_events(Random(3), 40)
    some = events.filter(pc.and_(pc.is_in(events["type"], pa.array(["A", "B"])), pc.is_valid(events["k"])))
    changes = with_operations(pa.concat_tables([events, *[some.slice(0, 3)] * 3]), ["+"] * 44 + ["-"] * 9)
    query = cep.Query(QUERIES["contiguity"])
    with pytest.warns(CepheidWarning, match="CEP012") as given:
        wanted = query.match(changes, op=OP).to_pylist()
    (told,) = [str(warning.message) for warning in given if "CEP012" in str(warning.message)]
    query = cep.Query(QUERIES["contiguity"])
    with pytest.warns(CepheidWarning) as given:
        found = match_batch(spark, query, changes, op=OP, partitions=3)
    assert [str(warning.message) for warning in given if "CEP012" in str(warning.message)] == [told]
    assert counted(found) == counted(wanted)


def test_operations_that_do_not_exist(spark: Any, tmp_path: Path) -> None:
    """Also in rows that the query would not need."""
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5")
    for bad in ("upsert", None):
        events = pa.Table.from_pylist([{"ts": 1, "type": "Z", "k": None, "x": 0, "s": "u"}], EVENTS)
        changes = with_operations(events, [bad])
        folder = tmp_path / str(bad)
        folder.mkdir()
        pq.write_table(changes, folder / "0.parquet")
        for direct in (None, False):
            with pytest.raises(CepheidError, match=repr(bad)) as caught:
                told(lambda: rows_of(query.match(spark.read.parquet(str(folder)), op=OP, direct=direct)))  # noqa: B023
            assert caught.value.code == "CEP412"
    for op, code in (("x", "CEP412"), ("opp", "CEP301"), ("type", "CEP603")):
        with pytest.raises(CepheidError) as caught:
            query.match(spark.read.parquet(str(folder)), op=op)
        assert caught.value.code == code
    with pytest.raises(CepheidError, match="unknown column 'op'"):
        cep.Query("PATTERN SEQ(A a) WHERE a.op = '+'").match(spark.read.parquet(str(folder)), op=OP)


# Streams.


class ChangeStream:
    """A folder of files as a stream: what each micro-batch has given, and its watermark."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema, delay: int, **options: Any) -> None:
        self.spark, self.folder, self.schema, self.options = spark, folder, schema, options
        self.delay = delay  # in milliseconds
        self.checkpoint = str(folder / "checkpoint")
        self.files: list[pa.Table] = []
        self.batches: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.progress: dict[int, Any] = {}
        (folder / "in").mkdir(parents=True)

    def add(self, tables: Sequence[pa.Table]) -> None:
        for table in filter(len, tables):
            path = self.folder / "in" / f"{len(self.files):04}.parquet"
            pq.write_table(table, path)
            os.utime(path, (10**9 + len(self.files),) * 2)
            self.files.append(table)

    def read(self) -> Any:
        source = self.spark.readStream.schema(spark_schema(self.schema)).option("maxFilesPerTrigger", 1)
        return source.parquet(str(self.folder / "in")).withWatermark("ts", f"{self.delay} milliseconds")

    def run(self, query: cep.Query) -> None:
        """To its end."""
        changes = query.match(self.read(), **self.options)
        writer = changes.writeStream.foreachBatch(self.collect).option("checkpointLocation", self.checkpoint)
        running = writer.trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(300), running.lastProgress
            self.progress |= {progress.batchId: progress for progress in running.recentProgress}
        finally:
            running.stop()

    def collect(self, batch: Any, number: int) -> None:
        self.batches[number] = batch.toArrow().to_pylist()

    def steps(self) -> list[tuple[int, Any, pa.Table | None]]:
        """Each micro-batch: its number, its watermark, and its rows."""
        found, files = [], iter(self.files)
        for number, progress in sorted(self.progress.items()):
            mark = datetime.fromisoformat(progress.eventTime["watermark"])
            rows = next(files) if progress.numInputRows else None
            found.append((number, mark if mark.timestamp() > 0 else None, rows))
        assert next(files, None) is None
        return found

    def check(self, query: cep.Query) -> tuple[Ledger, Oracle]:
        """After every micro-batch there stands what stands in a session that has got the same rows and watermarks."""
        options = {name: self.options[name] for name in ("speculate", "op") if name in self.options}
        changing = options.get("speculate") is not None
        oracle, ledger = Oracle(query, self.schema, engine="auto", **options), Ledger(apart=True)
        for number, mark, rows in self.steps():
            wanted = oracle.step(rows, mark)
            if changing:
                ledger.add(self.batches[number])
            else:
                ledger.stands.update(counted(self.batches[number]))
            assert ledger.stands == wanted, f"micro-batch {number}"
        return ledger, oracle


def in_time(table: pa.Table, chance: Random, files: int, late: int) -> list[pa.Table]:
    """Changes in files, in the order in which they come: so many milliseconds late at most. A few come later."""
    parts = cut(table, chance, files * 3)
    rows = [row for part in parts for row in part.to_pylist()]

    def arrival(row: dict[str, Any]) -> float:
        after = chance.uniform(0, late) if chance.random() < 0.95 else chance.uniform(late, 4 * late)
        return float(row["ts"].timestamp() * 1000 + after) + (0 if row[OP][0] == "+" else chance.uniform(-1, late))

    rows.sort(key=arrival)
    size = -(-len(rows) // files)
    return [pa.Table.from_pylist(rows[k : k + size], parts[0].schema) for k in range(0, len(rows), size)]


SAMPLE = (("negation", "all"), ("absence at the end", "all"), ("closure", "6 milliseconds"), ("program", None))
SAMPLES = [
    pytest.param(name, speculate, marks=[] if (name, speculate) in SAMPLE else [pytest.mark.slow])
    for name in QUERIES
    for speculate in ("all", "6 milliseconds", "0 milliseconds", None)
    # When a choice among matches that wait is certain depends on which keys are together: only the end is the same.
    if name != "non overlap" or speculate == "all"
]


@pytest.mark.parametrize(("name", "speculate"), SAMPLES)
def test_what_stands_after_every_micro_batch(name: str, speculate: str | None, spark: Any, tmp_path: Path) -> None:
    """It is stopped in the middle and started again; in the end nothing is missing but what is pending."""
    chance, query = Random(name), cep.Query(QUERIES[name])
    events = to_spark_types(many_events(chance, 240), {})
    files = in_time(events, chance, 6, 12)
    options = {"speculate": speculate, "op": OP, "buckets": 1 + len(name) % 3}
    stream = ChangeStream(spark, tmp_path, files[0].schema, 12, **options)
    stream.add(files[:3])
    stream.run(query)
    stream.add(files[3:])
    stream.run(query)
    ledger, oracle = stream.check(query)
    if speculate == "all":
        assert ledger.changes > ledger.stands.total() > 0
        assert sum(metrics(progress)["withdrawn"] for progress in stream.progress.values()) > 0
    rest = rows_of(cep.spark.pending(spark, query, stream.checkpoint))
    if speculate is not None:
        ledger.add(rest)
    else:
        ledger.stands.update(counted(rest))
    assert ledger.stands == oracle.close()


@settings(
    max_examples=100 if LONG else 3,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    phases=(Phase.explicit, Phase.generate),
)
@given(
    scenario=ANYTHING,
    speculate=st.sampled_from(["all", "all", "4 milliseconds", None]),
    buckets=st.sampled_from([1, 3]),
    chance=st.randoms(use_true_random=False),
)
def test_whatever_the_query_and_the_changes(
    scenario: tuple[GeneratedQuery, pa.Table],
    speculate: str | None,
    buckets: int,
    chance: Random,
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    query, events = scenario[0].make(), to_spark_types(scenario[1], {})
    odd = [f for f in events.schema if pa.types.is_null(f.type) or pa.types.is_duration(f.type)]
    try:
        if (
            odd
            or not len(query.match(events, engine="reference"))
            or not cep.spark.schema(spark_schema(events.schema), query)
        ):
            reject()
    except CepheidError:  # of the query on its events
        reject()
    files = cut(events, chance, 4)
    options = {"speculate": speculate, "op": OP, "buckets": buckets}
    stream = ChangeStream(spark, tmp_path_factory.mktemp("changes") / uuid4().hex, files[0].schema, 5, **options)
    stream.add(files)
    stream.run(query)
    stream.check(query)


def test_another_value_is_refused(spark: Any, tmp_path: Path) -> None:
    query = cep.Query(QUERIES["negation"])
    chance = Random(1)
    files = in_time(to_spark_types(many_events(chance, 60), {}), chance, 2, 12)
    stream = ChangeStream(spark, tmp_path, files[0].schema, 12, speculate="all", op=OP)
    stream.add(files)
    stream.run(query)
    for options, told_ in (
        ({"speculate": "1 minute", "op": OP}, "speculate='all'.*pass speculate='all'"),
        ({"speculate": "all"}, "op|columns"),
        ({"op": OP}, "speculate='all'"),
    ):
        with pytest.raises(CepheidError, match=f"(?s){told_}") as caught:
            query.match(stream.read(), checkpoint=stream.checkpoint, **options)
        assert caught.value.code == "CEP905"


def test_numbered_events_are_given_at_once(spark: Any, tmp_path: Path) -> None:
    """As plain matches: none is ever taken back."""
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [k] }")
    events = [{"ts": 10**9 + at, "type": "AB"[at % 2], "k": 1, "n": at // 2 * 2 + at % 2} for at in range(9)]
    table = to_spark_types(pa.Table.from_pylist(events), {})
    parts = [table.take(pa.array(rows)) for rows in ([0, 1, 3, 5], [2, 7, 8], [4, 6])]
    stream = ChangeStream(spark, tmp_path, table.schema, 1000, sequence="n")
    stream.add(parts)
    stream.run(query)
    given = [len(rows) for _, rows in sorted(stream.batches.items())]
    assert given[:3] == [1, 1, 2]
    wanted = counted(query.match(table, sequence="n").to_pylist())
    assert counted(row for rows in stream.batches.values() for row in rows) == wanted
    assert counted(match_batch(spark, query, table, sequence="n")) == wanted
    assert not rows_of(cep.spark.pending(spark, query, stream.checkpoint))


# What can't be.


def test_what_can_not_be_combined(spark: Any, tmp_path: Path) -> None:
    query = cep.Query(QUERIES["negation"])
    schema = to_spark_types(with_operations(many_events(Random(1), 5).slice(0, 0), []), {}).schema
    live = ChangeStream(spark, tmp_path, schema, 1).read()
    for options, code, what in (
        ({"speculate": "all", "long": True}, "CEP603", "long and speculate"),
        ({"speculate": "all", "event_time": "at"}, "CEP603", "event_time and speculate"),
        ({"speculate": "all", "migrate": True}, "CEP603", "migrate and speculate"),
        ({"op": OP, "migrate": True}, "CEP603", "migrate and op"),
        ({"op": OP, "sequence": "x"}, "CEP223", "sequence= can't be used with"),
        ({"speculate": "soon"}, "CEP603", "speculate can't be 'soon'"),
        ({"speculate": "all", "late": "collect"}, "CEP601", "collect"),
    ):
        with pytest.raises(CepheidError, match=what) as caught:
            query.match(live, **options)
        assert caught.value.code == code
        assert caught.value.remedy
    with pytest.raises(CepheidError, match="every change already has a column 'op'"):
        cep.Query("PATTERN SEQ(A a) RETURN a.x AS Op").match(live, speculate="all")
    with pytest.raises(CepheidError, match="an option for streams"):
        query.match(to_dataframe(spark, schema.empty_table()), speculate="all")


def test_explain_says_what_happens(spark: Any, tmp_path: Path) -> None:
    query = cep.Query(QUERIES["negation"] + " RETURN a.x AS x")
    schema = to_spark_types(with_operations(many_events(Random(1), 5).slice(0, 0), []), {}).schema
    live = ChangeStream(spark, tmp_path, schema, 1).read()

    def explained(frame: Any, **options: Any) -> str:
        return str(query.explain(frame, **options)).partition("\nSpark ")[2]

    assert "as soon as their events are there (op is +), and retracted (op is -)" in explained(live, speculate="all")
    assert "10 minutes ahead of the watermark" in explained(live, speculate=600_000)
    assert "when they are certain, as changes" in explained(live, speculate=0)
    assert "cancels an event that still waits" in explained(live, op=OP)
    with_op = explained(live, op=OP, speculate="all")
    assert "a retraction names its event by all of them" in with_op
    assert "and its matches" in with_op
    batch = explained(to_dataframe(spark, schema.empty_table()), op=OP)
    assert "each task drops the events that are retracted" in batch


# What stands.


def test_the_matches_that_stand(spark: Any) -> None:
    rows = [
        (0, "+", "m", 1, {"x": 1}),
        (0, "+", "n", 2, {"x": 2}),
        (1, "-", "m", 1, {"x": 1}),
        (2, "+", "m", 1, {"x": 1}),
        (2, "-", "n", 2, {"x": 2}),
        (3, "+", "o", 3, {"x": None}),
    ]
    log = spark.createDataFrame(rows, "batch int, op string, match_id string, `at.end` long, a struct<x: long>")
    found = cep.spark.current(log.drop("batch"))
    assert found.columns == ["match_id", "at.end", "a"]
    assert sorted(found.toArrow().to_pylist(), key=lambda row: row["match_id"]) == [
        {"match_id": "m", "at.end": 1, "a": {"x": 1}},
        {"match_id": "o", "at.end": 3, "a": {"x": None}},
    ]
    again = log.union(log.where("batch = 1")).union(log.where("batch >= 2"))
    assert Counter(cep.spark.current(again, batch="batch").toArrow()["match_id"].to_pylist()) == Counter("mo")
    with pytest.raises(CepheidError, match="no column 'op'"):
        cep.spark.current(log.drop("op"))
    with pytest.raises(CepheidError, match="this is a stream"):
        cep.spark.current(spark.readStream.format("rate").load())
