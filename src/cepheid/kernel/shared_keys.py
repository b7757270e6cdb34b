"""Values of events as whole numbers of the same order, as many queries compare them. Compiled like the match store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, Real64s, UInt32s
from cepheid.kernel.shared import HALF, NAN_KEY, NULL, POSITIVE


def float_keys(values: Real64s, count: Int64, bits: Int64s, width: Int64, at: Int64, keys: Int64s) -> Int64:
    """Doubles as whole numbers of the same order, NaN the greatest, with one zero. `bits`: the same memory."""
    k = 0
    while k < count:
        word = bits[k]
        if values[k] == 0.0:
            word = 0
        elif values[k] != values[k]:
            word = NAN_KEY
        elif word < 0:
            word = word ^ POSITIVE
        keys[k * width + at] = word
        k += 1
    return count


def quick_keys(count: Int64, width: Int64, shifts: Int64s, keys: Int64s, quick: UInt32s) -> Int64:
    """Keys in 32 bits: the upper ones; or all, of columns whose bounds are short (a shift of 0). NULL alone is 0."""
    k = 0
    while k < count:
        j = 0
        row = k * width
        while j < width:
            value = keys[row + j]
            if shifts[j] > 0:
                quick[row + j] = (value >> 32) + HALF
            else:
                value = value if value < HALF - 1 else HALF - 1
                quick[row + j] = (value if value > -HALF else (-HALF if value == NULL else 1 - HALF)) + HALF
            j += 1
        k += 1
    return count
