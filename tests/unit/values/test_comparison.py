"""S3a: NaN, numbers of two kinds, NULL."""

import math
from decimal import Decimal

import pytest

from cepheid import EvaluationError
from cepheid.values.comparison import compare

NAN = math.nan


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (NAN, "=", NAN, True),
        (NAN, ">", math.inf, True),
        (math.inf, "<", NAN, True),
        (NAN, "!=", 1.0, True),
        (0.0, "=", -0.0, True),
        (2**53 + 1, "=", float(2**53), True),
        (1, "=", Decimal("1.0"), True),
        ("a", "<", "b", True),
        ("Z", "<", "a", True),
        (False, "<", True, True),
        (None, "=", None, None),
        (1, "<", None, None),
    ],
)
def test_comparison(left: object, operator: str, right: object, expected: object) -> None:
    assert compare(operator, left, right) is expected


def test_values_of_two_kinds_are_an_error() -> None:
    with pytest.raises(EvaluationError, match="CEP503"):
        compare("=", 1, "1")
