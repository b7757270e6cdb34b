"""What an expression gives on whole arrays is what the generated Python gives at each index."""

import math

import numpy as np
import pytest

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, FLOAT64, INT64, UINT8
from cepheid.kernel.code.whole_arrays import evaluate

I = n.Local("i", INT64)  # noqa: E741
LEFT, RIGHT = n.Array("left", INT64)[I], n.Array("right", INT64)[I]
X, Y = n.Array("x", FLOAT64)[I], n.Array("y", FLOAT64)[I]
LIMIT = n.Local("limit", INT64)
LEAST = -(2**63)
GIVEN = {
    "left": np.array([7, -7, LEAST, 5]),
    "right": np.array([3, 3, -1, 0]),
    "x": np.array([1.5, math.nan, math.nan, 2.0]),
    "y": np.array([2.5, 1.0, math.nan, 0.0]),
    "limit": 5,
}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (n.Wrap(LEFT + RIGHT), [10, -4, 2**63 - 1, 5]),
        (n.Wrap(LEFT - RIGHT), [4, -10, LEAST + 1, 5]),
        (n.Wrap(LEFT * RIGHT), [21, -21, LEAST, 0]),
        (n.Invoke("remainder", (LEFT, RIGHT), INT64), [1, -1, 0, 0]),
        (n.Invoke("abs", (LEFT,), INT64), [7, 7, LEAST, 5]),
        (LEFT > LIMIT, [True, False, False, False]),
        (LEFT.equals(5), [False, False, False, True]),
        (n.Invoke("less", (X, Y), BOOL), [True, False, False, False]),
        (n.Invoke("less", (Y, X), BOOL), [False, True, False, True]),
        (n.Invoke("same", (X, Y), BOOL), [False, False, True, False]),
        (n.AllTrue((LEFT > 0, RIGHT > 0)), [True, False, False, False]),
        (n.AnyTrue((LEFT > 0, RIGHT > 0, X > 9)), [True, True, False, True]),
        (n.Negate(LEFT > 0), [False, True, True, False]),
        (n.Choose(RIGHT.equals(0), n.Immediate(-1, INT64), RIGHT), [3, 3, -1, -1]),
        ((LEFT > 0).to(UINT8), [1, 0, 0, 1]),
        (LEFT.to(FLOAT64) / n.Choose(Y.equals(0), n.Immediate(1.0, FLOAT64), Y), [2.8, -7.0, math.nan, 5.0]),
    ],
)
def test_a_value_at_every_index(node: n.Expr, expected: list[object]) -> None:
    found = evaluate(node, I, GIVEN)
    assert found.dtype == np.dtype(node.type.name)
    np.testing.assert_array_equal(found, expected)


def test_the_rest_of_doubles_has_the_sign_of_the_dividend() -> None:
    found = evaluate(n.Invoke("fremainder", (X, Y), FLOAT64), I, GIVEN)
    np.testing.assert_array_equal(found, [1.5, math.nan, math.nan, math.nan])


def test_a_constant_has_the_type_of_the_kernel() -> None:
    assert evaluate(n.Immediate(3, UINT8), I, {}).dtype == np.uint8


@pytest.mark.parametrize("node", [n.Invoke("sqrt", (X,), FLOAT64), LEFT << RIGHT, n.Array("left", INT64)[LIMIT]])
def test_an_unknown_node_is_refused(node: n.Expr) -> None:
    with pytest.raises(TypeError, match="no meaning of"):
        evaluate(node, I, GIVEN)
