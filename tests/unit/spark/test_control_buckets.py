"""A control stream without Spark: buckets that are given the same rows change alike, whatever events they have."""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.api.changing import shown
from cepheid.engine.encoding.times import ticks
from cepheid.engine.session.control import ControlRow, Refused
from cepheid.spark.codes import with_codes
from cepheid.spark.outputs import match_schema
from cepheid.spark.packing import PackedEvents, pack
from cepheid.spark.partitioning import choose_partitioning
from cepheid.spark.signs import with_signs
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.decisions import Control
from cepheid.spark.state.fingerprint import stream_fingerprint
from cepheid.spark.stream.processor import _tables
from cepheid.spark.worker import WorkerQuery
from cepheid.testing.outcomes import to_json

BUCKETS, DELAY = 3, 8_000
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64())])

AUTOMATON = """
    AUTOMATON s -> f REGISTER n INT = 0
    ARC       s -> m WHEN e.x > 2 SET n = e.x
    ARC up:   m -> f WHEN e.x > {} SET n = r.n + e.x
    IGNORE low: m WHEN e.x < {}
    ARC late: m -> f AT END WHEN r.n > 8 SET n = 0 - r.n
    IGNORE    f WHEN FALSE
    PARTITION BY k WITHIN 20 seconds
"""
ARCS = (
    "ARC m -> f WHEN e.x = 5 SET n = 100",
    "ARC f -> f WHEN e.x > 4 SET n = r.n + 1",
    "ARC s -> f ON C SET n = e.x",
    "IGNORE f WHEN e.x > 2",
    "EPSILON m -> f WHEN r.n = 9",
    "ARC m -> f AT END WHEN r.n = 7",
    "ARC m -> f WHEN e.wrong = 5",
)
PAIRS = "PATTERN SEQ({}) WHERE [k] {} WITHIN 10 seconds RETURN a.k AS k, b.x AS x"
PATTERNS = ("A a, B b", "B a, C b", "A a, B b, !(C c)", "A a, C+ c[], B b")
CONDITIONS = ("", "AND b.x > a.x", "AND b.x < a.x", "AND a.x + b.x = 9", "AND a.x = 3")


class Memory:
    """A state store."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.parts: dict[str, bytes] = {}

    def header(self) -> bytes | None:
        return self.head

    def put_header(self, header: bytes) -> None:
        self.head = header

    def part(self, name: str, digest: str) -> bytes | None:
        return self.parts.get(name)

    def put(self, name: str, part: bytes, digest: str) -> None:
        self.parts[name] = part

    def drop(self, name: str, digest: str) -> None:
        self.parts.pop(name, None)


class Buckets:
    """What Spark would run: some buckets, which are loaded and saved in each micro-batch."""

    def __init__(self, query: cep.Query, speculate: str | None) -> None:
        bound = query.compiled.bind(query.compiled.schema(SCHEMA))
        columns = match_schema(query, SCHEMA, changes=speculate is not None, control=True)
        key = choose_partitioning(bound, query.compiled.sources).key
        self.query = query
        self.worker_query = with_codes(
            WorkerQuery(query, SCHEMA, columns, 0, speculate=speculate, control=True, key=key)
        )
        self.fingerprint = stream_fingerprint(self.worker_query, BUCKETS)
        self.stores = [Memory() for _ in range(BUCKETS)]
        self.log: list[Any] = []
        self.refused: list[Refused] = []

    def run(self, events: pa.Table, rows: Sequence[ControlRow], watermark: int | None) -> list[dict[str, Any]]:
        given, control = [], Control(tuple(rows), DELAY)
        decided = []
        for number, store in enumerate(self.stores):
            bucket = open_bucket(self.worker_query, self.fingerprint)
            bucket.load(store)
            own = events.filter(pa.array([k % BUCKETS == number for k in events["k"].to_pylist()], pa.bool_()))
            arrived = self.packed(own) if len(own) else []
            if not arrived and not rows and (bucket.timer is None or watermark is None or bucket.timer > watermark):
                continue  # Spark does not call
            decided.append([one.reason for one in bucket.decide(control, watermark).refused])
            refused = bucket.decide(control, watermark).refused
            output = bucket.take(arrived, watermark, "drop", control=control)
            given += [row for table in _tables(self.worker_query, output, number) for row in table.to_pylist()]
            bucket.timer = bucket.due()
            bucket.save(store)
            if rows:
                self.log = shown(bucket.log, self.worker_query.schema)
        if rows:
            assert decided == [decided[0]] * BUCKETS
            self.refused += refused
        return given

    def packed(self, events: pa.Table) -> list[PackedEvents]:
        table, schema = self.worker_query.conform(events), self.worker_query.schema
        blobs = pack(with_signs(table, None), ticks(schema, table), np.zeros(len(table), np.int64), dense=True)
        return [PackedEvents(*blob) for _, blob in blobs]

    def pending(self) -> list[dict[str, Any]]:
        found = []
        for number, store in enumerate(self.stores):
            bucket = open_bucket(self.worker_query, self.fingerprint)
            bucket.load(store)
            found += [row for t in self.worker_query.tables(bucket.close(), bucket=number) for row in t.to_pylist()]
        return found


def counted(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """What stands after some rows, whose changes are one a match at most."""
    ids = [row["match_id"] for row in rows if "match_id" in row]
    assert len(ids) == len(set(ids))
    stands: Counter[str] = Counter()
    for row in rows:
        text = to_json({name: value for name, value in row.items() if name not in ("op", "match_id")})
        stands[text] += -1 if row.get("op") == "-" else 1
    return stands


def named(found: Any) -> Counter[str]:
    return counted([{"query": name, **row} for name, matches in found.outputs.items() for row in matches.to_pylist()])


def wanted(
    query: cep.Query, events: pa.Table, log: Sequence[Any], watermark: int | None, speculate: str | None
) -> Counter[str]:
    """By the embedded query that knows all changes from the beginning."""
    if speculate == "all":
        return named(query.match(events, changes=log))
    if watermark is None:
        return Counter()
    mark = datetime.fromtimestamp(watermark / 1000, UTC)
    if speculate is not None:
        mark += timedelta(seconds=6)
        events = events.filter(pa.array([time < mark for time in events["ts"].to_pylist()], pa.bool_()))
    session = query.session()
    session.push(SCHEMA.empty_table())
    if log:
        session.change(*log)
    session.push(events)
    return named(session.advance(mark))


def events_at(chance: Random, begin: int, end: int) -> pa.Table:
    keys = chance.sample(range(9), chance.randint(1, 6))
    rows = [
        {
            "ts": BEGIN + timedelta(seconds=at - chance.randint(0, 8)),
            "type": chance.choice("ABC"),
            "k": chance.choice(keys),
            "x": chance.randrange(10),
        }
        for at in range(begin, end)
        for _ in range(chance.choice([1, 2]))
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def arc_row(chance: Random) -> tuple[str, str, str | None]:
    if chance.random() < 0.2:
        return "query 1", "replace", AUTOMATON.format(chance.randrange(9), chance.randrange(6))
    name = chance.choice(["up", "low", "late", "one", "two", "three"])
    return (name, "remove_arc", None) if chance.random() < 0.4 else (name, "add_arc", chance.choice(ARCS))


def query_row(chance: Random) -> tuple[str, str, str | None]:
    name, action = chance.choice(["query 1", "one", "two", "three"]), chance.choice(["add", "replace", "remove"])
    text = PAIRS.format(chance.choice(PATTERNS[: 1 if name == "query 1" else 4]), chance.choice(CONDITIONS))
    return name, action, None if action == "remove" else text


Draw = Callable[[Random], tuple[str, str, str | None]]
KINDS: dict[str, tuple[str, Draw]] = {
    "arcs": (AUTOMATON.format(6, 5), arc_row),
    "queries": (PAIRS.format("A a, B b", "AND b.x > a.x + 3"), query_row),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("speculate", [None, "6 seconds", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_random_changes(kind: str, speculate: str | None, seed: int) -> None:
    """After every micro-batch the buckets have given what the embedded query gives that knows their log of changes."""
    assert check(kind, speculate, seed) > 0


def check(kind: str, speculate: str | None, seed: int) -> int:
    text, draw = KINDS[kind]
    chance = Random(f"{kind} {speculate} {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        query = cep.Query(text)
        buckets = Buckets(query, speculate)
        taken, stands, mark, last, sent = SCHEMA.empty_table(), Counter[str](), None, None, 0
        for step in range(8):
            rows = []
            for _ in range(chance.choice([0, 1, 1, 2, 3])):
                at = chance.choice([None, 20 * step - chance.randint(-30, 30)])
                ticks_at = None if at is None else int((BEGIN + timedelta(seconds=at)).timestamp()) * 1_000_000
                rows.append(ControlRow(*draw(chance), ticks_at))
            sent += len(rows)
            events = events_at(chance, 20 * step, 20 * step + 20) if chance.random() < 0.8 else SCHEMA.empty_table()
            for given, changes in ((events, rows), (SCHEMA.empty_table(), [])):
                known = [mark is None or int(time.timestamp() * 1000) >= mark for time in given["ts"].to_pylist()]
                taken = pa.concat_tables([taken, given.filter(pa.array(known, pa.bool_()))])
                stands.update(counted(buckets.run(given, changes, mark)))
                assert +stands == wanted(query, taken, buckets.log, mark, speculate), f"step {step}"
                if len(given):
                    last = max(last or 0, *(int(time.timestamp() * 1000) for time in given["ts"].to_pylist()))
                    mark = last - DELAY
        stands.update(counted(buckets.pending()))
        assert +stands == named(query.match(taken, changes=buckets.log))
        assert len(buckets.log) + len(buckets.refused) == sent
    return len(buckets.log)


def test_that_runs_are_kept_where_no_arc_leads_on() -> None:
    query = cep.Query("AUTOMATON s -> f ARC s -> f WHEN e.x > 5 PARTITION BY k WITHIN 1 hour", type=None)
    buckets = Buckets(query, None)
    row = ControlRow("on", "add_arc", "ARC f -> f WHEN e.x = 1", None)
    assert buckets.run(SCHEMA.empty_table(), [row], 10**12) == []
    assert buckets.refused == []
    assert [change.arc.source for change in buckets.log] == ["f"]
