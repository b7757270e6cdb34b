"""A control stream: the query changes while it runs, in every bucket alike, and as the embedded one does."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from change_streams import Ledger, counted
from pyspark.sql import functions as F

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.spark import slices
from cepheid.spark.progress import metrics
from cepheid.spark.schemas import spark_schema
from cepheid.testing.spark import match_batch, rows_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ZONED = pa.timestamp("us", "UTC")
COLUMNS = "id string, action string, text string, at timestamp"
TEXT = """
    AUTOMATON s -> f
    REGISTER  n INT = 0
    ARC       s -> m WHEN e.x > 2 SET n = e.x
    ARC up:   m -> f WHEN e.x > 6 SET n = r.n + e.x
    IGNORE    m WHEN e.x < 5
    ARC late: m -> f AT END WHEN r.n > 8 SET n = 0 - r.n
    IGNORE    f WHEN FALSE
    PARTITION BY k
    WITHIN    20 seconds
"""
QUERY = cep.Query(TEXT, type=None)


def second(at: float) -> datetime:
    return BEGIN + timedelta(seconds=at)


def rows(chance: Random, begin: int, end: int, keys: Sequence[int]) -> pa.Table:
    """Events of some keys, up to eight seconds out of order, some with equal times."""
    made = [
        {"ts": second(at - chance.randint(0, 8)), "k": chance.choice(keys), "x": chance.randrange(10)}
        for at in range(begin, end)
        for _ in range(2)
    ]
    return pa.Table.from_pylist(made, schema=pa.schema([("ts", ZONED), ("k", pa.int64()), ("x", pa.int64())]))


def control(id: str | None, action: str | None, text: str | None = None, at: float | None = None) -> dict[str, Any]:
    return {"id": id, "action": action, "text": text, "at": None if at is None else second(at)}


class ControlStream:
    """A folder of events and one of control rows: what each micro-batch has given, and its watermark."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema, query: cep.Query = QUERY, **options: Any) -> None:
        self.spark, self.folder, self.schema, self.query, self.options = spark, folder, schema, query, options
        self.checkpoint = str(folder / "checkpoint")
        self.batches: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.progress: dict[int, Any] = {}
        self.files = 0
        for name in ("in", "control"):
            (folder / name).mkdir()

    def match(self, query: cep.Query) -> Any:
        source = self.spark.readStream.schema(spark_schema(self.schema)).parquet(str(self.folder / "in"))
        changes = self.spark.readStream.schema(COLUMNS).json(str(self.folder / "control"))
        return query.match(source.withWatermark("ts", "8 seconds"), control=changes, buckets=3, **self.options)

    def collect(self, batch: Any, number: int) -> None:
        self.batches[number] = batch.toArrow().to_pylist()

    def step(self, events: pa.Table | None, changes: Sequence[dict[str, Any]] = ()) -> list[int]:
        """Add files, and go on with the stream until they are done; return the numbers of the micro-batches."""
        self.files += 1
        if events is not None:
            draft = self.folder / "draft.parquet"
            pq.write_table(events, draft)
            self.moved(draft, self.folder / "in" / f"{self.files:04}.parquet")
        if changes:
            draft = self.folder / "draft.json"
            draft.write_text("".join(f"{json.dumps(row, default=lambda at: at.isoformat())}\n" for row in changes))
            self.moved(draft, self.folder / "control" / f"{self.files:04}.json")
        known = set(self.batches)
        writer = self.match(self.query).writeStream.foreachBatch(self.collect)
        running = writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(300), running.lastProgress
        finally:
            running.stop()
        self.progress |= {one.batchId: one for one in running.recentProgress if "addBatch" in one.durationMs}
        return sorted(set(self.batches) - known)

    @staticmethod
    def moved(draft: Path, place: Path) -> None:
        os.utime(draft, (10**9, 10**9))
        draft.rename(place)

    def watermark(self, number: int) -> datetime | None:
        mark = datetime.fromisoformat(self.progress[number].eventTime["watermark"])
        return mark if mark.timestamp() > 0 else None

    def changes(self) -> list[Any]:
        return cep.spark.changes(self.spark, self.query, self.checkpoint)

    def refused(self) -> list[tuple[Any, ...]]:
        found = cep.spark.refusals(self.spark, self.checkpoint).collect()
        return [(row.id, row.action, row.reason.split(";")[0]) for row in found]


def certain(query: cep.Query, events: pa.Table, log: Sequence[Any], watermark: datetime | None) -> Counter[str]:
    """What is certain at a watermark, by a session that begins with all changes."""
    session = query.session()
    session.push(events.schema.empty_table())
    if log:
        session.change(*log)
    session.push(events)
    return Counter() if watermark is None else counted(named(session.advance(watermark)))


def named(found: Any) -> list[dict[str, Any]]:
    """The matches of all queries, as the stream has them."""
    return [{"query": name, **row} for name, matches in found.outputs.items() for row in matches.to_pylist()]


class Script:
    """A stream, step by step: after every micro-batch it has given what the embedded query with its changes gives."""

    def __init__(self, stream: ControlStream) -> None:
        self.stream, self.query = stream, stream.query
        self.speculate: str | None = stream.options.get("speculate")
        self.op: str | None = stream.options.get("op")
        columns = [field for field in stream.schema if field.name != self.op]
        self.taken = pa.schema(columns).empty_table()
        self.total, self.ledger = Counter[str](), Ledger(apart=True)

    def step(self, events: pa.Table | None, changes: Sequence[dict[str, Any]]) -> None:
        sent = events
        if self.op is not None and events is not None:
            sent = events.append_column(self.op, pa.array(["+"] * len(events)))
        batches = self.stream.step(sent, changes)
        log = self.stream.changes()
        for batch in batches:
            mark = self.stream.watermark(batch)
            if events is not None:  # in the first micro-batch of the step
                on_time = [mark is None or row["ts"] >= mark for row in events.to_pylist()]
                self.taken, events = pa.concat_tables([self.taken, events.filter(pa.array(on_time))]), None
            if self.speculate is not None:
                self.ledger.add(self.stream.batches[batch])
            self.total.update(counted(self.stream.batches[batch]))
            found = self.total if self.speculate is None else self.ledger.stands
            assert found == self.wanted(log, mark), f"micro-batch {batch}"

    def wanted(self, log: Sequence[Any], mark: datetime | None) -> Counter[str]:
        if self.speculate is None:
            return certain(self.query, self.taken, log, mark)
        if self.speculate == "all":
            return counted(named(self.query.match(self.taken, changes=log)))
        ahead = None if mark is None else mark + timedelta(seconds=6)
        times = self.taken["ts"].to_pylist()
        seen = self.taken if ahead is None else self.taken.filter(pa.array([time < ahead for time in times]))
        return certain(self.query, seen, log, ahead)

    def end(self) -> Counter[str]:
        """With what is pending, it is all that the embedded query gives."""
        rest = rows_of(cep.spark.pending(self.stream.spark, self.query, self.stream.checkpoint))
        wanted = counted(named(self.query.match(self.taken, changes=self.stream.changes())))
        if self.speculate is None:
            self.total.update(counted(rest))
            assert self.total == wanted
        else:
            self.ledger.add(rest)
            assert self.ledger.stands == wanted
        return wanted


SCRIPT: list[tuple[tuple[int, int, Sequence[int]] | None, list[dict[str, Any]]]] = [
    (None, [control("early", "add_arc", "ARC m -> f WHEN e.x = 5 SET n = 100")]),  # before the first event
    ((0, 30, [1, 2]), []),
    ((30, 60, [1, 2]), [control("up", "remove_arc"), control("up", "add_arc", "ARC m -> f WHEN e.x > 8 SET n = e.x")]),
    (None, [control("far", "add_arc", "ARC f -> f WHEN e.x > 0 SET n = r.n + 1", 130)]),  # rows alone, of later
    ((60, 90, [1, 2, 3]), [control("early", "remove_arc", None, 55), control("nothing", "remove_arc")]),
    ((90, 120, [1, 2]), [control("more", "add_arc", "IGNORE f", 85), control("more", "add_arc", "IGNORE f", 85)]),
    ((120, 150, [2, 3, 4, 5, 6]), [control("late", "remove_arc", None, 1), control(None, "add_arc", "x")]),
    ((150, 151, [1]), [control("far", "remove_arc", None, 149)]),
    ((240, 241, [1]), []),
]
REFUSED = [
    ("nothing", "remove_arc", "CEP228: there is no arc 'nothing'"),
    ("more", "add_arc", "CEP615: the same change was made before"),
    ("late", "remove_arc", "CEP608: the change at 2026-01-01 00:00:01+00:00 is before the watermark "),
    (None, "add_arc", "CEP615: the row has no id"),
]


@pytest.mark.parametrize(
    ("speculate", "op"),
    [
        pytest.param(None, None, marks=pytest.mark.smoke),
        ("all", None),
        pytest.param("6 seconds", None, marks=pytest.mark.slow),
        pytest.param("all", "op", marks=pytest.mark.slow),
        pytest.param(None, "op", marks=pytest.mark.slow),
    ],
)
def test_what_is_given_after_every_micro_batch(
    speculate: str | None, op: str | None, spark: Any, tmp_path: Path
) -> None:
    """It is the answer of the embedded query with the same changes; the stream is started again after each step."""
    chance = Random(7)
    script = Script(make_stream(spark, tmp_path, rows(chance, 0, 1, [1]).schema, QUERY, speculate, op))
    for part, changes in SCRIPT:
        script.step(None if part is None else rows(chance, *part), changes)
    stream = script.stream
    log = stream.changes()
    assert [(one.at, getattr(one, "name", None) or one.arc.name) for one in log[1:]] == [
        (second(27.001), "up"),
        (second(27.001), "up"),
        (second(130), "far"),
        (second(55), "early"),
        (second(85), "more"),
        (second(149), "far"),
    ]
    check_refused(stream, REFUSED)
    wanted = script.end()
    assert speculate != "all" or script.ledger.changes > script.ledger.stands.total()  # some are taken back
    assert wanted != counted(named(QUERY.match(script.taken)))
    assert wanted.total() > 50


def make_stream(
    spark: Any, folder: Path, schema: pa.Schema, query: cep.Query, speculate: str | None, op: str | None
) -> ControlStream:
    schema = schema if op is None else schema.append(pa.field(op, pa.string()))
    options = {name: value for name, value in (("speculate", speculate), ("op", op)) if value is not None}
    return ControlStream(spark, folder, schema, query, **options)


def check_refused(stream: ControlStream, wanted: Sequence[tuple[Any, ...]]) -> None:
    """Those that are in the checkpoint, and those that were counted."""
    for one, told in zip(wanted, stream.refused(), strict=True):
        assert told[:2] == one[:2]
        assert told[2].startswith(one[2])
    assert sum(metrics(progress)["refused"] for progress in stream.progress.values()) == len(wanted)


# Whole queries.

PAIRS = "PATTERN SEQ({}) WHERE [k] {} WITHIN 10 seconds RETURN a.k AS k, b.x AS x"
BASE = cep.Query(PAIRS.format("A a, B b", "AND b.x > a.x + 3"))
WHOLE: list[tuple[tuple[int, int, Sequence[int]] | None, list[dict[str, Any]]]] = [
    ((0, 30, [1, 2]), []),
    ((30, 60, [1, 2]), [control("later", "add", PAIRS.format("B a, C b", ""))]),  # of a type that nobody has read
    (
        (60, 90, [1, 2, 3]),
        [
            control("query 1", "replace", PAIRS.format("A a, B b", "AND b.x < a.x"), 50),
            control("alone", "add", PAIRS.format("A a, B b, !(C c)", "AND c.x > 3"), 70),
            control("later", "add", PAIRS.format("B a, C b", "")),
            control("other", "add", "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 seconds"),
            control("apart", "add", PAIRS.format("A a, B b", "").replace("[k]", "a.x = b.x")),
        ],
    ),
    (
        (90, 120, [1, 2]),
        [control("later", "remove"), control("alone", "replace", PAIRS.format("A a, B b, !(C c)", ""))],
    ),
    ((120, 150, [2, 3, 4, 5, 6]), [control("late", "remove", None, 100), control("query 1", "remove", None, 140)]),
    ((150, 180, [1, 2]), [control("query 1", "replace", PAIRS.format("A a, B b", ""), 160)]),
    ((300, 301, [1]), []),
]
NOT_WHOLE = [
    ("apart", "add", "CEP229: the events of the stream are divided by k, and the query is not"),
    ("later", "add", "CEP229: there is, or was, a query 'later'"),
    ("other", "add", "CEP229: the matches of the stream have the columns query string, "),
    ("late", "remove", "CEP608: the change at 2026-01-01 00:01:40+00:00 is before "),
    ("query 1", "replace", "CEP229: the query 'query 1' is over at that time"),
]


@pytest.mark.parametrize(
    ("speculate", "op"),
    [
        (None, None),
        pytest.param("all", None, marks=pytest.mark.slow),
        pytest.param("6 seconds", None, marks=pytest.mark.slow),
        pytest.param(None, "op", marks=pytest.mark.slow),
    ],
)
def test_whole_queries(speculate: str | None, op: str | None, spark: Any, tmp_path: Path) -> None:
    chance = Random(8)

    def typed(part: tuple[int, int, Sequence[int]]) -> pa.Table:
        events = rows(chance, *part)
        return events.append_column("type", pa.array(chance.choices("ABC", k=len(events))))

    schema = rows(chance, 0, 1, [1]).schema.append(pa.field("type", pa.string()))
    script = Script(make_stream(spark, tmp_path, schema, BASE, speculate, op))
    for part, changes in WHOLE:
        script.step(None if part is None else typed(part), changes)
    check_refused(script.stream, NOT_WHOLE)
    wanted = script.end()
    names = Counter(json.loads(row)["query"] for row in wanted.elements())
    assert set(names) == {"query 1", "later", "alone"}
    assert min(names.values()) > 5


# What can't be.


@pytest.mark.parametrize(
    ("select", "told"),
    [
        (["id", "action", "text"], "the control stream lacks at"),
        (["id", "action", "text", "at", "id AS who"], "the control stream also has who"),
        (["id", "action", "text AS query", "at"], "the control stream lacks text and also has query"),
        (["id", "action", "text", "string(at) AS at"], "column 'at' of the control stream is string, not timestamp"),
        (["1 AS id", "action", "text", "at"], "column 'id' of the control stream is int, not string"),
    ],
)
def test_other_columns(select: list[str], told: str, spark: Any, tmp_path: Path) -> None:
    live = (
        spark.readStream.schema("ts timestamp, k long, x long").parquet(str(tmp_path)).withWatermark("ts", "1 second")
    )
    changes = spark.readStream.schema(COLUMNS).json(str(tmp_path)).selectExpr(*select)
    with pytest.raises(CepheidError, match=told) as caught:
        QUERY.match(live, control=changes)
    assert caught.value.code == "CEP912"


def test_what_it_can_not_be_combined_with(spark: Any, tmp_path: Path) -> None:
    source = spark.readStream.schema("ts timestamp, k long, x long").parquet(str(tmp_path))
    live = source.withWatermark("ts", "1 second")
    changes = spark.readStream.schema(COLUMNS).json(str(tmp_path))
    batch = spark.createDataFrame([], COLUMNS)
    rows_in_batch = spark.createDataFrame([], "ts timestamp, k long, x long")
    removal = cep.remove_arc("up", at=BEGIN)
    cases: list[tuple[Any, dict[str, Any], str, str]] = [
        (live, {"control": batch}, "CEP912", "control is a DataFrame of a batch"),
        (live, {"control": "rules/"}, "CEP912", "control is a str, not a DataFrame"),
        (live, {"control": changes.withWatermark("at", "1 second")}, "CEP912", "has a watermark"),
        (live.union(live), {"control": changes}, "CEP912", "the events have 2 watermarks"),
        (live, {"control": changes, "migrate": True}, "CEP603", "control and migrate can't be combined"),
        (live, {"control": changes, "event_time": "at"}, "CEP603", "control and event_time can't be combined"),
        (rows_in_batch, {"control": changes}, "CEP603", "control is an option for streams"),
        (live, {"changes": [removal]}, "CEP603", "changes is an option for batches"),
        (rows_in_batch, {"changes": [cep.remove_arc("up")]}, "CEP603", "a change needs a time here"),
        (rows_in_batch, {"changes": [cep.remove_arc("nothing", at=BEGIN)]}, "CEP228", "there is no arc 'nothing'"),
    ]
    for events, options, code, told in cases:
        with pytest.raises(CepheidError, match=told) as caught:
            QUERY.match(events, **options)
        assert caught.value.code == code
    taken = cep.Query(TEXT + "RETURN r.n AS query", type=None)
    with pytest.raises(CepheidError, match="already has a column 'query'") as caught:
        taken.match(live, control=changes)
    assert caught.value.code == "CEP212"
    with pytest.raises(CepheidError, match="has no state") as caught:
        cep.spark.refusals(spark, str(tmp_path))
    assert caught.value.code == "CEP905"


def test_a_checkpoint_of_a_stream_with_or_without(spark: Any, tmp_path: Path) -> None:
    for name in ("in", "control"):
        (tmp_path / name).mkdir()
    source = spark.readStream.schema("ts timestamp, k long, x long").parquet(str(tmp_path / "in"))
    live = source.withWatermark("ts", "1 second")
    changes = spark.readStream.schema(COLUMNS).json(str(tmp_path / "control"))
    pq.write_table(rows(Random(1), 0, 9, [1]), tmp_path / "in" / "a.parquet")
    for name, options in (("without", {}), ("with", {"control": changes})):
        matches = QUERY.match(live, **options)
        writer = matches.writeStream.format("noop").option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()
    for name, options, told in (
        ("without", {"control": changes}, "a stream without control=, and this one has it"),
        ("with", {}, "a stream with control=, and this one has none"),
    ):
        with pytest.raises(CepheidError, match=told) as caught:
            QUERY.match(live, checkpoint=str(tmp_path / name), **options)
        assert caught.value.code == "CEP905"
    with pytest.raises(CepheidError, match="no stream with control= has run"):
        cep.spark.refusals(spark, str(tmp_path / "without"))
    assert cep.spark.refusals(spark, str(tmp_path / "with")).count() == 0
    assert [(f.name, f.dataType.simpleString()) for f in cep.spark.refusals(spark, str(tmp_path / "with")).schema] == [
        ("id", "string"),
        ("action", "string"),
        ("text", "string"),
        ("at", "timestamp"),
        ("reason", "string"),
    ]


def test_what_explain_says(spark: Any, tmp_path: Path) -> None:
    live = spark.readStream.schema("ts timestamp, k long, x long, other string").parquet(str(tmp_path))
    changes = spark.readStream.schema(COLUMNS).json(str(tmp_path))
    told = QUERY.explain(live.withWatermark("ts", "1 second"), control=changes).text
    assert "all rows and columns are sent: the control stream may change what the query reads" in told


# Batch.


@pytest.mark.parametrize("key", [pytest.param("PARTITION BY k", marks=pytest.mark.smoke), ""])
def test_a_batch_is_the_embedded_match(key: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in slices of time, and where pushdown reads only what arcs ask for that do not live from the beginning."""
    monkeypatch.setattr(slices, "_LEAST_TICKS", 2)
    monkeypatch.setattr(slices, "_LEAST_WINDOWS", 3)
    query = cep.Query(TEXT.replace("PARTITION BY k", key), type=None)
    events = rows(Random(5), 0, 400, [1, 2, 3])
    changes = [
        cep.remove_arc("up", at=second(100)),
        cep.add_arc("m", "f", "e.y = 'b' AND e.x > 3", name="up", at=second(200), until=second(300), n="r.n * 100"),
    ]
    events = events.append_column("y", pa.array([Random(k).choice("abc") for k in range(len(events))]))
    wanted = counted(query.match(events, changes=changes).to_pylist())
    assert wanted not in (counted(query.match(events).to_pylist()), Counter())
    for given in (changes, [*changes[:1], cep.add_arc("m", "f", "e.y = 'b'", name="up", at=second(200))]):
        wanted = counted(query.match(events, changes=given).to_pylist())
        assert counted(match_batch(spark, query, events, changes=given, partitions=5)) == wanted


def test_the_same_arcs_with_other_lifetimes_are_other_queries(spark: Any) -> None:
    """A worker keeps what it has compiled, by the query."""
    events = rows(Random(6), 0, 60, [1])
    for at in (20, 40):
        changes = [cep.remove_arc("up", at=second(at))]
        wanted = counted(QUERY.match(events, changes=changes).to_pylist())
        assert counted(match_batch(spark, QUERY, events, changes=changes)) == wanted


@pytest.mark.parametrize("open_", [True, False])
def test_whole_queries_in_a_batch(open_: bool, spark: Any) -> None:
    """One that was added is an output of its name; one that was removed sees no later event, nor an absence there."""
    chance = Random(9)
    events = rows(chance, 0, 200, [1, 2, 3])
    events = events.append_column("type", pa.array(chance.choices("ABC", k=len(events))))
    changes = [
        cep.add_query("alone", PAIRS.format("A a, B b, !(C c)", "AND c.x > 5"), at=second(50), until=second(150)),
        cep.replace_query("query 1", PAIRS.format("A a, B b", ""), at=second(80)),
        cep.add_query("last", PAIRS.format("A a, B b, !(C c)", "AND c.x > 5"), at=second(60)),
        cep.remove_query("query 1", at=second(100)),
    ]
    found = BASE.match(events, changes=changes, open=open_)
    for name, wanted in found.outputs.items():
        output = None if name == "query 1" else name
        given = match_batch(spark, BASE, events, changes=changes, open=open_, output=output)
        assert counted(given) == counted(wanted.to_pylist())
        assert given


def test_that_other_columns_of_the_control_stream_may_be_in_any_order(spark: Any, tmp_path: Path) -> None:
    live = (
        spark.readStream.schema("ts timestamp, k long, x long").parquet(str(tmp_path)).withWatermark("ts", "1 second")
    )
    changes = spark.readStream.schema(COLUMNS).json(str(tmp_path)).select("at", "text", F.col("id"), "action")
    assert QUERY.match(live, control=changes).columns == ["query", "match_start", "match_end", "valid_until", "n"]
    speculating = QUERY.match(live, control=changes, speculate="all")
    assert speculating.columns[:4] == ["query", "op", "match_id", "match_start"]
