"""Sorting and seeking: the keys of some entries in order, and where a value is among them. Compiled like the store.

A key is a whole number or a double; NaN is the greatest number and equals itself (S3a). NULL is no key.
"""

from __future__ import annotations

import math

from cepheid.kernel.code.reader import Bool, Int64, Int64s, Key, Keys, UInt8s, UInt32s
from cepheid.kernel.runtime import TESTS

INF = math.inf
FULL = 24
"""Keys that may fall into one place before they are merged instead."""


def sort_entries(
    column: Keys,
    first: Int64,
    end: Int64,
    keys: Keys,
    entries: UInt32s,
    spare_keys: Keys,
    spare_entries: UInt32s,
    heads: UInt32s,
) -> Int64:
    """Sort a part of a column: its values go to `keys`, which entries they are of to `entries`; how many there are."""
    count = 0
    k = first
    while k < end:
        key = column[k]
        keys[count] = key
        entries[count] = k
        count += int(key == key)
        k += 1
    sort_part(keys, entries, spare_keys, spare_entries, heads, count)
    if count < end - first:
        k = first
        while k < end:
            key = column[k]
            if key != key:
                keys[count] = key
                entries[count] = k
                count += 1
            k += 1
    return count


def sort_known_entries(
    column: Keys,
    nulls: UInt8s,
    first: Int64,
    end: Int64,
    keys: Keys,
    entries: UInt32s,
    spare_keys: Keys,
    spare_entries: UInt32s,
    heads: UInt32s,
) -> Int64:
    """The same of a column that has NULLs: these are left out."""
    count = 0
    k = first
    while k < end:
        key = column[k]
        keys[count] = key
        entries[count] = k
        count += int(nulls[k] == 0 and key == key)
        k += 1
    sort_part(keys, entries, spare_keys, spare_entries, heads, count)
    k = first
    while k < end:
        key = column[k]
        if nulls[k] == 0 and key != key:
            keys[count] = key
            entries[count] = k
            count += 1
        k += 1
    return count


def sort_part(
    keys: Keys, entries: UInt32s, spare_keys: Keys, spare_entries: UInt32s, heads: UInt32s, count: Int64
) -> Int64:
    """Sort the first keys, none of which is NaN, and with them the entries that they are of."""
    if not sort_spread(keys, entries, spare_keys, spare_entries, heads, count):
        merge_sort(keys, entries, spare_keys, spare_entries, count)
    return count


def sort_spread(
    keys: Keys, entries: UInt32s, spare_keys: Keys, spare_entries: UInt32s, heads: UInt32s, count: Int64
) -> Bool:
    """Sort keys that are spread about evenly; whether they are.

    Each one is put about where it belongs; what is left to do is little.
    """
    if count < 2:
        return True
    least = keys[0]
    most = keys[0]
    k = 1
    while k < count:
        key = keys[k]
        least = key if key < least else least
        most = key if key > most else most
        k += 1
    spread = float(most) - float(least)
    scale = float(count - 1) / spread if spread > 0.0 and spread < INF else INF
    if not scale < INF:
        return False
    k = 0
    while k <= count:
        heads[k] = 0
        k += 1
    k = 0
    while k < count:
        heads[int((float(keys[k]) - float(least)) * scale) + 1] += 1
        k += 1
    k = 1
    fullest = 0
    while k <= count:
        fullest = max(fullest, heads[k])
        heads[k] += heads[k - 1]
        k += 1
    if fullest > FULL:
        return False
    k = 0
    while k < count:
        bucket = int((float(keys[k]) - float(least)) * scale)
        place = heads[bucket]
        heads[bucket] = place + 1
        spare_keys[place] = keys[k]
        spare_entries[place] = entries[k]
        k += 1
    k = 0
    while k < count:
        key = spare_keys[k]
        entry = spare_entries[k]
        hole = k
        while hole > 0 and key < keys[hole - 1]:
            keys[hole] = keys[hole - 1]
            entries[hole] = entries[hole - 1]
            hole -= 1
        keys[hole] = key
        entries[hole] = entry
        k += 1
    return True


def merge_sort(keys: Keys, entries: UInt32s, spare_keys: Keys, spare_entries: UInt32s, count: Int64) -> Int64:
    """Runs are merged, two by two, until one is left."""
    width = 1
    while width < count:
        merge_runs(keys, entries, spare_keys, spare_entries, count, width)
        k = 0
        while k < count:
            keys[k] = spare_keys[k]
            entries[k] = spare_entries[k]
            k += 1
        width *= 2
    return count


def merge_runs(keys: Keys, entries: UInt32s, into: Keys, moved: UInt32s, count: Int64, width: Int64) -> Int64:
    """Merge neighbouring runs; which of two keys is taken is no branch."""
    begin = 0
    while begin < count:
        middle = min(begin + width, count)
        end = min(middle + width, count)
        left = begin
        right = middle
        k = begin
        while left < middle and right < end:
            first = keys[left] <= keys[right]
            at = left if first else right
            into[k] = keys[at]
            moved[k] = entries[at]
            left += int(first)
            right += int(not first)
            k += 1
        rest = left if left < middle else right
        while k < end:
            into[k] = keys[rest]
            moved[k] = entries[rest]
            rest += 1
            k += 1
        begin = end
    return count


def seek(keys: Keys, count: Int64, start: Int64, value: Key, after: bool, cells: Int64s) -> Int64:
    """The first key that is not below a value, or `after` it; from where the last was found, in steps that double."""
    if value != value:
        return count if after else first_nan(keys, count)
    low = 0
    high = count
    step = 1
    probes = 0
    if start < count:
        probes += 1
        if keys[start] <= value if after else keys[start] < value:
            low = start + 1
            while low + step < high:
                probes += 1
                if not (keys[low + step] <= value if after else keys[low + step] < value):
                    high = low + step
                    break
                low += step + 1
                step *= 2
        else:
            high = start
            while high > step:
                probes += 1
                if keys[high - step] <= value if after else keys[high - step] < value:
                    low = high - step + 1
                    break
                high -= step
                step *= 2
    while low < high:
        middle = (low + high) >> 1
        probes += 1
        if keys[middle] <= value if after else keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    cells[TESTS] += probes
    return low


def first_nan(keys: Keys, count: Int64) -> Int64:
    """The first key that is NaN, which is the greatest number; a whole number never is."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] == keys[middle]:
            low = middle + 1
        else:
            high = middle
    return low


def sort_until(first: Int64, end: Int64, since: Int64, until: Int64, high: Int64) -> Int64:
    """How far to sort a part that is to be sorted from `first` to `end` at least, after another was until now.

    Where most of the one before is still asked for, the next ones will be close too: as much again is sorted.
    """
    if since <= first and until > (first + end) >> 1:
        return min(end + (end - first), high)
    return end
