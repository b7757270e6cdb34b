"""What is a join, what it is made of, and each reason why there is none."""

import pyarrow as pa
import pytest

from cepheid import Query, UsageError
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.runnable import Runnable
from cepheid.plan.join import MAX_STACKS, Join, NotJoined, make_join

SCHEMA = pa.schema(
    {"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64(), "s": pa.string()}
    | {"d": pa.decimal128(5, 2)}
)
EMPTY = SCHEMA.empty_table()


@pytest.fixture(autouse=True)
def quiet(recwarn: pytest.WarningsRecorder) -> None:
    """Some of these match every subset of the events, of which the query warns."""


def bound(text: str, **options: object) -> Runnable:
    query = Query(f"PATTERN {text}", **options)  # type: ignore[arg-type]
    return query.compiled.bind(query.compiled.schema(SCHEMA))[0]


def join(text: str, **options: object) -> Join:
    return make_join(bound(text, **options))


# What it is made of.


def test_that_the_stacks_are_the_positive_events_and_then_the_absent_ones() -> None:
    made = join("SEQ(!(X m), A a, AND(B b, C c), !(X n), ANY(A, D) d) WITHIN 9")
    assert [stack.variable for stack in made.stacks] == ["a", "b", "c", "d", "m", "n"]
    assert [stack.group for stack in made.stacks] == [0, 1, 1, 2, 0, 2]
    assert [*made.positive] == [0, 1, 2, 3]
    assert [*made.negated] == [4, 5]
    assert made.groups == 3
    assert made.members(1) == (1, 2)
    assert made.members(-1) == made.members(3) == ()
    assert made.around(4) == ((), (0,))
    assert made.around(5) == ((1, 2), (3,))
    assert made.stacks[3].types == ("A", "D")


def test_that_conditions_on_one_event_are_tests_of_its_stack() -> None:
    made = join("SEQ(A a, !(X n), B b) WHERE a.x > 1 AND n.s LIKE 'u%' AND b.x > a.x AND n.x = b.x")
    assert [len(stack.tests) for stack in made.stacks] == [1, 0, 1]
    assert [joint.stacks for joint in made.joints] == [{0, 1}, {1, 2}]
    assert [stack.columns for stack in made.stacks] == [("x",), ("x",), ("x",)]


def test_that_only_what_joints_read_is_stored() -> None:
    made = join("SEQ(A a, B b) WHERE a.x > 1 AND [k] AND a.s = b.s AND b.x + b.k > a.k")
    assert [stack.columns for stack in made.stacks] == [("k",), ("x", "k")]


@pytest.mark.parametrize(
    ("pattern", "condition", "window", "partitions"),
    [
        ("A a, B b, C c", "a.k = b.k AND c.k = b.k", "9", ("k",)),
        ("A a, B b, C c", "a.k = b.k AND b.k = c.k AND a.s = b.s", "9", ("k",)),
        ("A a, B b, C c", "a.k = b.k", "9", ()),
        ("A a, B b, C c", "a.k = b.k AND b.k = c.x", "9", ()),
        ("A a, !(X n), B b", "a.k = b.k", "9", ()),
        ("A a, !(X n), B b", "a.k = b.k AND n.k = a.k", "9", ("k",)),
        ("A a, B b", "a.k = b.k", "9 events", ()),  # such a window counts by [attr] alone
    ],
)
def test_that_equations_between_all_events_split_the_stream(
    pattern: str, condition: str, window: str, partitions: tuple[str, ...]
) -> None:
    made = join(f"SEQ({pattern}) WHERE {condition} WITHIN {window}")
    assert made.partitions.agreed == partitions


@pytest.mark.parametrize(
    ("text", "waits"),
    [("SEQ(A a, B b)", False), ("SEQ(!(X n), A a, B b)", False), ("SEQ(A a, B b, !(X n))", True)],
)
def test_that_a_match_waits_for_what_is_absent_after_it(text: str, waits: bool) -> None:
    assert join(f"{text} WITHIN 9").waits is waits


def test_that_all_equivalence_attributes_split_the_stream() -> None:
    made = join("SEQ(A a, !(X n), B b) WHERE [k] AND [s = 'u'] PARTITION BY x")
    assert (made.partitions.columns, made.partitions.agreed) == (("x",), ("k", "s"))
    assert made.joints == ()
    assert [len(stack.tests) for stack in made.stacks] == [1, 1, 1]  # s = 'u', of the absent one as well


@pytest.mark.parametrize("late", [False, True])
def test_that_further_equivalence_attributes_are_compared(late: bool) -> None:
    """Every pair, so that whatever is bound first is compared."""
    made = make_join(bound("SEQ(A a, B b, C c) WHERE [k] AND [s] WITHIN 9"), ("k",), late=late)
    assert made.partitions.agreed == ("k",)
    assert [joint.stacks for joint in made.joints] == [{0, 1}, {0, 2}, {1, 2}]
    assert [joint.late for joint in made.joints] == [late] * 3


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, SEQ(B b, C c))",
        "SEQ(A, B)",
        "SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x }",
        "SEQ(A a, B b) WHERE 1 = 1",
        "SEQ(A a, B b) WHERE a.d > 1 AND upper(b.s) = 'U'",  # on one event anything goes
        "AND(A a, A b)",
        "SEQ(AND(A a, B b), !(X n), C c) WITHIN 9 events",
        "SEQ(!(X n), AND(A a, B b)) WITHIN 9 events",
        "SEQ(A a, AND(B b, C c), !(X n)) WITHIN 9",
        "SEQ(A a, B b) HAVING a.d < b.d",
        "SEQ(A a, B b) WHERE a.x < b.x RETURN a.d + b.d AS sum",
    ],
)
def test_what_applies(text: str) -> None:
    assert CompiledQuery(bound(text)).why_not_joined == ""


def test_what_applies_to_declared_types() -> None:
    every = ["k", "x", "s", "d"]
    assert join("SEQ(A a, B b) WHERE a.x < b.x", types={"A": every, "B": every}).joints


# Why there is none.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SEQ(A a, B+ b[])", "a Kleene closure"),
        ("SEQ(A a, B{2,3} b[])", "a Kleene closure"),
        ("SEQ(A a, (SEQ(B b, C c))+)", "a Kleene closure"),
        ("SEQ(A a, B? b, C c)", "an optional event"),
        ("SEQ(A a, OR(B b, C c))", "OR"),
        ("OR(SEQ(A a, B b), SEQ(A c, C d))", "OR"),
        ("AND(A a, SEQ(B b, C c))", "AND of what are no single events"),
        ("AND(A a, B+ b[])", "a Kleene closure"),
        ("A a", "one event alone"),
        ("SEQ(!(X n), A a) WITHIN 9", "one event alone"),
        ("SEQ(A a, B b) WHERE skip_till_next_match { a.x < b.x }", "skip_till_next_match"),
        ("SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x }", "strict_contiguity"),
        ("SEQ(A a, B b) WHERE partition_contiguity { [k] }", "partition_contiguity"),
        ("SEQ(A a, B b) WHERE skip_till_any_match(a), skip_till_next_match(b) { a.x < b.x }", "skip_till_next_match"),
        ("SEQ(A a, B b) TIES SIMULTANEOUS", "TIES SIMULTANEOUS"),
        ("SEQ(A a, B b) WHERE 1 = 2", "a condition that never holds"),
        ("SEQ(A a, B b) WHERE a.s < b.s", "strings compared by their order"),
        ("SEQ(A a, B b) WHERE a.d < b.d", "decimal"),
        ("SEQ(A a, B b) WHERE concat(a.s, b.s) = b.s", "concat"),
        (f"SEQ({', '.join(f'A a{n}' for n in range(MAX_STACKS + 1))})", f"more than {MAX_STACKS} events"),
    ],
)
def test_what_does_not_apply_says_why(text: str, reason: str) -> None:
    assert reason in CompiledQuery(bound(text)).why_not_joined
    with pytest.raises(UsageError) as caught:
        Query(f"PATTERN {text}").match(EMPTY, plan="stacks")
    assert caught.value.code == "CEP610"
    assert "plan 'stacks' does not apply: " in caught.value.message
    assert reason in caught.value.message
    assert "plan='auto'" in caught.value.remedy


def test_that_declared_types_with_an_equivalence_attribute_do_not_apply() -> None:
    every = ["k", "x", "s", "d"]
    with pytest.raises(NotJoined, match=r"\[attr\] with declared types"):
        join("SEQ(A a, B b) WHERE [k]", types={"A": every, "B": every})


def test_that_a_function_of_the_user_does_not_apply() -> None:
    with pytest.raises(NotJoined, match="good is called for the events that a run asks about"):
        join("SEQ(A a, B b) WHERE good(b.x)", functions={"good": lambda x: x > 0})


def test_that_composite_events_do_not_apply() -> None:
    text = "PATTERN SEQ(A a, B b) RETURN a.x INTO P; FROM P PATTERN SEQ(P p, P q)"
    with pytest.raises(UsageError, match="composite events"):
        Query(text).match(EMPTY, plan="tree")
