"""Keys to dense numbers: a hash table of whole numbers. Compiled like the match store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt32s
from cepheid.kernel.runtime import NIL


def number_keys(
    keys: Int64s, count: Int64, table: UInt32s, mask: Int64, known: Int64s, size: Int64, numbers: UInt32s
) -> Int64:
    """The number of each key, new ones after the others; how many keys are known then.

    `table` has a place for each hash, `mask` is its length less one, a power of two less one; it has room for all.
    """
    k = 0
    while k < count:
        key = keys[k]
        place = (key * 7046029254386353131) & mask
        place = (place ^ ((key * 7046029254386353131) >> 32)) & mask
        number: Int64 = table[place]
        while number != NIL and known[number] != key:
            place = (place + 1) & mask
            number = table[place]
        if number == NIL:
            number = size
            table[place] = number
            known[number] = key
            size += 1
        numbers[k] = number
        k += 1
    return size


def rises(numbers: Int64s, count: Int64) -> Int64:
    """Return whether each number is greater than the one before: 1 or 0."""
    k = 1
    while k < count:
        stop = k + 4096 if k + 4096 < count else count
        falls = 0
        while k < stop:  # without a way out, so that the machine compares several at a time
            falls += int(numbers[k] <= numbers[k - 1])
            k += 1
        if falls != 0:
            return 0
    return 1


def narrow_keys(keys: Int64s, count: Int64, partitions: UInt32s, bounds: Int64s) -> Int64:
    """Write keys in 32 bits, and the least and the greatest of them to `bounds`: in one go over memory."""
    least, most = keys[0], keys[0]
    k = 0
    while k < count:
        key = keys[k]
        partitions[k] = key
        least = key if key < least else least
        most = key if key > most else most
        k += 1
    bounds[0] = least
    bounds[1] = most
    return count
