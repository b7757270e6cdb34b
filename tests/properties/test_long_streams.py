"""Streams that are long for their room: arrays grow, nodes are cleared, partitions are dropped, runs are merged."""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Matches, Query
from cepheid.engine.machines import policy
from cepheid.engine.machines.forms import events as event_form
from cepheid.engine.matches import graph_matches, matches
from cepheid.engine.stream import input_stream
from cepheid.kernel.arguments import Extent
from cepheid.kernel.scan import state
from cepheid.kernel.scan.state import ScanState
from cepheid.testing.outcomes import to_json

SCHEMA = pa.schema(
    {"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "s": pa.string(), "v": pa.int64(), "x": pa.float64()}
)
NUMBERS = [0.5, 1.0, -0.0, 0.0, 2.5, float("nan"), float("inf")]

PATTERNS = [
    "SEQ(A a, B b) WHERE [k] AND b.v > a.v WITHIN 16",
    "SEQ(A+ a[], B b) WHERE [k] AND a[i].v > a[i-1].v AND sum(a[].v) > 3 WITHIN 30",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [k] AND a[i].x > avg(a[..i-1].x) } WITHIN 40",
    "SEQ(A+ a[], B b) WHERE [k] AND min(a[].x) < b.x AND stddev(a[].v) < 3 WITHIN 20",
    "SEQ(A a, B+ b[], C c) WHERE [s] AND b[i].x > b[1].x AND count(b[].v) < 4 WITHIN 30",
    "SEQ(A a, !(X n), B b) WHERE [k] AND n.v > a.v WITHIN 20",
    "SEQ(!(X n), A a, B b) WHERE [k] AND n.v > 2 WITHIN 12",
    "SEQ(A a, B b, !(X n)) WHERE [k] AND n.v > a.v WITHIN 20 OUTPUT NON_OVERLAP",
    "SEQ(A+ a[], !(X n), B? b, C c) WHERE a[i].v > a[i-1].v AND n.v > a[1].v PARTITION BY k WITHIN 20",
    "SEQ(A+ a[], OR(SEQ(!(X n), B b), SEQ(!(X m), C c))) WHERE [k] AND n.v > a[1].v AND m.x > 1 WITHIN 20",
    "SEQ(A{2,3} a[], B b) WHERE strict_contiguity { b.v >= a[1].v } WITHIN 9 events",
    "SEQ(A a, OR(B b, C c)) WHERE partition_contiguity { [k] } WITHIN 6 events OUTPUT NON_OVERLAP",
    "SEQ(A a, AND(B b, C c)) WHERE c.v > a.v PARTITION BY x WITHIN 16 HAVING b.v > 1",
    "SEQ(A a, B b) WHERE b.s = a.s AND b.v + a.v > 4 WITHIN 8 RETURN a.v + b.v AS sum, b.s",
    "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] AND b[i].v >= b[i-1].v } WITHIN 20 OUTPUT LONGEST",
    "SEQ(A a, ANY(A, B)+ b[], C c) WHERE [k] WITHIN 12 OUTPUT LONGEST COOLDOWN 5",
    "SEQ(A a, B+ b[], C c) WHERE [k] WITHIN 20 OUTPUT NON_OVERLAP COOLDOWN 9",
    "SEQ(A a, B b, !(X n)) WHERE [k] AND n.v > a.v WITHIN 20 OUTPUT LONGEST",
    "SEQ(A{2,} a[], B b) WHERE strict_contiguity { b.v >= a[1].v } WITHIN 9 events OUTPUT LONGEST",
    "SEQ(A a, B b) WHERE partition_contiguity { [k] } OUTPUT LONGEST",
]


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a few of everything, so that there is none left all the time."""
    begin = ScanState.__init__

    def begin_tightly(self: ScanState, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        self.room = {Extent.NODES: 8, Extent.MATCHES: 8}
        self.pool_room = dict.fromkeys(self.pool_room, 2)

    monkeypatch.setattr(ScanState, "__init__", begin_tightly)
    monkeypatch.setattr(state, "MOST_NODES", 256)
    monkeypatch.setattr(event_form, "EAGER", 4)
    monkeypatch.setattr(input_stream, "FEW_PARTITIONS", 1)
    monkeypatch.setattr(input_stream, "FEW_STRINGS", 1)
    monkeypatch.setattr(input_stream, "FEW_ROWS", 4)


def events(chance: Random, size: int, keys: int, *, nulls: bool = True) -> pa.Table:
    """Ties, NULLs after a while, keys that come and go, NaN and zeros of both signs."""

    def row(at: int) -> dict[str, object]:
        key = (at // 40 + chance.randrange(keys)) % (3 * keys)
        found = {"k": key, "s": f"s{key}", "v": chance.randint(-2, 6), "x": chance.choice(NUMBERS)}
        if nulls and at > size // 3:
            found = {name: value if chance.random() > 0.1 else None for name, value in found.items()}
        return {"ts": at * 3 // 4, "type": chance.choice("AABCX"), **found}

    return pa.Table.from_pylist([row(at) for at in range(size)], schema=SCHEMA)


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def in_batches(query: Query, table: pa.Table, chance: Random, engine: str) -> Iterator[Matches]:
    """Batches of any size, and now and then another session from a snapshot."""
    session = query.session(engine=engine, lateness=0)
    at = 0
    while at < table.num_rows:
        size = chance.choice([1, 7, 60])
        yield session.push(table.slice(at, size))
        at += size
        if chance.random() < 0.3:
            session = query.restore(session.snapshot(), engine=engine)
    yield session.close()


def check(text: str, table: pa.Table, chance: Random, engine: str) -> None:
    query = Query(f"PATTERN {text}")
    expected = rows(query.match(table, engine="reference"))
    assert expected
    matches = query.match(table, engine=engine)
    assert matches.count() == len(expected)
    assert list(map(to_json, matches.enumerate())) == expected
    assert rows(matches) == expected
    assert len(matches) == matches.count() == len(expected)
    assert rows(query.match(table, engine=engine, limit=7)) == expected[:7]
    given = [row for part in list(in_batches(query, table, chance, engine)) for row in rows(part)]
    assert sorted(given) == sorted(expected)


@pytest.mark.parametrize("text", PATTERNS)
def test_that_a_long_stream_gives_what_the_reference_gives(text: str) -> None:
    chance = Random(text)
    check(text, events(chance, 400, keys=4), chance, "plain")


def test_that_a_long_stream_through_compiled_code_gives_what_the_reference_gives() -> None:
    chance = Random(1)
    check(PATTERNS[1], events(chance, 1500, keys=20), chance, "compiled")


def test_that_compiled_code_goes_on_where_plain_python_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ENOUGH_TO_LOOK", 300)
    monkeypatch.setattr(policy, "ENOUGH_TO_COMPILE", 300)
    monkeypatch.setenv("CEPHEID_COMPILE", "now")
    chance = Random(2)
    query, table = Query(f"PATTERN {PATTERNS[1]}"), events(chance, 900, keys=6)
    session = query.session(lateness=0)
    given = [row for at in range(0, 900, 50) for row in rows(session.push(table.slice(at, 50)))]
    given += rows(session.close())
    assert sorted(given) == sorted(rows(query.match(table, engine="reference")))


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_that_matches_are_not_of_another_run(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """A run may use the arrays of an earlier one, but not while matches are still read from them."""
    monkeypatch.setattr(graph_matches, "_GROUP", 16)
    monkeypatch.setattr(matches, "_CHUNK", 16)
    chance = Random(3)
    query = Query("PATTERN SEQ(A a, B b) WITHIN 12")
    one, other = events(chance, 300, keys=3), events(chance, 300, keys=3)
    expected = rows(query.match(one, engine="reference"))
    found = query.match(one, engine=engine)
    some = found.enumerate()
    given = [to_json(next(some))]
    assert len(found) == len(expected)
    assert query.match(other, engine=engine).count() == len(query.match(other, engine="reference"))
    assert [*given, *map(to_json, some)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WHERE [k] AND b.v > a.v WITHIN 20",
        "SEQ(A+ a[], B b) WHERE [k] AND a[i].v > a[i-1].v AND sum(a[].v) > 3 WITHIN 20",
        "SEQ(A a, B b, !(X n)) WHERE [k] WITHIN 20 OUTPUT NON_OVERLAP",
        "SEQ(!(X n), A a, B b) WHERE [k] WITHIN 20",
    ],
)
def test_that_a_session_does_not_grow_with_the_stream(text: str) -> None:
    """Every key comes for a while and never again."""
    session = Query(f"PATTERN {text}").session(engine="plain", lateness=0)
    random = np.random.default_rng(1)
    sizes = []
    for at in range(0, 12_000, 200):
        batch = {
            "ts": np.arange(at, at + 200),
            "type": np.array(list("ABX"))[random.integers(0, 3, 200)],
            "k": np.arange(at, at + 200) // 6 + random.integers(0, 3, 200),
            "v": random.integers(-2, 7, 200),
        }
        session.push(pa.table(batch))
        sizes.append((session.stats.state_bytes, len(session.snapshot())))
    for one in zip(*sizes, strict=True):
        assert max(one[20:]) <= 2 * max(one[:20])


def test_that_a_way_that_is_closed_makes_no_match_twice() -> None:
    """A run that lost a way across an absent event has one history, not one for each way: the count is exact."""
    query = Query("PATTERN SEQ(A+ a[], !(X n), B? b, C c) WITHIN 100")
    table = pa.table({"ts": range(42), "type": [*"A" * 40, "B", "C"]})
    assert query.match(table, engine="plain").count() == 2 * (2**40 - 1)


@pytest.mark.parametrize("function", ["sum", "min", "max", "first", "last", "avg", "count"])
def test_that_a_run_from_before_the_first_null_keeps_its_aggregate(function: str) -> None:
    query = Query(f"PATTERN SEQ(A+ a[], B b) WHERE {function}(a[].v) > 0 WITHIN 9")
    table = pa.table({"ts": [1, 2, 3, 4], "type": [*"AAAB"], "v": pa.array([5, None, 7, None])})
    session = query.session(engine="plain", lateness=0)
    given = [row for at in range(4) for row in rows(session.push(table.slice(at, 1)))] + rows(session.close())
    assert sorted(given) == sorted(rows(query.match(table, engine="reference")))


@pytest.mark.parametrize("key", [pa.array([1.5] * 4, pa.float16()), pa.nulls(4)])
def test_that_keys_of_rare_types_are_the_same_in_every_batch(key: pa.Array) -> None:
    query = Query("PATTERN SEQ(A a, B b) PARTITION BY k WITHIN 9")
    table = pa.table({"ts": [1, 2, 3, 4], "type": [*"AABB"], "k": key})
    session = query.session(engine="plain", lateness=0)
    given = [len(session.push(table.slice(at, 2))) for at in (0, 2)] + [len(session.close())]
    assert sum(given) == 4


def test_that_null_among_the_words_of_a_dictionary_is_null() -> None:
    key = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array(["x", None]))
    table = pa.table({"ts": [1, 2, 3, 4], "type": [*"AABB"], "k": key})
    for text in ("WHERE [k]", "WHERE a.k = b.k"):
        query = Query(f"PATTERN SEQ(A a, B b) {text}")
        assert rows(query.match(table, engine="plain")) == rows(query.match(table, engine="reference"))


@pytest.mark.parametrize("end", [-(2**63), 2**63 - 10])
@pytest.mark.parametrize("text", ["SEQ(A a, B b)", "SEQ(!(B n), A a, B b)", "SEQ(A a, B b, !(A n))"])
def test_that_times_at_the_ends_of_64_bits_are_times(text: str, end: int) -> None:
    query = Query(f"PATTERN {text} WITHIN 6")
    table = pa.table({"ts": [end, end + 2, end + 5, end + 9], "type": [*"ABAB"]})
    assert rows(query.match(table, engine="plain")) == rows(query.match(table, engine="reference"))
