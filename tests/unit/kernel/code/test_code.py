"""The code tree: how it is built, folded and printed, and that plain Python and machine code compute the same."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_at_once, all_of, any_of, choose, negate
from cepheid.kernel.code.printer import print_block, show
from cepheid.kernel.code.types import BOOL, FLOAT64, INT64, UINT8, UINT32
from cepheid.kernel.compile import Compilable

A, B = n.Local("a", INT64), n.Local("b", INT64)
X, Y = n.Local("x", FLOAT64), n.Local("y", FLOAT64)
OUT = n.Array("out", INT64)
NOWHERE = 2**32 - 1


def run(function: n.Function, *arguments: Any) -> tuple[list[Any], list[Any]]:
    """What plain Python and machine code leave in the arrays, and what they give."""
    kernel = Compilable(function)
    lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    plain = [kernel.as_python()(*lists), *(a for a in lists if isinstance(a, list))]
    native = [kernel.compiled()(*arrays), *(a.tolist() for a in arrays if isinstance(a, np.ndarray))]
    return plain, native


# Building and folding.


def test_a_number_takes_the_type_of_what_is_beside_it() -> None:
    assert n.BinaryOp("+", A, n.Immediate(1, INT64)) == A + 1
    assert (X < 1) == n.Comparison("<", X, n.Immediate(1.0, FLOAT64))


def test_two_types_do_not_mix() -> None:
    with pytest.raises(TypeError, match="int64 and float64"):
        A + X


def test_conditions_are_folded() -> None:
    one, other = A < B, A.equals(0)
    assert all_of([n.TRUE, one, all_of([one, other])]) == n.AllTrue((one, other))
    assert all_of([one, n.FALSE]) == n.FALSE
    assert any_of([n.FALSE, one]) == one
    assert any_of([]) == n.FALSE
    assert negate(negate(one)) == one
    assert choose(one, n.TRUE, n.FALSE) == one
    assert choose(one, n.FALSE, n.TRUE) == n.Negate(one)
    assert choose(n.TRUE, A, B) == A


def test_a_block_under_a_constant_condition_is_part_of_the_other_or_left_out() -> None:
    code = Code()
    with code.when(n.TRUE):
        code.set(A, 1)
    with code.otherwise():
        code.set(A, 2)
    with code.when(n.FALSE):
        code.set(A, 3)
    with code.otherwise():
        code.set(A, 4)
    assert print_block(code.block) == ["a = 1", "a = 4"]


# Printing.


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ((A + B) * 2 - 1, "(a + b) * 2 - 1"),
        (A - (B - 1), "a - (b - 1)"),
        ((A << 2) | 1, "a << 2 | 1"),
        (all_of([any_of([A < B, A > 3]), negate(A.equals(B))]), "(a < b or a > 3) and not a == b"),
        (negate(all_of([A < B, B < 3])), "not (a < b and b < 3)"),
        (n.Choose(A < B, A, n.Choose(A > 9, B, A)), "a if a < b else b if a > 9 else a"),
        (n.Choose(A < B, A, B) + 1, "(a if a < b else b) + 1"),
        (n.Wrap(A * B), "wrap(a * b)"),
        (A.to(FLOAT64) / X, "float(a) / x"),
        (A.to(UINT32), "a"),
        ((A < B).to(INT64), "int(a < b)"),
        (n.Immediate(-1, INT64), "-1"),
        (A * n.Immediate(-1, INT64), "a * -1"),
        (n.Immediate(math.inf, FLOAT64), "INF"),
        (OUT[A + 1], "out[a + 1]"),
    ],
)
def test_expressions_as_text(node: n.Expr, text: str) -> None:
    assert show(node) == text


def test_statements_as_text() -> None:
    code = Code()
    with code.loop(A < B):
        code.note("One more.")
        code.step(A)
        with code.when(A.equals(3)):
            code.leave()
        with code.otherwise(), code.when(A.equals(4)):
            code.again()
        code.put(OUT, A, OUT[A] + 1)
    code.give(A)
    assert print_block(code.block) == [
        "while a < b:",
        "    # One more.",
        "    a += 1",
        "    if a == 3:",
        "        break",
        "    elif a == 4:",
        "        continue",
        "    out[a] += 1",
        "return a",
    ]


# Machine code.

whole = st.integers(-(2**63), 2**63 - 1)
real = st.floats(allow_nan=True, allow_infinity=True)
WHOLE = [
    n.Wrap(A + B), n.Wrap(A - B), n.Wrap(A * B), n.Invoke("remainder", (A, B), INT64),
    n.Wrap(n.Invoke("abs", (A,), INT64)), A & B, A | B, A ^ B, A >> 3, n.Choose(A < B, A, B), (A < B).to(INT64),
    all_of([A < B, B > 0]).to(INT64), any_of([A.equals(B), negate(A <= 7)]).to(INT64),
]  # fmt: skip
REAL = [
    X + Y, X - Y, X * Y, n.Invoke("abs", (X,), FLOAT64), n.Invoke("fremainder", (X, Y), FLOAT64),
    n.Choose(X < Y, X, Y), n.Invoke("less", (X, Y), BOOL).to(FLOAT64), n.Invoke("same", (X, Y), BOOL).to(FLOAT64),
    X.equals(Y).to(FLOAT64), X.differs(Y).to(FLOAT64), (X <= Y).to(FLOAT64),
]  # fmt: skip


@given(whole, whole)
def test_whole_numbers_are_the_same_in_both(a: int, b: int) -> None:
    code = Code()
    for k, node in enumerate(WHOLE):
        code.put(OUT, k, node)
    code.give(0)
    function = n.Function("whole_numbers", (A, B, OUT), code.block)
    plain, native = run(function, a, b, np.zeros(len(WHOLE), np.int64))
    assert plain == native


@given(real, real)
def test_doubles_are_the_same_in_both(x: float, y: float) -> None:
    out = n.Array("out", FLOAT64)
    code = Code()
    for k, node in enumerate(REAL):
        code.put(out, k, node)
    code.give(0)
    plain, native = run(n.Function("doubles", (X, Y, out), code.block), x, y, np.zeros(len(REAL), np.float64))
    assert list(map(repr, plain)) == list(map(repr, native))


def test_narrow_arrays() -> None:
    flags, nodes = n.Array("flags", UINT8), n.Array("nodes", UINT32)
    code = Code()
    code.put(flags, 0, A > 3)
    code.put(nodes, nodes[0], 2**32 - 1)
    code.put(OUT, 0, nodes[1].to(INT64) + flags[0].to(INT64))
    code.give(nodes[1])
    function = n.Function("narrow", (A, flags, nodes, OUT), code.block)
    arrays = np.zeros(1, np.uint8), np.array([1, 0], np.uint32), np.zeros(1, np.int64)
    plain, native = run(function, 7, *arrays)
    assert plain == native == [2**32 - 1, [1], [1, 2**32 - 1], [2**32]]


def test_an_array_of_another_type_is_refused() -> None:
    code = Code()
    code.put(OUT, 0, 1)
    code.give(0)
    kernel = Compilable(n.Function("refuses", (OUT,), code.block)).compiled()
    for wrong in (np.zeros(1, np.int32), np.zeros((2, 2), np.int64)[:, 0]):
        with pytest.raises(TypeError, match="out is"):
            kernel(wrong)


def test_a_variable_has_one_type() -> None:
    code = Code()
    code.set(A, 1)
    code.add(n.Assign(n.Local("a", FLOAT64), n.Immediate(1.0, FLOAT64)))
    code.give(0)
    with pytest.raises(TypeError, match="a is int64 and float64"):
        Compilable(n.Function("twice", (), code.block)).compiled()


# Without branches.


@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 1), (3, 3)])
def test_a_flat_block_keeps_what_counts(a: int, b: int) -> None:
    """Its stores are behind the last entry, and where it does not count the next one takes their place."""
    code, count, last = Code(), n.Local("count", INT64), n.Local("last", INT64)
    code.set(count, 0)
    code.set(last, -1)
    for low in (A < B, A.equals(B), A > 2):
        with code.when(low, flat=True):
            code.put(OUT, count, A + count)
            code.step(count)
            with code.when(B < 3):
                code.set(last, count)
            with code.otherwise():
                code.step(last, choose(A < B, A, B))
    code.put(OUT, count, -7)
    code.put(OUT, 4, last)
    code.give(count)
    plain, native = run(n.Function("flat", (A, B, OUT), code.block), a, b, np.zeros(5, np.int64))
    assert plain[0] == native[0]
    assert plain[1][: plain[0] + 1] == native[1][: native[0] + 1]
    assert plain[1][4] == native[1][4]


@pytest.mark.parametrize("at", [0, 2, NOWHERE])
def test_a_condition_at_once_reads_nothing_past_an_array(at: int) -> None:
    place, held = n.Local("place", INT64), n.Local("held", BOOL)
    code = Code()
    code.set(held, all_at_once([A.equals(1), place.differs(NOWHERE), OUT[place] > 4]))
    with code.when(all_at_once([held, any_of([place.equals(NOWHERE), OUT[place].equals(5)])])):
        code.give(2)
    code.give(held.to(INT64))
    for a in (0, 1):
        function = n.Function("at_once", (A, place, OUT), code.block)
        plain, native = run(function, a, at, np.array([5, 5, 6], np.int64))
        assert plain == native
        assert plain[0] == (0 if a == 0 or at == NOWHERE else 2 if at == 0 else 1)
        assert " and " in Compilable(function).text


def test_a_flat_block_has_no_loop() -> None:
    code = Code()
    with code.when(A < B, flat=True), code.loop(A < B):
        code.step(A)
    code.give(A)
    with pytest.raises(TypeError, match="without a branch"):
        Compilable(n.Function("loop", (A, B), code.block)).compiled()
