"""Matches of one length as numbers that sort as they do: pack their positions, sort, unpack. Compiled like the store.

The events of a match are in order, and close together: a number has the position of the last one, and then of each
other one how far it is before that. So the numbers alone are moved, and no match is looked up where it was.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt32s

FEW = 24
"""Numbers that are sorted one by one."""
DIGIT = 11
"""Bits that are sorted by at a time: as many places are filled side by side as the processor keeps at hand."""
SHORT = 8
"""The same, where numbers are few."""
PLACES = 2**DIGIT


def farthest(count: Int64, last: UInt32s, column: UInt32s) -> Int64:
    """How far an event is before the last one, at most."""
    most = 0
    k = 0
    while k < count:
        distance = int(last[k]) - int(column[k])
        most = distance if distance > most else most
        k += 1
    return most


def pack_last(count: Int64, last: UInt32s, origin: Int64, at: Int64, packed: Int64s) -> Int64:
    """Begin numbers with the position of the last event, counted from an origin."""
    k = 0
    while k < count:
        packed[at + k] = int(last[k]) + origin
        k += 1
    return count


def pack_distance(count: Int64, last: UInt32s, column: UInt32s, width: Int64, at: Int64, packed: Int64s) -> Int64:
    """Add how far an event is before the last one; the farther, the less."""
    most = (1 << width) - 1
    k = 0
    while k < count:
        packed[at + k] = (packed[at + k] << width) | (most - (int(last[k]) - int(column[k])))
        k += 1
    return count


def unpack_last(count: Int64, packed: Int64s, shift: Int64, origin: Int64, last: UInt32s) -> Int64:
    """The positions of the last events."""
    k = 0
    while k < count:
        last[k] = (packed[k] >> shift) - origin
        k += 1
    return count


def unpack_distance(count: Int64, packed: Int64s, shift: Int64, width: Int64, last: UInt32s, column: UInt32s) -> Int64:
    """The positions of other events."""
    most = (1 << width) - 1
    k = 0
    while k < count:
        column[k] = int(last[k]) - (most - ((packed[k] >> shift) & most))
        k += 1
    return count


def sort_packed(count: Int64, bits: Int64, packed: Int64s, spare: Int64s, heads: UInt32s, ends: UInt32s) -> Int64:
    """Sort numbers that are not negative and have so many bits; 1 if the result is in `spare`, and else 0.

    They are divided by their first bits, where they do not come so, and then each part is sorted: it is small enough
    to stay in the processor's cache. `heads` and `ends` have PLACES places.
    """
    shift = max(bits - DIGIT, 0)
    k = 0
    while k < PLACES:
        ends[k] = 0
        k += 1
    before = 0
    ascending = True
    k = 0
    while k < count:
        digit = packed[k] >> shift
        ascending = ascending and digit >= before
        before = digit
        ends[digit] += 1
        k += 1
    total = 0
    k = 0
    while k < PLACES:
        heads[k] = total
        total += ends[k]
        ends[k] = total
        k += 1
    if not ascending:
        k = 0
        while k < count:
            digit = packed[k] >> shift
            spare[heads[digit]] = packed[k]
            heads[digit] += 1
            k += 1
    begin = 0
    k = 0
    while k < PLACES:
        if ascending:
            sort_numbers(begin, ends[k], packed, spare, heads)
        else:
            sort_numbers(begin, ends[k], spare, packed, heads)
        begin = ends[k]
        k += 1
    return 0 if ascending else 1


def sort_numbers(begin: Int64, end: Int64, numbers: Int64s, spare: Int64s, heads: UInt32s) -> Int64:
    """Sort a part of some numbers; the first places of `spare` are written to."""
    count = end - begin
    if count <= FEW:
        return insert_numbers(begin, end, numbers)
    unlike = 0
    ascending = True
    k = begin + 1
    while k < end:
        unlike |= numbers[k] ^ numbers[begin]
        ascending = ascending and numbers[k] >= numbers[k - 1]
        k += 1
    if ascending:
        return count
    bits = 1
    while unlike >> bits != 0:
        bits += 1
    most = DIGIT if count >= PLACES else SHORT  # the places are cleared each time: that is as much as to move numbers
    if bits <= 2 * most:
        half = (bits + 1) >> 1
        move_by_digit(begin, end, numbers, 0, spare, 0, half, heads)
        return move_by_digit(0, count, spare, begin, numbers, half, bits - half, heads)
    shift = bits - most
    move_by_digit(begin, end, numbers, 0, spare, shift, most, heads)
    part = 0
    k = 0
    while k < count:
        if spare[k] >> shift != spare[part] >> shift:
            sort_numbers(begin + part, begin + k, numbers, spare, heads)
            part = k
        numbers[begin + k] = spare[k]
        k += 1
    return sort_numbers(begin + part, end, numbers, spare, heads)


def insert_numbers(begin: Int64, end: Int64, numbers: Int64s) -> Int64:
    """Sort a few numbers."""
    k = begin + 1
    while k < end:
        number = numbers[k]
        hole = k
        while hole > begin and numbers[hole - 1] > number:
            numbers[hole] = numbers[hole - 1]
            hole -= 1
        numbers[hole] = number
        k += 1
    return end - begin


def move_by_digit(
    begin: Int64, end: Int64, numbers: Int64s, to: Int64, moved: Int64s, shift: Int64, width: Int64, heads: UInt32s
) -> Int64:
    """Move numbers, in the order of some of their bits; those that agree in these stay in their order."""
    mask = (1 << width) - 1
    k = 0
    while k <= mask:
        heads[k] = 0
        k += 1
    k = begin
    while k < end:
        heads[(numbers[k] >> shift) & mask] += 1
        k += 1
    total = to
    k = 0
    while k <= mask:
        size = heads[k]
        heads[k] = total
        total += size
        k += 1
    k = begin
    while k < end:
        digit = (numbers[k] >> shift) & mask
        moved[heads[digit]] = numbers[k]
        heads[digit] += 1
        k += 1
    return end
