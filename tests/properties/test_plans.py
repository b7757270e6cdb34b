"""Every plan gives what the reference gives: in one call, over a stream, and when it is changed on the way."""

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepheid import CepheidWarning, Matches, Query
from cepheid.engine.machines import policy, stack_machine
from cepheid.engine.stream import input_stream
from cepheid.kernel.join import lookup, output, state
from cepheid.testing.outcomes import to_json

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

SCHEMA = pa.schema(
    {"ts": pa.int64(), "type": pa.string(), "x": pa.int64(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_()}
    | {"moment": pa.timestamp("us"), "day": pa.date32(), "took": pa.duration("us"), "k": pa.int64(), "j": pa.string()}
)
VALUES: dict[str, Sequence[Any]] = {
    "x": [-1, 0, 1, 2, 3, 2**53 + 1],
    "f": [-0.0, 0.0, 0.5, 1.0, 2.0, 2.0**53, float("nan"), float("inf")],
    "s": ["u", "v"],
    "b": [False, True],
    "moment": [datetime(2020, 1, 1, second=n) for n in range(3)],
    "day": [date(2020, 1, 1 + n) for n in range(3)],
    "took": [timedelta(seconds=n) for n in range(3)],
    "k": [0, 1],
    "j": ["l", "m"],
}
ORDERED = ("x", "f", "moment", "day", "took")
OPERATORS = ("<", "<=", "=", "!=", ">=", ">")


@dataclass(frozen=True)
class Joinable:
    """A query that every plan can run, and what a test must know of it."""

    text: str
    names: tuple[str, ...]
    waits: int | None = None  # the window, where an event must be absent at the end

    @property
    def query(self) -> Query:
        return Query(self.text)


def pick(draw: st.DrawFn, values: Sequence[Any]) -> Any:
    return draw(st.sampled_from(values))


@st.composite
def joints(draw: st.DrawFn, names: Sequence[str], negated: Sequence[str]) -> str:
    """A condition over several events, at most one of which is absent."""
    one, other, third = pick(draw, names), pick(draw, [*names, *negated]), pick(draw, names)
    column = pick(draw, [*ORDERED, *ORDERED, "s", "b"])
    operator = pick(draw, OPERATORS if column in ORDERED else ("=", "!="))
    simple = f"{one}.{column} {operator} {other}.{column}"
    return pick(
        draw,
        [
            *[simple] * 6,
            f"{one}.x {operator} {other}.f",
            f"{one}.x + {other}.x {operator} {third}.x",
            f"{one}.f - {other}.f {operator} 0.5",
            f"{one}.moment - {other}.moment {pick(draw, OPERATORS)} {third}.took",
            f"({simple} OR {third}.{column} IS NULL)",
            f"NOT ({simple} AND {third}.x > 0)",
            f"{other}.x BETWEEN {one}.x AND {third}.x",
            f"coalesce({one}.x, {other}.x) {operator} 1",
            f"CASE WHEN {one}.b THEN {other}.x ELSE {third}.x END > 0",
        ],
    )


@st.composite
def joinables(draw: st.DrawFn, *, ends: bool = False) -> Joinable:
    """Sequences of single events and of AND, with absent ones anywhere. `ends`: one is absent at the end."""
    rest = [*"abcde"[: pick(draw, [2, 2, 3, 3, 4, 5])]]
    names = tuple(rest)

    def event(name: str) -> str:
        types = draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=2, unique=True))
        return f"{types[0]} {name}" if len(types) == 1 else f"ANY({', '.join(types)}) {name}"

    items: list[str] = []
    while rest:
        size = min(pick(draw, [1, 1, 1, 2, 3]), len(rest))
        group, rest = rest[:size], rest[size:]
        items.append(event(group[0]) if size == 1 else f"AND({', '.join(map(event, group))})")
    length = pick(draw, [1, 2, 4, 6, 9, 20])
    kind = pick(draw, ["time", "time", "time", "events", "none"])
    window = {"time": f" WITHIN {length}", "events": f" WITHIN {length} events", "none": ""}[kind]
    last = len(items) if kind == "time" and not items[0].startswith("AND") else len(items) - 1
    first = 0 if window else 1
    places = set(draw(st.lists(st.integers(first, last), max_size=2))) if last >= first else set()
    if ends:
        assume(last == len(items))
        places |= {last}
    negated = "yzw"[: len(places)]
    waits = length if len(items) in places else None
    for place, name in zip(sorted(places, reverse=True), negated, strict=True):
        items.insert(place, f"!({event(name)})")
    conditions = draw(st.lists(joints(names, negated), max_size=3))
    if draw(st.booleans()):
        column = pick(draw, [*ORDERED, "s", "b"])
        operator = pick(draw, OPERATORS if column in ORDERED else ("=", "!="))
        value = {"x": "1", "f": "0.5", "s": "'u'", "b": "true", "moment": "'2020-01-01 00:00:01'"}
        literal = {**value, "day": "'2020-01-02'", "took": "1 second"}[column]
        conditions.append(f"{pick(draw, [*names, *negated])}.{column} {operator} {literal}")
    conditions += draw(st.lists(st.sampled_from(["[k]", "[k]", "[s]", "[f]", "[s = 'u']"]), max_size=2, unique=True))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    split = pick(draw, ["", "", "", " PARTITION BY j", " PARTITION BY f, j"])
    having = pick(draw, ["", "", "", f" HAVING {names[0]}.x < {names[-1]}.x"])
    outputs = ["", "", "", " OUTPUT NON_OVERLAP", " OUTPUT NON_OVERLAP COOLDOWN 2"]
    output = pick(draw, outputs + [" OUTPUT LONGEST", " OUTPUT LONGEST COOLDOWN 3"] * (kind == "time"))
    pattern = items[0] if len(items) == 1 else f"SEQ({', '.join(items)})"
    return Joinable(f"PATTERN {pattern}{where}{split}{window}{having}{output}", names, waits)


@st.composite
def streams(draw: st.DrawFn, max_size: int = 12) -> pa.Table:
    """Events in the order of time, with ties; some columns have NULLs."""
    empty = draw(st.sets(st.sampled_from([*VALUES]), max_size=3))
    chance = draw(st.randoms(use_true_random=False))
    time, rows = pick(draw, [0, 0, 0, -6]), []
    for kind in draw(st.lists(st.sampled_from("AAABBBCCCD"), max_size=max_size)):
        time += chance.choice([0, 1, 1, 2])
        row = {name: chance.choice(values) for name, values in VALUES.items()}
        missing = {name: None for name in empty if chance.random() < 0.2}
        rows.append({"ts": time, "type": kind, **row, **missing})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def reference(query: Query, events: pa.Table) -> list[str]:
    return rows(query.match(events, engine="reference"))


def plans(names: Sequence[str], chance: Random) -> list[str]:
    return ["stacks", "tree", f"lazy({', '.join(chance.sample(names, len(names)))})"]


def is_subsequence(some: Sequence[str], all_: Sequence[str]) -> bool:
    rest = iter(all_)
    return all(row in rest for row in some)


@pytest.fixture(autouse=True, scope="module")
def sort_early() -> Iterator[None]:
    """Stacks are sorted although they are short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "FEW", 2)
        yield


def in_batches(query: Query, events: pa.Table, names: Sequence[str], chance: Random) -> Iterator[Matches]:
    """Batches of any size; from time to time another session from a snapshot, with another plan."""
    session = query.session(lateness=0, engine="plain", plan=chance.choice(plans(names, chance)))
    yield session.push(events.slice(0, 0))
    at = 0
    while at < events.num_rows:
        size = chance.choice([1, 1, 2, 5])
        yield session.push(events.slice(at, size))
        at += size
        if chance.random() < 0.5:
            plan = chance.choice(plans(names, chance))
            session = query.restore(session.snapshot(), engine="plain", plan=plan)
    yield session.close()


@given(joinables(), streams(), st.randoms(use_true_random=False))
def test_that_a_plan_gives_what_the_reference_gives(joinable: Joinable, events: pa.Table, chance: Random) -> None:
    query = joinable.query
    expected = reference(query, events)
    for plan in plans(joinable.names, chance):
        assert rows(query.match(events, engine="plain", plan=plan)) == expected, plan


@given(joinables(), streams(), st.randoms(use_true_random=False))
def test_that_a_session_gives_it_also_where_its_plan_changes(
    joinable: Joinable, events: pa.Table, chance: Random
) -> None:
    """In each call in the order of S9, whatever the batches."""
    query = joinable.query
    expected = reference(query, events)
    calls = list(map(rows, list(in_batches(query, events, joinable.names, chance))))
    assert sorted(row for call in calls for row in call) == sorted(expected)
    assert all(is_subsequence(call, expected) for call in calls)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    joinables() | joinables(ends=True),
    streams(),
    st.lists(st.integers(-6, 24), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_that_a_match_is_given_as_soon_as_it_is_certain(
    joinable: Joinable, events: pa.Table, watermarks: list[int], chance: Random
) -> None:
    """When the watermark has passed its last event, and its window where what follows must be absent."""
    assume("LONGEST" not in joinable.text and (joinable.waits is None or "NON_OVERLAP" not in joinable.text))
    query = joinable.query
    session = query.session(engine="plain", plan=chance.choice(plans(joinable.names, chance)))
    given_ = rows(session.push(events))
    for watermark in sorted(watermarks):
        given_ += rows(session.advance(watermark))
        past = [event for event in events.to_pylist() if event["ts"] < watermark]
        known = query.match(pa.Table.from_pylist(past, schema=SCHEMA), engine="reference").to_pylist()
        if joinable.waits is not None:
            known = [match for match in known if match["match_start"] + joinable.waits <= watermark]
        assert sorted(given_) == sorted(map(to_json, known)), watermark


@settings(max_examples=settings.default.max_examples // 2)
@given(joinables(), streams(), st.integers(0, 4), st.randoms(use_true_random=False))
def test_that_matches_of_a_plan_can_be_counted_and_cut(
    joinable: Joinable, events: pa.Table, limit: int, chance: Random
) -> None:
    query = joinable.query
    expected = reference(query, events)
    plan = chance.choice(plans(joinable.names, chance))
    matches = query.match(events, engine="plain", plan=plan)
    assert matches.count() == len(matches) == len(expected)
    assert list(map(to_json, matches.enumerate(limit))) == expected[:limit]
    assert rows(query.match(events, engine="plain", plan=plan, limit=limit)) == expected[:limit]


@settings(max_examples=settings.default.max_examples // 2)
@given(joinables(), streams(), st.sampled_from(["us", "ms", "s", "ns", "int32"]), st.randoms(use_true_random=False))
def test_that_columns_may_be_of_any_kind(joinable: Joinable, events: pa.Table, time: str, chance: Random) -> None:
    """A stream of one type, times in other units than the window, strings in dictionaries, columns in chunks."""
    numbers = events["ts"] if time == "s" else pc.multiply(events["ts"], 700)  # windows end between two ticks
    kind = pa.int32() if time == "int32" else pa.timestamp(time)
    events = events.set_column(0, "ts", numbers.cast(kind))
    events = events.set_column(4, "s", events["s"].dictionary_encode())
    events = pa.concat_tables([events.slice(0, 3), events.slice(3)])
    unit = {"ns": "us", "us": "ms"}.get(time, "s")
    typed = chance.random() < 0.5
    text = joinable.text if typed else re.sub(r"ANY\([^)]*\)|\b[ABC](?= [a-z])", "A", joinable.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)  # of a type that no event has
        query = Query(text, unit=unit, type="type" if typed else None)
        expected = reference(query, events)
        for plan in plans(joinable.names, chance):
            assert rows(query.match(events, engine="plain", plan=plan)) == expected, plan


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 10)  # some seconds to compile each
@given(joinables(), streams(), st.randoms(use_true_random=False))
def test_that_a_compiled_plan_gives_what_the_reference_gives(
    joinable: Joinable, events: pa.Table, chance: Random
) -> None:
    query = joinable.query
    expected = reference(query, events)
    for plan in plans(joinable.names, chance):
        assert rows(query.match(events, engine="compiled", plan=plan)) == expected, plan


# Streams that are long for the room there is.

LONG = [
    "SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 16",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 16",
    "SEQ(A a, A b, B c, C d) WHERE [s] AND b.f > a.f AND d.x >= c.x WITHIN 30",
    "SEQ(A a, !(X n), B b) WHERE [k] AND n.x > a.x WITHIN 20",
    "SEQ(!(X n), A a, B b) WHERE [k] AND n.x > 2 WITHIN 12",
    "SEQ(A a, B b, !(X n)) WHERE [k] AND n.x > a.x WITHIN 20 OUTPUT NON_OVERLAP",
    "SEQ(!(X m), A a, B b, !(X n)) WHERE m.x = 0 AND m.s = a.s AND n.x > b.x WITHIN 9",
    "SEQ(A a, AND(B b, C c)) WHERE c.x > a.x PARTITION BY f WITHIN 16 HAVING b.x > 1",
    "AND(A a, B b, C c) WHERE a.s = b.s AND b.f < c.f WITHIN 8",
    "SEQ(AND(A a, B b), !(X n), C c) WHERE [k] AND n.s = a.s WITHIN 9 events",
    "SEQ(A a, B b, C c) WHERE [k] AND a.s = c.s WITHIN 12 events OUTPUT NON_OVERLAP",
    "SEQ(A a, B b) WHERE b.s = a.s AND b.x + a.x > 4 WITHIN 8 RETURN a.x + b.x AS sum, b.s",
    "SEQ(A a, X b, A c) WHERE [k] AND b.s != c.s AND a.x = c.x",
    "SEQ(A a, B b, C c) WHERE [k] AND a.s = c.s WITHIN 12 OUTPUT LONGEST",
    "SEQ(A a, B b, !(X n)) WHERE [k] AND n.x > a.x WITHIN 20 OUTPUT LONGEST COOLDOWN 9",
]


def many_events(chance: Random, size: int, keys: int, *, nulls: bool = True) -> pa.Table:
    """Ties, NULLs after a while, keys and strings that come and go, rates that change."""

    def row(at: int) -> dict[str, Any]:
        key = (at // 40 + chance.randrange(keys)) % (3 * keys)
        found = {"k": key, "s": f"s{at // 90}{key % 2}", "x": chance.randint(-2, 6), "f": chance.choice(VALUES["f"])}
        if nulls and at > size // 3:
            found = {name: value if chance.random() > 0.1 else None for name, value in found.items()}
        kind = chance.choice("AABCX" if at // 100 % 2 else "ABCCX")
        return {"ts": at * 3 // 4, "type": kind, **found}

    return pa.Table.from_pylist([row(at) for at in range(size)], schema=SCHEMA)


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a few of everything, so that there is none left all the time."""
    monkeypatch.setattr(output, "ROOM", 1)
    monkeypatch.setattr(output, "PLAIN_ROOM", 1)
    monkeypatch.setattr(stack_machine, "PART", 7)
    monkeypatch.setattr(state, "FEW", 1)
    for name, few in (("FEW_PARTITIONS", 1), ("FEW_STRINGS", 1), ("FEW_ROWS", 4)):
        monkeypatch.setattr(input_stream, name, few)


def check_long(text: str, events: pa.Table, chance: Random, engine: str, some: Sequence[str] = ()) -> None:
    query = Query(f"PATTERN {text}")
    names = [component.variable for component in query.compiled.queries[0].positive]
    expected = reference(query, events)
    assert expected
    for plan in some or plans(names, chance):
        assert rows(query.match(events, engine=engine, plan=plan)) == expected, plan
        session = query.session(engine=engine, plan=plan, lateness=0)
        given_, at = [], 0
        while at < events.num_rows:
            size = chance.choice([1, 7, 60])
            given_.append(session.push(events.slice(at, size)))
            at += size
            if chance.random() < 0.3:
                session = query.restore(session.snapshot(), engine=engine, plan=plan)
        given_.append(session.close())
        assert sorted(row for call in given_ for row in rows(call)) == sorted(expected), plan


@pytest.mark.parametrize("text", LONG)
@pytest.mark.usefixtures("little_room")
def test_that_a_long_stream_gives_what_the_reference_gives(text: str) -> None:
    chance = Random(text)
    check_long(text, many_events(chance, 100 if "f WITHIN 8" in text else 300, keys=4), chance, "plain")


COMPILED = "SEQ(AND(A a, B b), !(X n), C c) WHERE [k] AND n.x > a.x AND c.x > b.x WITHIN 30"
"""One kernel for all tests that need some, and in one order: it takes seconds to compile."""


@pytest.mark.usefixtures("little_room")
def test_that_a_long_stream_through_compiled_code_gives_what_the_reference_gives() -> None:
    chance = Random(1)
    check_long(COMPILED, many_events(chance, 900, keys=6, nulls=False), chance, "compiled", ["stacks"])


@pytest.mark.usefixtures("little_room")
def test_that_compiled_code_goes_on_where_plain_python_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ENOUGH_TO_LOOK", 300)
    monkeypatch.setattr(policy, "ENOUGH_TO_COMPILE", 300)
    monkeypatch.setenv("CEPHEID_COMPILE", "now")
    query, events = Query(f"PATTERN {COMPILED}"), many_events(Random(2), 600, keys=5, nulls=False)
    session = query.session(plan="stacks", lateness=0)
    given_ = [row for at in range(0, 600, 40) for row in rows(session.push(events.slice(at, 40)))]
    given_ += rows(session.close())
    assert sorted(given_) == sorted(reference(query, events))


@pytest.mark.slow
@pytest.mark.usefixtures("little_room")
def test_that_the_first_null_of_a_column_asks_for_another_kernel() -> None:
    chance = Random(3)
    check_long(f"{COMPILED} events", many_events(chance, 300, keys=6), chance, "compiled")
