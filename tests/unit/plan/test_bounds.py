"""Which conditions bound a search in a stack, and by which column."""

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.language import print_expression
from cepheid.plan.bounds import StackBound, bounds_of, most_bounded
from cepheid.plan.join import Join, make_join

SCHEMA = pa.schema({"ts": pa.int64(), "type": pa.string(), "x": pa.int64(), "y": pa.int64(), "s": pa.string()})


def join(condition: str, pattern: str = "A a, B b, C c", partition: tuple[str, ...] | None = None) -> Join:
    query = Query(f"PATTERN SEQ({pattern}) WHERE {condition} WITHIN 9")
    return make_join(query.compiled.bind(query.compiled.schema(SCHEMA))[0], partition)


def told(bounds: tuple[StackBound, ...]) -> list[tuple[str, str, str]]:
    return [(bound.column.column, bound.operator, print_expression(bound.joint.test.original)) for bound in bounds]


@pytest.mark.parametrize(
    ("condition", "of_a", "of_b"),
    [
        ("a.x < b.x", [("x", "<")], [("x", ">")]),
        ("a.x >= b.y", [("x", ">=")], [("y", "<=")]),
        ("a.s = b.s", [("s", "=")], [("s", "=")]),
        ("a.x < b.x + b.y", [("x", "<")], []),
        ("b.x - a.x > 5", [], []),  # it computes with both
        ("abs(b.x - a.x) < 3", [], []),
        ("a.x != b.x", [], []),
        ("a.x < 5", [], []),  # on one event, which is tested before it is stored
    ],
)
def test_what_bounds(condition: str, of_a: list[tuple[str, str]], of_b: list[tuple[str, str]]) -> None:
    made = join(condition)
    for number, expected in ((0, of_a), (1, of_b), (2, [])):
        assert [(bound.column.column, bound.operator) for bound in bounds_of(made, number)] == expected


def test_that_a_condition_on_an_absent_event_bounds_nothing() -> None:
    made = join("n.x < b.x", "A a, !(C n), B b")
    assert [*bounds_of(made, 1)] == []


def test_that_what_is_kept_for_the_end_bounds_nothing() -> None:
    query = Query("PATTERN SEQ(A a, B b) WHERE [x] AND [y] WITHIN 9")
    bound = query.compiled.bind(query.compiled.schema(SCHEMA))[0]
    assert len([*bounds_of(make_join(bound, ("x",)), 0)]) == 1
    assert [*bounds_of(make_join(bound, ("x",), late=True), 0)] == []


def test_that_a_stack_is_sorted_by_the_column_that_is_bounded_most() -> None:
    made = join("a.y < b.y AND a.x < b.x AND b.x < c.x")
    assert told(most_bounded(bounds_of(made, 1))) == [("x", ">", "a.x < b.x"), ("x", "<", "b.x < c.x")]
    assert told(most_bounded(bounds_of(made, 0))) == [("y", "<", "a.y < b.y")]
    assert most_bounded([]) == ()
