"""Change streams that are long for the windows of their queries: what a late event can change is a part of them."""

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from change_calls import CHANCE, ENGINES, Call, Reader, same
from change_oracle import Oracle, Row, differences, shown
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Query
from cepheid.engine.stream import partition_replay, speculation
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies.schemas import KEY

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

QUERIES = [
    "SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 6",
    "SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] } WITHIN 8",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [k] AND a[i].x >= a[i-1].x } WITHIN 7",
    "SEQ(A a, B+ b[]) WHERE partition_contiguity { [k] } WITHIN 9",
    "SEQ(A+ a[], B b) WHERE strict_contiguity { b.x >= a[1].x } WITHIN 5 events",
    "SEQ(A+ a[], B b) WHERE strict_contiguity { b.x >= a[1].x }",
    "SEQ(A a, B b) WHERE skip_till_next_match { a.x = b.x } PARTITION BY k WITHIN 4 events",
    "SEQ(A a, !(C c), B b) WHERE [k] WITHIN 8",
    "SEQ(!(C c), A a, B b, !(C d)) WHERE [k] WITHIN 6",
    "SEQ(!(C c) FOR 3, A a, B b) WHERE [k] WITHIN 6",
    "SEQ(A a, B b, !(C d) FOR 4) WHERE [k] WITHIN 6",
    "SEQ(A a, B b) WHERE [k] WITHIN 6 OUTPUT NON_OVERLAP",
    "SEQ(A a, B b, !(C d)) WHERE [k] WITHIN 5 OUTPUT NON_OVERLAP COOLDOWN 2",
    "SEQ(A a, ANY(A, B)+ b[], C c) WHERE [k] WITHIN 7 OUTPUT LONGEST",
    "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] } WITHIN 6 OUTPUT LONGEST COOLDOWN 3",
    "SEQ(A a, B b) WHERE [k] WITHIN 5 HAVING a.x + b.x > 2 RETURN a.k AS k",
    "SEQ(A a, AND(B b, C c)) WHERE [k] WITHIN 7 TIES SIMULTANEOUS",
    "SEQ(A a, B b) WHERE skip_till_next_match { [k] }",
    """SEQ(A a, B b) WHERE [k] WITHIN 4 RETURN a.k AS k, b.x AS x INTO P;
       FROM P PATTERN SEQ(P p, P q) WHERE [k] WITHIN 9""",
    """SEQ(A a, B b) WHERE [k] WITHIN 4 OUTPUT NON_OVERLAP RETURN a.k AS k INTO P;
       FROM stream, P PATTERN SEQ(P p, !(C c)) WHERE [k] WITHIN 5""",
]
LONG = pa.schema({"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64()})


def long_stream(chance: Random, size: int) -> list[Row]:
    """Ties, equal rows, and NULLs towards the end."""

    def row(at: int) -> Row:
        key, x = chance.randint(0, 2), chance.randint(0, 3)
        lacks = chance.random() > 0.9 and at > size // 2
        return {"ts": at * 4 // 5, "type": chance.choice("AABBC"), "k": key, "x": None if lacks else x}

    return [row(at) for at in range(size)]


def long_script(chance: Random, size: int) -> Iterator[Call]:
    """Most events are in order, a third is late, some are withdrawn; the watermark stays behind them."""
    coming = long_stream(chance, size)
    steps = [(row["ts"] + (chance.randint(1, 20) if chance.random() > 0.7 else 0), "+", row) for row in coming]
    steps += [(row["ts"] + chance.randint(-6, 12), "-", row) for row in coming if chance.random() > 0.85]
    steps.sort(key=itemgetter(0))
    watermark = 0
    while steps:
        many = chance.choice([1, 1, 2, 8])
        some, steps = steps[:many], steps[many:]
        yield Call(*(tuple(row for _, op, row in some if op == wanted) for wanted in "+-"))
        if chance.random() > 0.8 and steps:
            watermark = max(watermark, min(row["ts"] for _, _, row in steps))
            yield Call(time=watermark)


def relabelled(row: Any) -> Any:
    """The same with other keys, here and in all events of a match."""
    if isinstance(row, dict):
        return {name: 7 - item if name == KEY and item is not None else relabelled(item) for name, item in row.items()}
    return [relabelled(item) for item in row] if isinstance(row, list) else row


PARAMS = [pytest.param(Query(f"PATTERN {text}"), id=" ".join(text.split())) for text in QUERIES]


FEW = max(settings.default.max_examples // 40, 1)


@pytest.fixture(params=[0, 10])
def few_events(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """States are kept and events are forgotten as they are in streams that are longer still."""
    monkeypatch.setattr(speculation, "FEW_EVENTS", request.param)
    monkeypatch.setattr(partition_replay, "FEW", request.param)


@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize("query", PARAMS)
@settings(max_examples=FEW)
@given(chance=CHANCE, engine=ENGINES, speculate=st.sampled_from([0, 2, 9, "all", "all", "all"]))
def test_that_a_long_stream_is_answered_after_every_call(
    query: Query, chance: Random, engine: str, speculate: int | str
) -> None:
    oracle = Oracle(query, speculate, schema=LONG)
    session = query.session(engine=engine, speculate=speculate)
    readers = {name: Reader() for name in session.push(LONG.empty_table()).outputs}
    for call in long_script(chance, 40):
        before = oracle
        oracle = oracle.advance(call.time) if call.time is not None else oracle.change(call.inserted, call.retracted)
        changes = call.on(session, LONG)
        for name, wanted in differences(before.answer, oracle.answer).items():
            one = changes.outputs[name]
            assert (Counter(shown(one.removed)), Counter(shown(one.added))) == (wanted.removed, wanted.added), call
        for name, reader in readers.items():
            reader.read(changes.outputs[name])
        if chance.random() > 0.95:
            session = query.restore(session.snapshot())
    last = differences(oracle.answer, oracle.close().answer)
    changes = session.close()
    assert {name: Counter(shown(one.added)) for name, one in changes.outputs.items()} == {
        name: wanted.added for name, wanted in last.items()
    }


@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize("plan", ["automaton", "stacks", "lazy(b, a)", "tree"])
@pytest.mark.parametrize("text", ["SEQ(A a, B b) WHERE [k] WITHIN 6", "SEQ(A a, !(C c), B b) WHERE [k] WITHIN 8"])
@settings(max_examples=FEW)
@given(chance=CHANCE)
def test_that_every_plan_gives_the_same_changes(text: str, plan: str, chance: Random) -> None:
    query = Query(f"PATTERN {text}")
    one, other = query.session(plan=plan, speculate="all"), query.session(engine="reference", speculate="all")
    for call in long_script(chance, 40):
        assert same(call.on(one, LONG), call.on(other, LONG))
    assert same(one.close(), other.close())


@pytest.mark.parametrize("query", [param for param in PARAMS if "strict" not in str(param.id)])
@settings(max_examples=FEW)
@given(chance=CHANCE, speculate=st.sampled_from([0, 3, "all"]))
def test_that_keys_are_only_names(query: Query, chance: Random, speculate: int | str) -> None:
    one, other = query.session(speculate=speculate), query.session(speculate=speculate)
    for call in [*long_script(chance, 40), None]:
        if call is None:
            given = one.close(), other.close()
        else:
            renamed = Call(*map(tuple, map(relabelled, map(list, (call.inserted, call.retracted)))), call.time)
            given = call.on(one, LONG), renamed.on(other, LONG)
        rows, found = ([to_json(relabelled(row)) for row in given[0]], [to_json(row) for row in given[1]])
        assert sorted(rows) == sorted(found)


@pytest.mark.parametrize("speculate", [10, "all"])
@pytest.mark.parametrize("query", [PARAMS[0], PARAMS[3], PARAMS[11]])
def test_that_what_no_change_can_need_is_freed(query: Query, speculate: int | str) -> None:
    """At constant disorder, and with some events withdrawn, what is held and what a snapshot has stay as they are."""
    chance = Random(7)
    session = query.session(speculate=speculate, lateness=30, op="op")
    schema = LONG.append(pa.field("op", pa.string()))
    held, stored, come = [], [], list[Row]()
    for start in range(0, 6_000, 50):
        times = [start + 20 + chance.randint(-20, 20) for _ in range(50)]
        gone = [{**row, "op": "-"} for row in come if row["ts"] > start - 20]
        come = [{"ts": t, "type": chance.choice("AABBC"), "k": t % 3, "x": t % 5, "op": "+"} for t in times]
        session.push(pa.Table.from_pylist([*come, *gone], schema=schema))
        held.append(session.stats.state_bytes)
        if start % 250 == 0:
            stored.append(len(session.snapshot()))
    for sizes in (held, stored):
        half = len(sizes) // 2
        assert max(sizes[half:]) <= 1.5 * max(sizes[:half]) + 8192
