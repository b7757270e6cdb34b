"""A join over a stream: what it stores, what it lets go of, and that it can be taken up by another."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid import EvaluationError, Matches, Query, Session
from cepheid.engine.machines import policy
from cepheid.kernel.join import lookup, output, state
from cepheid.testing.outcomes import to_json

# The query of tests/properties/test_plans.py: compiled once for all of them.
COMPILED = "PATTERN SEQ(AND(A a, B b), !(X n), C c) WHERE [k] AND n.x > a.x AND c.x > b.x WITHIN 30"
PLANS = ["stacks", "tree", "lazy(b, a)"]


@pytest.fixture(autouse=True)
def sort_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks are sorted although they are short."""
    monkeypatch.setattr(lookup, "FEW", 2)


def event(time: int, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": time, "type": kind, "k": 0, "x": 0, **attributes}


def events(*kinds: str) -> list[dict[str, Any]]:
    return [event(time, kind) for time, kind in enumerate(kinds)]


def stream(seed: int, size: int) -> pa.Table:
    chance = Random(seed)
    found = [
        event(at // 2, chance.choice("AABBCCX"), k=chance.randrange(3), x=chance.randrange(4)) for at in range(size)
    ]
    return pa.Table.from_pylist(found)


def rows(*calls: Matches) -> list[str]:
    return sorted(to_json(match) for call in calls for match in call.to_pylist())


def stored(text: str, batch: list[dict[str, Any]], plan: str = "stacks") -> int:
    """How many entries the stacks have after some events."""
    session = Query(f"PATTERN {text}").session(plan=plan)
    session.push(batch)
    session.advance(batch[-1]["ts"] + 1)
    return session.stats.runs


def machine_of(session: Session) -> Any:
    return session.engine.pipeline.queries[0].machine


# What is stored.


@pytest.mark.parametrize(
    ("text", "batch", "expected"),
    [
        ("SEQ(A a, B b) WITHIN 9", events(*"AXD"), 1),
        ("SEQ(A a, B b) WITHIN 9", events(*"BBB"), 0),
        ("SEQ(A a, B b) WITHIN 9", events(*"AB"), 1),  # the last has had its matches
        ("SEQ(A a, B b, C c) WITHIN 9", events(*"BCBC"), 0),
        ("SEQ(A a, B b, C c) WITHIN 9", events(*"ACCB"), 2),  # C needs a B before it
        ("SEQ(A a, B b, C c) WITHIN 3", [event(0, "A"), event(3, "B"), event(4, "C")], 1),  # B is out of A's window
        ("SEQ(A a, B b, C c) WITHIN 3 events", events(*"ADDB"), 1),
        ("SEQ(A a, B b, C c)", [event(0, "A"), event(10**9, "B")], 2),
        ("SEQ(A a, B b, C c) WHERE [k] WITHIN 9", [event(0, "A"), event(1, "B", k=1), event(2, "B")], 2),
        ("SEQ(A a, B b, C c) WHERE [k] WITHIN 9", [event(0, "A", k=None), event(1, "B", k=None)], 0),
        ("SEQ(A a, B b) WHERE a.x > 0 WITHIN 9", [event(0, "A"), event(1, "A", x=1), event(2, "A", x=None)], 1),
        ("SEQ(A a, B b, !(X n)) WITHIN 9", events(*"XAX"), 1),  # what is absent comes after b
        ("SEQ(A a, !(X n), B b) WITHIN 9", events(*"XAX"), 2),
        ("SEQ(A a, !(X n), B b) WHERE n.x > 0 WITHIN 9", events(*"XAX"), 1),
        ("SEQ(!(X n), A a, B b) WITHIN 9", events(*"XAX"), 3),
        ("AND(A a, B b) WITHIN 9", events(*"ABD"), 2),
        ("SEQ(AND(A a, B b), C c, D d) WITHIN 9", events(*"ACAC"), 2),  # no C without an A and a B
    ],
)
@pytest.mark.parametrize("plan", ["stacks", "tree"])
def test_that_what_can_extend_nothing_is_not_stored(
    text: str, batch: list[dict[str, Any]], expected: int, plan: str
) -> None:
    assert stored(text, batch, plan) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 20",
        "SEQ(A a, B b) WHERE a.s = b.s WITHIN 20",
        "SEQ(A a, B b, X c) WHERE a.s = b.s WITHIN 20 events",
        "SEQ(!(X m), A a, B b, !(X n)) WHERE [k] WITHIN 20",
        "SEQ(A a, !(X n), B b) WHERE n.s = a.s WITHIN 20",
        "AND(A a, B b) WHERE [k] WITHIN 20",
        "SEQ(A a, B b, !(X n)) WHERE [k] WITHIN 20 OUTPUT NON_OVERLAP",
        "SEQ(A a, B b) PARTITION BY s WITHIN 20 OUTPUT NON_OVERLAP",
    ],
)
def test_that_the_state_does_not_grow_with_the_stream(text: str) -> None:
    """Every key comes for a while and never again."""
    session = Query(f"PATTERN {text}").session(engine="plain", plan="tree", lateness=0)
    random = np.random.default_rng(1)
    sizes = []
    for at in range(0, 12_000, 200):
        key = np.arange(at, at + 200) // 6 + random.integers(0, 3, 200)
        batch = {
            "ts": np.arange(at, at + 200),
            "type": np.array(list("ABX"))[random.integers(0, 3, 200)],
            "k": key,
            "s": pa.array([f"s{number}" for number in key.tolist()]),
            "x": random.integers(-2, 7, 200),
        }
        session.push(pa.table(batch))
        sizes.append((session.stats.state_bytes, len(session.snapshot()), session.stats.runs))
    for one in zip(*sizes, strict=True):
        assert max(one[30:]) <= 2 * max(one[:30])


def test_that_matches_stay_as_they_were_given() -> None:
    """Whatever comes later, and though they are read after the end."""
    query, table = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 30"), stream(1, 300)
    for plan in PLANS:
        session = query.session(engine="plain", plan=plan, lateness=0)
        calls = [session.push(table.slice(at, 10)) for at in range(0, 300, 10)] + [session.close()]
        assert rows(*calls) == rows(query.match(table, engine="reference"))


def test_that_too_many_matches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST", 2**12)
    table = pa.table({"ts": range(400), "type": [*"A" * 200, *"B" * 200]})
    with pytest.raises(EvaluationError) as caught:
        Query("PATTERN SEQ(A a, B b) WITHIN 900").match(table, engine="plain", plan="stacks")
    assert caught.value.code == "CEP505"
    assert "automaton" in caught.value.remedy


def test_that_a_watermark_may_be_nought() -> None:
    """With what is absent at the end and NON_OVERLAP: the match that ends first is still uncertain."""
    query = Query("PATTERN SEQ(A a, B b, !(X n)) WHERE a.x = b.x WITHIN 10 OUTPUT NON_OVERLAP")
    batch = [event(-10, "A", x=1), event(-9, "A", x=2), event(-6, "B", x=2), event(-5, "B", x=1)]
    for plan in ("automaton", *PLANS):
        session = query.session(plan=plan)
        session.push(batch)
        assert len(session.advance(0)) == 0, plan
        assert [match["match_start"] for match in session.advance(1)] == [-9], plan


HELD = pytest.mark.xfail(
    strict=True,
    reason="every first and last event counts as a match that waits, so that others are given later than need be",
)


@pytest.mark.parametrize("plan", ["automaton", *(pytest.param(plan, marks=HELD) for plan in PLANS)])
def test_that_a_match_is_not_held_back_for_one_that_can_not_be(plan: str) -> None:
    query = Query("PATTERN SEQ(A a, B b, !(X n)) WHERE a.x = b.x WITHIN 10 OUTPUT NON_OVERLAP")
    session = query.session(plan=plan)
    session.push([event(10, "A", x=1), event(12, "A", x=2), event(15, "B", x=1)])
    assert [match["match_end"] for match in session.advance(20)] == [15]


def test_that_what_was_absent_before_is_known_until_the_window_after_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "FEW", 1)
    query = Query("PATTERN SEQ(!(X m), A a, B b, !(X n)) WITHIN 10")
    batch = [event(1, "X"), event(5, "A"), event(6, "B"), *(event(time, "A") for time in range(7, 17))]
    session = query.session(plan="stacks", lateness=0)
    assert [len(session.push([one])) for one in batch] == [0] * len(batch)
    assert len(session.close()) == 0


# Another session, another plan, another kind of code.


def through(query: Query, table: pa.Table, steps: list[dict[str, Any]]) -> list[str]:
    """The matches of a stream whose session is restored after each part, with other options."""
    size = -(-table.num_rows // len(steps))
    session = query.session(lateness=0, **steps[0])
    calls = []
    for number, options in enumerate(steps):
        if number:
            session = query.restore(session.snapshot(), **options)
        calls.append(session.push(table.slice(number * size, size)))
    return rows(*calls, session.close())


def test_that_a_snapshot_of_plain_python_is_one_of_compiled_code() -> None:
    query, table = Query(COMPILED), stream(2, 400)
    expected = rows(query.match(table, engine="reference"))
    assert expected
    steps = [{"engine": engine, "plan": "stacks"} for engine in ("plain", "compiled", "plain", "compiled")]
    assert through(query, table, steps) == expected
    assert through(query, table, steps[1:]) == expected


def test_that_plain_and_compiled_code_have_the_same_state() -> None:
    query, table = Query(COMPILED), stream(3, 300)
    states = []
    for engine in ("plain", "compiled"):
        session = query.session(engine=engine, plan="stacks", lateness=0)
        session.push(table)
        facts, arrays = machine_of(session).dump()
        named = {name: array.tolist() for name, array in zip(facts["names"], arrays, strict=True) if name != "cells"}
        states.append(({**facts, "native": None}, named, session.stats.runs))
    assert states[0] == states[1]


def test_that_a_session_goes_on_compiled_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ENOUGH_TO_LOOK", 150)
    monkeypatch.setattr(policy, "ENOUGH_TO_COMPILE", 150)
    monkeypatch.setenv("CEPHEID_COMPILE", "now")
    query, table = Query(COMPILED), stream(4, 400)
    session = query.session(plan="stacks", lateness=0)
    modes, calls = [], []
    for at in range(0, 400, 50):
        calls.append(session.push(table.slice(at, 50)))
        modes.append(machine_of(session).mode)
    assert sorted(set(modes)) == ["compiled", "plain"]
    assert modes == sorted(modes, reverse=True)
    assert rows(*calls, session.close()) == rows(query.match(table, engine="reference"))


def test_that_a_plan_can_be_changed_with_a_snapshot() -> None:
    query, table = (
        Query("PATTERN SEQ(A a, !(X n), B b, C c) WHERE [k] AND n.x = a.x AND c.x > b.x WITHIN 9"),
        stream(5, 300),
    )
    plans = ["tree", "lazy(b, a, c)", "stacks", "lazy(c, b, a)", "tree"]
    expected = rows(query.match(table, engine="reference"))
    assert expected
    assert through(query, table, [{"plan": plan} for plan in plans]) == expected


@pytest.mark.parametrize("plan", ["stacks", "tree", "lazy(b, a)"])
def test_that_a_snapshot_keeps_its_plan(plan: str) -> None:
    query = Query("PATTERN SEQ(A a, B b) WITHIN 9")
    session = query.session(plan=plan, lateness=0)
    session.push(events(*"AAD"))
    again = query.restore(session.snapshot())
    assert again.stats.plan == plan
    again.push([event(4, "B")])
    assert len(again.close()) == 2
