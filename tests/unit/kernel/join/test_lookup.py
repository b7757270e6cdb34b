"""Sorted stacks: what a condition bounds, with NULL, NaN and ties, and numbers of two kinds."""

from math import inf, nan
from random import Random
from typing import Any

import numpy as np
import pytest
from joins import bound, enumerate_all, events, find

from cepheid.kernel import sorting
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, FLOAT64, INT64, UINT32, Scalar
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constants
from cepheid.kernel.join import lookup
from cepheid.kernel.join.conditions import JoinConditions
from cepheid.kernel.join.layout import lay_out
from cepheid.kernel.join.lookup import find_lookup
from cepheid.plan.join import make_join

OPERATORS = ["<", "<=", ">", ">=", "=", "!="]


@pytest.fixture(autouse=True)
def sort_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks are sorted although they are short."""
    monkeypatch.setattr(lookup, "FEW", 1)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("left", "right"), ["xx", "ff", "xf", "fx", "ss"])
def test_that_a_comparison_is_the_same_on_a_sorted_stack(left: str, right: str, operator: str) -> None:
    if left == "s" and operator not in ("=", "!="):
        return
    query = bound(f"SEQ(A a, B b) WHERE a.{left} {operator} b.{right} WITHIN 30")
    table = events(
        1, 60, "AB", x=[-3, 0, 1, 1, 2, None], f=[0.0, -0.0, 1.0, 2.5, nan, inf, -inf, None], s=["u", "v", None]
    )
    expected = enumerate_all(query, table)
    assert expected
    for order in ((0, 1), (1, 0), None):
        assert find(query, table, order) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "a.x < b.x AND c.x > b.x",
        "a.x = b.x AND b.x <= c.x",
        "a.x < b.x AND b.x < a.x + 2 AND b.x != c.x",
        "b.f >= a.f AND b.f <= c.f AND b.f > a.x",
        "a.s = b.s AND b.s = c.s AND a.x < c.x",
        "b.x BETWEEN a.x AND c.x AND b.x + 2 > a.x + c.x",
    ],
)
def test_that_several_bounds_are_one_range(condition: str) -> None:
    query = bound(f"SEQ(A a, B b, C c) WHERE {condition} WITHIN 15")
    table = events(2, 50, "ABC", x=[0, 1, 2, 3, None], f=[0.0, 1.0, 2.0, nan, None])
    expected = enumerate_all(query, table)
    assert expected
    for order in ((0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1), None):
        assert find(query, table, order) == expected, order


@pytest.mark.parametrize("native", [False, True])
def test_that_a_long_stack_is_sorted_as_a_short_one_is_not(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for several parts to be sorted, one after the other."""
    query = bound("SEQ(A a, B b) WHERE a.f < b.f AND a.x != b.x WITHIN 70")
    table = events(3, 1000, "AB", f=[k / 7 for k in range(-300, 300)] + [nan], x=[*range(40)])
    expected = enumerate_all(query, table)
    for few in (32, 10**9):
        monkeypatch.setattr(lookup, "FEW", few)
        for order in ((0, 1), (1, 0)):
            assert find(query, table, order, native=native) == expected


@pytest.mark.parametrize(
    ("condition", "column", "operators"),
    [
        ("a.x < b.x", "x", [">"]),
        ("a.x >= b.x AND b.x > a.x + 1", "x", ["<=", ">"]),
        ("a.x = b.f", "f", ["="]),
        ("a.f = b.x", None, []),  # a whole number is a double beside one, a double is no whole number
        ("a.x != b.x", None, []),
        ("a.x = b.x + b.k", None, []),
        ("a.s = b.s AND a.x + b.x > 1", "s", ["="]),
        ("b.x > n.x", None, []),
        ("b.f < a.f AND b.x < a.x AND b.f < a.x", "f", ["<", "<"]),
    ],
)
def test_what_bounds_a_stack(condition: str, column: str | None, operators: list[str]) -> None:
    join = make_join(bound(f"SEQ(A a, !(X n), B b) WHERE {condition} WITHIN 9"))
    layout = lay_out(join, frozenset())
    found = find_lookup(join, layout.stacks[1], JoinConditions(layout, Constants()).translator)
    assert (found.field.column if found is not None else None) == column
    assert [bound_.operator for bound_ in found.bounds] == operators if found is not None else operators == []


# The functions.


def native(name: str, *kinds: Scalar, result: Scalar = INT64) -> Any:
    """A function that is written by hand, compiled for some types; an array is a type in the plural."""
    function = getattr(sorting, name)
    words = [word for parameter, word in function.__annotations__.items() if parameter != "return"]
    inside: list[n.Expr | n.Array] = []
    given: list[n.Local | n.Array] = []
    for k, (word, kind) in enumerate(zip(words, kinds, strict=True)):
        if word.endswith("s"):
            given.append(n.Array(f"p{k}", kind))
            inside.append(given[-1])
        else:
            given.append(n.Local(f"p{k}", INT64 if kind == BOOL else kind))
            inside.append(given[-1].differs(0) if kind == BOOL else given[-1])  # type: ignore[union-attr]
    body = (n.Return(n.Invoke(name, tuple(inside), result)),)
    return Compilable(n.Function("wrapped", tuple(given), body)).compiled()


@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1, 1, 2, 5, 7, -3],
        [2**62, -(2**62), 2**62 + 1, 0],
        [0.0, -0.0, 1.5, inf, -2.0],
        [1e300, 2.0, 1.0, nan],
        [5e-324, 0.0, 1e-323],
        [*range(1000)],
    ],
)
def test_that_a_part_is_sorted_and_searched(numbers: list[float]) -> None:
    kind = FLOAT64 if isinstance(numbers[0], float) else INT64
    dtype = kind.name
    sort = native("sort_entries", kind, INT64, INT64, kind, UINT32, kind, UINT32, UINT32)
    seek = native("seek", kind, INT64, INT64, kind, BOOL, INT64)
    chance = Random(5)
    for size in [0, 1, 2, 3, 12, 33, 100]:
        column = [chance.choice(numbers) for _ in range(size + 3)]
        order = sorted(range(2, size + 2), key=lambda k: (column[k] != column[k], column[k]))
        work = [[0] * (size + 1) for _ in range(5)]
        assert sorting.sort_entries(column, 2, size + 2, *work) == size
        assert work[1][:size] == order
        made: list[Any] = [np.zeros(size + 1, d) for d in (dtype, "uint32", dtype, "uint32", "uint32")]
        assert sort(np.array(column, dtype), 2, size + 2, *made) == size
        assert made[1][:size].tolist() == order
        keys = [column[k] for k in order]
        assert list(map(repr, made[0][:size].tolist())) == list(map(repr, keys))
        for value in {*map(repr, numbers[:7])}:
            wanted = eval(value, {"nan": nan, "inf": inf})
            for after in (False, True):
                below = [
                    (k <= wanted or wanted != wanted) if after else (k < wanted or (wanted != wanted and k == k))
                    for k in keys
                ]
                for start in {0, size // 2, max(size - 1, 0), size}:
                    cells = np.zeros(4, np.int64)
                    assert sorting.seek(work[0], size, start, wanted, after, [0] * 4) == sum(below)
                    assert seek(made[0], size, start, wanted, int(after), cells) == sum(below)


def test_that_null_is_no_key() -> None:
    column, nulls = [3.0, 9.0, nan, 1.0, 2.0], [0, 1, 0, 0, 1]
    work = [[0.0] * 6 for _ in range(5)]
    heads = [0] * 6
    assert sorting.sort_known_entries(column, nulls, 0, 5, work[0], work[1], work[2], work[3], heads) == 3
    assert work[1][:3] == [3, 0, 2]


@pytest.mark.parametrize(
    ("since", "until", "far"),
    [(0, 0, 30), (5, 22, 40), (5, 20, 30), (11, 29, 30)],
)
def test_that_as_much_again_is_sorted_where_most_of_it_was(since: int, until: int, far: int) -> None:
    assert sorting.sort_until(10, 30, since, until, 40) == far
