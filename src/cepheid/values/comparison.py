"""S3a: comparisons as in Spark SQL with ANSI off."""

from __future__ import annotations

import math

from cepheid.pattern.expressions.comparisons import SIGNS
from cepheid.values.value import Value, is_number, mismatch, numbers

_PLAIN = (int, str, bool)  # types whose own order is that of S3a


def order(left: Value, right: Value) -> int:
    """-1, 0 or 1 for two values that are not NULL: NaN equals NaN and is the greatest number."""
    kind = type(left)
    if kind is type(right) and (kind in _PLAIN or (kind is float and left == left and right == right)):
        return int(left > right) - int(left < right)
    if is_number(left) and is_number(right):
        left, right = numbers(left, right)
        if isinstance(left, float) and (math.isnan(left) or math.isnan(right)):
            left, right = math.isnan(left), math.isnan(right)
    elif type(left) is not type(right):
        raise mismatch(left, right)
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        raise mismatch(left, right) from None


def compare(operator: str, left: Value, right: Value) -> bool | None:
    """A comparison; NULL if a side is NULL."""
    if left is None or right is None:
        return None
    return order(left, right) in SIGNS[operator]


def equal(left: Value, right: Value) -> bool:
    """Equality that NULL never has: what `[attr]` asks."""
    return left is not None and right is not None and order(left, right) == 0
