"""S3a on exact values."""

from decimal import Decimal

import pytest

from cepheid.values.arithmetic import ARITHMETIC

BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (BIG, "+", 1, -(2**63)),
        (-(2**63), "-", 1, BIG),
        (2**62, "*", 4, 0),
        (1, "/", 2, 0.5),
        (1, "/", 0, None),
        (1.0, "/", 0.0, None),
        (-7, "%", 3, -1),
        (7, "%", -3, 1),
        (-7.5, "%", 2, -1.5),
        (7, "%", 0, None),
        (Decimal("1.50"), "+", Decimal("0.5"), Decimal("2.00")),
        (Decimal("1.5"), "*", Decimal("1.5"), Decimal("2.25")),
        (Decimal("-7.5"), "%", 2, Decimal("-1.5")),
        (Decimal("9" * 38), "*", 10, None),
        (Decimal("1e30"), "*", Decimal("1e30"), None),
        (None, "+", 1, None),
        (1, "*", None, None),
    ],
)
def test_arithmetic(left: object, operator: str, right: object, expected: object) -> None:
    result = ARITHMETIC[operator](left, right)
    assert result == expected
    assert type(result) is type(expected)
    assert str(result) == str(expected)
