"""What generated source calls when it runs as plain Python, where whole numbers have no width."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any

NIL = 0xFFFFFFFF
NAN = math.nan
INF = math.inf
FOREVER = 2**63 - 1
LIMB = 2**62 - 1
HALF = 2**61
ONE = 1
ZERO = 0
ZERO_F = 0.0
TESTS = 3  # where in `meta` evaluations are counted
_WIDTH = 2**64


def U8(number: int) -> int:  # noqa: N802  a type's name in the generated source
    """A count or an index."""
    return number


U4 = I8 = U8


def U1(condition: object) -> int:  # noqa: N802
    """A flag."""
    return 1 if condition else 0


def wrap(number: int) -> int:
    """Integers wrap at 64 bits (S3a)."""
    return number if -(2**63) <= number < 2**63 else (number + 2**63) % _WIDTH - 2**63


def remainder(left: int, right: int) -> int:
    """`%` with the sign of the dividend."""
    if right == 0:
        return 0
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def fremainder(left: float, right: float) -> float:
    """`%` of doubles."""
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)


def less(left: float, right: float) -> bool:
    """NaN is the greatest number."""
    return left < right or (right != right and left == left)


def same(left: float, right: float) -> bool:
    """NaN equals NaN."""
    return left == right or (left != left and right != right)


def helper(function: Any) -> Any:
    """A function that another one of the source calls."""
    return function


apart = helper


def first_from(array: Any, low: int, high: int, value: int) -> int:
    """The first entry of a part that is not below a value; the part is sorted."""
    return bisect_left(array, value, low, high)


def first_after(array: Any, low: int, high: int, value: int) -> int:
    """The first entry of a part that is above a value; the part is sorted."""
    return bisect_right(array, value, low, high)


def sort_part(keys: Any, index: Any, spare_keys: Any, spare_index: Any, heads: Any, count: int) -> int:
    """Sort the first keys, none of which is NaN, and with them the entries that they are of."""
    order = sorted(range(count), key=keys.__getitem__)
    keys[:count], index[:count] = [keys[k] for k in order], [index[k] for k in order]
    return 0


def seek(keys: Any, count: int, start: int, value: float, after: bool, meta: Any) -> int:
    """The first key that is not below a value, or `after` it; what it takes to find it is counted."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        meta[TESTS] += 1
        below = not less(value, keys[middle]) if after else less(keys[middle], value)
        low, high = (middle + 1, high) if below else (low, middle)
    return low


def sqrt(number: float) -> float:
    """The square root of what is not negative."""
    return math.sqrt(number)


def mix(seed: int, value: float) -> int:
    """One more value into a hash; the hash of NaN is of the object."""
    return ((seed ^ (hash(value) if value == value else 0)) * 0x9E3779B97F4A7C15 + 0x7F4A7C15) % _WIDTH >> 7


def fail(meta: Any, i: int) -> bool:
    """The event at which a condition could not be computed; the scan's caller raises."""
    if meta[2] == 0:
        meta[2] = i + 1
    return False
