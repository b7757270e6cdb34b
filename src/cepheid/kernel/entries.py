"""What is done with many events or entries at once, whatever the query. Compiled like the match store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int32s, Int64, Int64s, UInt16s, UInt32s
from cepheid.kernel.runtime import FOREVER, NEVER, NIL, first_after, first_from

WIDTH = 64


def pick_events(
    i: Int64, end: Int64, type_codes: Int32s, type_numbers: UInt16s, types: Int64, chosen: UInt32s
) -> Int64:
    """Write down the events whose types a query names; how many these are. There are so many `types`.

    Most of a stream is of no interest. To pass that without a branch is faster than to ask of each event, and a few
    types fit into one number.
    """
    count = 0
    if types <= WIDTH:
        wanted = 0
        k = 0
        while k < types:
            wanted |= int(type_numbers[k] != 0) << k
            k += 1
        while i < end:
            chosen[count] = i
            count += (wanted >> type_codes[i]) & 1
            i += 1
    while i < end:
        chosen[count] = i
        count += int(type_numbers[type_codes[i]] != 0)
        i += 1
    return count


def count_groups(partitions: UInt32s, count: Int64, slot: UInt32s, groups: Int64, begin: UInt32s) -> Int64:
    """Where each group begins, one place ahead: `slot` says which group a partition is, NIL if none."""
    k = 0
    while k < groups + 2:
        begin[k] = 0
        k += 1
    k = 0
    while k < count:
        group = slot[partitions[k]]
        if group != NIL:
            begin[int(group) + 2] += 1
        k += 1
    k = 1
    while k < groups + 2:
        begin[k] += begin[k - 1]
        k += 1
    return groups


def find_places(at: Int64s, origin: Int64, entries: UInt32s, count: Int64, places: UInt32s) -> Int64:
    """The positions of some entries, counted from an origin."""
    k = 0
    while k < count:
        places[k] = at[entries[k]] - origin
        k += 1
    return count


def fill(array: UInt32s, first: Int64, end: Int64, value: Int64) -> Int64:
    """Write a value to a part of an array."""
    while first < end:
        array[first] = value
        first += 1
    return end


def candidates_from(at: Int64s, times: Int64s, low: Int64, high: Int64, floor: Int64, limit: Int64) -> Int64:
    """Where the candidates of a part begin: after the position `floor`, or if there is none (NEVER), after a time."""
    if floor > NEVER:
        return first_after(at, low, high, floor)
    return first_after(times, low, high, limit)


def candidates_until(at: Int64s, times: Int64s, low: Int64, high: Int64, ceiling: Int64, limit: Int64) -> Int64:
    """Where the candidates of a part end: at the position `ceiling`, or if there is none (FOREVER), at a time."""
    if ceiling < FOREVER:
        return first_from(at, low, high, ceiling)
    return first_from(times, low, high, limit)


def free_lists(
    partitions: Int64s,
    count: Int64,
    heads: UInt32s,
    following: UInt32s,
    nodes: UInt32s,
    cells: Int64s,
    free: Int64,
    used: Int64,
) -> Int64:
    """Free all entries of the lists of some partitions; `cells` has the first that is free, and how many are used."""
    k = 0
    while k < count:
        entry = heads[partitions[k]]
        while entry != NIL:
            after = following[entry]
            following[entry] = cells[free]
            cells[free] = entry
            cells[used] -= 1
            nodes[entry] = NIL
            entry = after
        heads[partitions[k]] = NIL
        k += 1
    return count
