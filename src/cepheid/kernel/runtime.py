"""What kernels call, written as a kernel reads it: plain Python runs it as it is, the compiler reads its text.

The first few have a form of their own in machine code (`code.lower`), where integers have a width.
"""

from __future__ import annotations

import math

from cepheid.kernel.code.reader import Int64, Int64s

NIL = 0xFFFFFFFF
"""No node, no run, no partition."""
NEVER = -(2**63)
FOREVER = 2**63 - 1
FAILED, TESTS = 2, 3
"""Places among the cells of a kernel: the event at which a condition could not be computed, and how often some were."""
CONSTANTS = {"NAN": math.nan, "INF": math.inf, "NIL": NIL, "NEVER": NEVER, "FOREVER": FOREVER}
_WIDTH = 2**64


def wrap(number: int) -> int:
    """Wrap an integer at 64 bits (S3a)."""
    return number if -(2**63) <= number < 2**63 else (number + 2**63) % _WIDTH - 2**63


def remainder(left: int, right: int) -> int:
    """`%` with the sign of the dividend."""
    if right == 0:
        return 0
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def fremainder(left: float, right: float) -> float:
    """`%` of doubles."""
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)


def less(left: float, right: float) -> bool:
    """Whether one number is less than another; NaN is the greatest."""
    return left < right or (right != right and left == left)


def same(left: float, right: float) -> bool:
    """Whether two numbers are equal; NaN equals NaN."""
    return left == right or (left != left and right != right)


def sqrt(number: float) -> float:
    """The square root of what is not negative."""
    return math.sqrt(number)


def mix(seed: int, value: float) -> int:
    """Mix a value into a hash; Python's own hash of a NaN depends on the object."""
    return ((seed ^ (hash(value) if value == value else 0)) * 0x9E3779B97F4A7C15) % _WIDTH >> 7


def fail(cells: Int64s, i: Int64) -> bool:
    """Remember the first event at which a condition could not be computed; whoever called the kernel raises."""
    if cells[FAILED] == 0:
        cells[FAILED] = i + 1
    return False


def first_from(array: Int64s, low: Int64, high: Int64, value: Int64) -> Int64:
    """The first entry of a part that is not below a value; the part is sorted."""
    while high - low > 8:
        middle = (low + high) >> 1
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    while low < high and array[low] < value:  # of a few, the first is found soonest one by one
        low += 1
    return low


def first_after(array: Int64s, low: Int64, high: Int64, value: Int64) -> Int64:
    """The first entry of a part that is above a value; the part is sorted."""
    while high - low > 8:
        middle = (low + high) >> 1
        if array[middle] <= value:
            low = middle + 1
        else:
            high = middle
    while low < high and array[low] <= value:
        low += 1
    return low
