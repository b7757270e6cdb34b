"""Plans by name: what is read, what is told, and what is wrong with others."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query, UsageError
from cepheid.plan.join import Join, make_join
from cepheid.plan.spec import AUTO, AUTOMATON, STACKS, TREE, PlanKind, PlanSpec, order_of, read_plan

SCHEMA = pa.schema({"ts": pa.int64(), "type": pa.string(), "x": pa.int64()})
EMPTY = SCHEMA.empty_table()
THREE = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x"


def join(text: str) -> Join:
    query = Query(text)
    return make_join(query.compiled.bind(query.compiled.schema(SCHEMA))[0])


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("auto", AUTO),
        ("automaton", AUTOMATON),
        ("stacks", STACKS),
        (" tree ", TREE),
        ("lazy(c,b,a)", PlanSpec(PlanKind.LAZY, ("c", "b", "a"))),
        ("lazy( c , b )", PlanSpec(PlanKind.LAZY, ("c", "b"))),
    ],
)
def test_a_plan_that_is_read(text: str, choice: PlanSpec) -> None:
    assert read_plan(text) == choice
    assert read_plan(str(choice)) == choice
    assert read_plan(choice) is choice


def test_which_plans_are_of_the_join() -> None:
    assert [choice.joins for choice in (AUTO, AUTOMATON, STACKS, TREE, read_plan("lazy(a)"))] == [
        *[False] * 2,
        *[True] * 3,
    ]


@pytest.mark.parametrize(
    ("plan", "remedy"),
    [("stack", "'stacks'"), ("Tree", "tree"), ("lazy", "lazy(c, b, a)"), ("", "plans"), (None, "plans"), (3, "plans")],
)
def test_an_unknown_plan(plan: Any, remedy: str) -> None:
    for use in (Query(THREE).match, lambda _, plan: Query(THREE).session(plan=plan)):
        with pytest.raises(UsageError) as caught:
            use(EMPTY, plan=plan)
        assert caught.value.code == "CEP601"
        assert f"unknown plan {plan!r}" in caught.value.message
        assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "plan", ["lazy()", "lazy(a, b)", "lazy(a, b, c, c)", "lazy(a, b, d)", "lazy(a, b, b)", "lazy(A, B, C)"]
)
def test_an_order_that_does_not_name_each_variable_once(plan: str) -> None:
    with pytest.raises(UsageError) as caught:
        Query(THREE).match(EMPTY, plan=plan)
    assert caught.value.code == "CEP611"
    assert f"{plan} does not name each variable of the pattern once" in caught.value.message
    assert "an order of a, b, c, such as lazy(c, b, a)" in caught.value.remedy


def test_that_an_absent_event_is_in_no_order() -> None:
    query = Query("PATTERN SEQ(A a, !(X n), B b)")
    query.match(EMPTY, plan="lazy(b, a)")
    with pytest.raises(UsageError, match="CEP611"):
        query.match(EMPTY, plan="lazy(b, n, a)")


def test_that_a_component_without_a_variable_is_named_by_its_type() -> None:
    assert len(Query("PATTERN SEQ(A, B, B)").match(EMPTY, plan="lazy(B_2, A, B)")) == 0


@pytest.mark.parametrize("engine", ["interpreted", "reference"])
def test_that_some_engines_have_no_plans(engine: str) -> None:
    query = Query(THREE)
    assert len(query.match(EMPTY, engine=engine, plan="automaton")) == 0
    with pytest.raises(UsageError) as caught:
        query.match(EMPTY, engine=engine, plan="stacks")
    assert caught.value.code == "CEP610"
    assert engine in caught.value.message
    assert "compiled" in caught.value.remedy


def test_orders() -> None:
    made = join(THREE)
    assert order_of(STACKS, made) == (2, 1, 0)
    assert order_of(read_plan("lazy(b, a, c)"), made) == (1, 0, 2)
    assert sorted(order_of(TREE, made)) == [0, 1, 2]


def test_that_stacks_begin_with_the_last_group() -> None:
    order = order_of(STACKS, join("PATTERN SEQ(A a, AND(B b, C c)) WHERE a.x < b.x"))
    assert set(order[:2]) == {1, 2}


@pytest.mark.parametrize("plan", ["stacks", "tree", "lazy(b, a)"])
def test_that_a_stream_without_events_has_no_matches(plan: str) -> None:
    query = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x")
    assert len(query.match([], plan=plan)) == len(query.match(EMPTY, plan=plan)) == 0
    assert len(query.session(plan=plan).close()) == 0


def test_that_auto_plans_windows_of_events_by_key() -> None:
    """A sample has partitions of its own, which count the events."""
    chance = Random(0)
    events = [{"ts": t, "type": chance.choice("ABC"), "s": f"s{chance.randrange(8)}"} for t in range(400)]
    query = Query("PATTERN SEQ(C a, C b, B c) WHERE [s] WITHIN 3 events")
    assert query.match(events).to_pylist() == query.match(events, engine="reference").to_pylist()
