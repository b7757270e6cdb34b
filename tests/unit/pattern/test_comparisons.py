"""The comparison operators, against the order of whole numbers."""

import ast
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from cepheid.pattern.expressions.comparisons import (
    SIGNS,
    excludes,
    implies,
    includes_equal,
    limits_above,
    limits_below,
    negate,
    swap,
)
from cepheid.values.comparison import compare, order

SOME = range(-1, 6)


def test_that_an_operator_is_swapped_and_negated() -> None:
    for operator, left, right in product(SIGNS, SOME, SOME):
        assert compare(swap(operator), right, left) is compare(operator, left, right)
        assert compare(negate(operator), left, right) is not compare(operator, left, right)


def test_that_an_operator_is_an_interval() -> None:
    for operator in SIGNS:
        values = {value for value in SOME if compare(operator, value, 2)}
        assert (limits_above(operator), limits_below(operator)) == (5 not in values, -1 not in values)
        assert includes_equal(operator) is (2 in values)


def test_what_follows_from_two_comparisons_of_one_value() -> None:
    for one, other, (low, high) in product(SIGNS, SIGNS, ((1, 3), (3, 1), (2, 2))):
        first = {value for value in SOME if compare(one, value, low)}
        second = {value for value in SOME if compare(other, value, high)}
        sign = order(low, high)
        assert implies(one, other, sign) is (first <= second)
        assert excludes(one, other, sign) is not bool(first & second)


def texts(nodes: Sequence[ast.expr | None]) -> set[object]:
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_that_no_module_swaps_or_negates_by_a_table_of_its_own() -> None:
    for path in sorted((Path(__file__).parents[3] / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Dict):
                sides = texts(node.keys), texts(node.values)
                assert any(len(side & SIGNS.keys()) < 2 or not side <= SIGNS.keys() for side in sides), path
