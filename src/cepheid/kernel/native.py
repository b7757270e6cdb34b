"""What generated source calls when numba compiles it. The same names as in `plain`, with widths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

NIL = np.uint32(0xFFFFFFFF)
NAN = math.nan
INF = math.inf
FOREVER = np.int64(2**63 - 1)
LIMB = np.uint64(2**62 - 1)
HALF = np.uint64(2**61)
ONE = np.int64(1)
ZERO = np.int64(0)
ZERO_F = 0.0
U8 = np.uint64
U4 = np.uint32
U1 = np.uint8
I8 = np.int64

inline = njit(inline="always", error_model="numpy")


@inline
def wrap(number: Any) -> Any:
    """A machine's integers wrap by themselves."""
    return number


@inline
def remainder(left: Any, right: Any) -> Any:
    """`%` with the sign of the dividend."""
    found = 0
    if right != 0 and right != -1:
        found = left % right
        if found != 0 and (left < 0) != (right < 0):
            found -= right
    return found


@inline
def fremainder(left: Any, right: Any) -> Any:
    """`%` of doubles."""
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)


@inline
def less(left: Any, right: Any) -> Any:
    """NaN is the greatest number."""
    return left < right or (right != right and left == left)


@inline
def same(left: Any, right: Any) -> Any:
    """NaN equals NaN."""
    return left == right or (left != left and right != right)


@inline
def sqrt(number: Any) -> Any:
    """The square root of what is not negative."""
    return math.sqrt(number)


@njit(error_model="numpy")
def first_from(array: Any, low: Any, high: Any, value: Any) -> Any:
    """The first entry of a part that is not below a value; the part is sorted."""
    while low < high:
        middle = (low + high) >> U8(1)
        if array[middle] < value:
            low = middle + U8(1)
        else:
            high = middle
    return low


@njit(error_model="numpy")
def first_after(array: Any, low: Any, high: Any, value: Any) -> Any:
    """The first entry of a part that is above a value; the part is sorted."""
    while low < high:
        middle = (low + high) >> U8(1)
        if array[middle] <= value:
            low = middle + U8(1)
        else:
            high = middle
    return low


@njit(error_model="numpy")
def mix(seed: Any, value: Any) -> Any:
    """One more value into a hash; numba's of NaN is a random number."""
    own = np.uint64(hash(value)) if value == value else np.uint64(0)
    return ((seed ^ own) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x7F4A7C15)) >> np.uint64(7)


@njit(error_model="numpy")
def fail(meta: Any, i: Any) -> Any:
    """The event at which a condition could not be computed; the scan's caller raises."""
    if meta[2] == 0:
        meta[2] = np.int64(i) + 1
    return False
