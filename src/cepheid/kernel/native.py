"""What generated source calls when numba compiles it. The same names as in `plain`, with widths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

NIL = np.uint32(0xFFFFFFFF)
NAN = math.nan
INF = math.inf
FOREVER = np.int64(2**63 - 1)
LIMB = np.uint64(2**62 - 1)
HALF = np.uint64(2**61)
ONE = np.int64(1)
ZERO = np.int64(0)
ZERO_F = 0.0
TESTS = 3
U8 = np.uint64
U4 = np.uint32
U1 = np.uint8
I8 = np.int64

inline = njit(inline="always", error_model="numpy")
# Nothing is allocated in a kernel, and to count references to arrays costs more than a short function does.
_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}


def apart(function: _Function) -> _Function:
    """A function that is called as it is."""
    made: _Function = njit(**_OPTIONS)(function)
    return made


def helper(function: _Function) -> _Function:
    """A function that becomes part of what calls it."""
    made: _Function = njit(forceinline=True, **_OPTIONS)(function)
    return made


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


@helper
def first_from(array: Any, low: Any, high: Any, value: Any) -> Any:
    """The first entry of a part that is not below a value; the part is sorted."""
    while high - low > U8(8):
        middle = (low + high) >> U8(1)
        if array[middle] < value:
            low = middle + U8(1)
        else:
            high = middle
    while low < high and array[low] < value:  # of a few, the first is found soonest one by one
        low += U8(1)
    return low


@helper
def first_after(array: Any, low: Any, high: Any, value: Any) -> Any:
    """The first entry of a part that is above a value; the part is sorted."""
    while high - low > U8(8):
        middle = (low + high) >> U8(1)
        if array[middle] <= value:
            low = middle + U8(1)
        else:
            high = middle
    while low < high and array[low] <= value:  # of a few, the first is found soonest one by one
        low += U8(1)
    return low


@apart
def sort_part(keys: Any, index: Any, spare_keys: Any, spare_index: Any, heads: Any, count: Any) -> Any:
    """Sort the first keys, none of which is NaN, and with them the entries that they are of.

    Each key is put about where it belongs, as if they were spread evenly; what is left to do is little. Where they are
    not, they are merged.
    """
    if count < U8(2):
        return 0
    least, most = keys[U8(0)], keys[U8(0)]
    k = U8(1)
    while k < count:
        key = keys[k]
        least = key if key < least else least
        most = key if key > most else most
        k += U8(1)
    scale = float(count - U8(1)) / (float(most) - float(least)) if most > least else 0.0
    if not (scale > 0.0 and scale < math.inf):
        return _merge_sort(keys, index, spare_keys, spare_index, count)
    k = U8(0)
    while k <= count:
        heads[k] = U4(0)
        k += U8(1)
    k = U8(0)
    while k < count:
        heads[U8((float(keys[k]) - float(least)) * scale) + U8(1)] += U4(1)
        k += U8(1)
    k = U8(1)
    fullest = U4(0)
    while k <= count:
        fullest = heads[k] if heads[k] > fullest else fullest
        heads[k] += heads[k - U8(1)]
        k += U8(1)
    if fullest > 24:
        return _merge_sort(keys, index, spare_keys, spare_index, count)
    k = U8(0)
    while k < count:
        at = U8((float(keys[k]) - float(least)) * scale)
        place = U8(heads[at])
        heads[at] = U4(place + U8(1))
        spare_keys[place] = keys[k]
        spare_index[place] = index[k]
        k += U8(1)
    k = U8(0)
    while k < count:
        key, entry, hole = spare_keys[k], spare_index[k], k
        while hole > U8(0) and key < keys[hole - U8(1)]:
            keys[hole] = keys[hole - U8(1)]
            index[hole] = index[hole - U8(1)]
            hole -= U8(1)
        keys[hole] = key
        index[hole] = entry
        k += U8(1)
    return 0


@apart
def _merge_sort(keys: Any, index: Any, spare_keys: Any, spare_index: Any, count: Any) -> Any:
    """Runs are merged, two by two, to and fro."""
    width, turned = U8(1), False
    while width < count:
        if turned:
            _merge_runs(spare_keys, spare_index, keys, index, count, width)
        else:
            _merge_runs(keys, index, spare_keys, spare_index, count, width)
        turned = not turned
        width *= U8(2)
    if turned:
        k = U8(0)
        while k < count:
            keys[k] = spare_keys[k]
            index[k] = spare_index[k]
            k += U8(1)
    return 0


@apart
def _merge_runs(keys: Any, index: Any, into: Any, moved: Any, count: Any, width: Any) -> Any:
    """Merge neighbouring runs; which of two keys is taken is no branch."""
    begin = U8(0)
    while begin < count:
        middle = begin + width if begin + width < count else count
        end = middle + width if middle + width < count else count
        one, other, k = begin, middle, begin
        while one < middle and other < end:
            first = keys[one] <= keys[other]
            at = one if first else other
            into[k] = keys[at]
            moved[k] = index[at]
            one += U8(first)
            other += U8(not first)
            k += U8(1)
        while one < middle:
            into[k] = keys[one]
            moved[k] = index[one]
            one += U8(1)
            k += U8(1)
        while other < end:
            into[k] = keys[other]
            moved[k] = index[other]
            other += U8(1)
            k += U8(1)
        begin = end
    return 0


@helper
def _is_below(key: Any, value: Any, after: Any) -> Any:
    """Whether a key comes before what is looked for."""
    return not less(value, key) if after else less(key, value)


@apart
def seek(keys: Any, count: Any, start: Any, value: Any, after: Any, meta: Any) -> Any:
    """The first key that is not below a value, or `after` it; from where the last was found, in steps that double."""
    low, high, step, probes = U8(0), count, U8(1), 0
    if start < count:
        probes += 1
        if _is_below(keys[start], value, after):
            low = start + U8(1)
            while low + step < high:
                probes += 1
                if not _is_below(keys[low + step], value, after):
                    high = low + step
                    break
                low += step + U8(1)
                step *= U8(2)
        else:
            high = start
            while high > step:
                probes += 1
                if _is_below(keys[high - step], value, after):
                    low = high - step + U8(1)
                    break
                high -= step
                step *= U8(2)
    while low < high:
        middle = (low + high) >> U8(1)
        probes += 1
        if _is_below(keys[middle], value, after):
            low = middle + U8(1)
        else:
            high = middle
    meta[TESTS] += probes
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
