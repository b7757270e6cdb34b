"""Matches compared, and some of them copied. Compiled like the match store.

The events of match k are `rows` from `offsets[k]` to `offsets[k + 1]`; `variables` says what each is bound to.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int16s, Int32s, Int64, Int64s, UInt8s, UInt32s
from cepheid.kernel.runtime import NIL

ODD = 0x5851F42D
BITS = 2**31 - 1


def affected_matches(
    rows: Int32s, offsets: Int64s, alive: UInt8s, count: Int64, changed: UInt8s, there: UInt8s, chosen: UInt32s
) -> Int64:
    """Choose the matches that end where others may end than before, or with an event that is gone; how many."""
    affected = 0
    k = 0
    while k < count:
        last = rows[offsets[k + 1] - 1]
        chosen[affected] = k
        affected += int(alive[k] != 0 and (changed[last] != 0 or there[last] == 0))
        k += 1
    return affected


def different_matches(
    rows: Int32s,
    variables: Int16s,
    offsets: Int64s,
    chosen: UInt32s,
    count: Int64,
    new_rows: Int32s,
    new_variables: Int16s,
    new_offsets: Int64s,
    new_count: Int64,
    changed: UInt8s,
    table: UInt32s,
    mask: Int64,
    added: UInt32s,
) -> Int64:
    """Compare matches that were `chosen` with new ones that end where something `changed`; how many are gone.

    These are the first of those that were chosen then. `added` gets those of the new ones that were not there, after
    their number. `table` has a place for each hash, `mask` is its length less one, a power of two less one.
    """
    k = 0
    while k <= mask:
        table[k] = NIL
        k += 1
    k = 0
    while k < count:
        place = hash_match(rows, variables, offsets, int(chosen[k])) & mask
        while table[place] != NIL:
            place = (place + 1) & mask
        table[place] = k
        k += 1
    fresh = 0
    k = 0
    while k < new_count:
        if changed[new_rows[new_offsets[k + 1] - 1]] != 0:
            met = False
            if count > 0:
                place = hash_match(new_rows, new_variables, new_offsets, k) & mask
                while table[place] != NIL and not met:
                    other = table[place]
                    if chosen[other] != NIL:
                        met = is_same(
                            rows, variables, offsets, int(chosen[other]), new_rows, new_variables, new_offsets, k
                        )
                        if met:
                            chosen[other] = NIL
                    place = (place + 1) & mask
            if not met:
                fresh += 1
                added[fresh] = k
        k += 1
    added[0] = fresh
    gone = 0
    k = 0
    while k < count:
        match = chosen[k]
        if match != NIL:
            chosen[gone] = match
            gone += 1
        k += 1
    return gone


def hash_match(rows: Int32s, variables: Int16s, offsets: Int64s, k: Int64) -> Int64:
    """A number that equal matches share: a sum, in which no event waits for the one before."""
    total = 0
    at = offsets[k]
    end = offsets[k + 1]
    while at < end:
        event = (int(rows[at]) << 6) + variables[at]
        total += event * (event + ODD)
        at += 1
    total &= BITS
    return total ^ (total >> 15)


def is_same(
    rows: Int32s,
    variables: Int16s,
    offsets: Int64s,
    k: Int64,
    new_rows: Int32s,
    new_variables: Int16s,
    new_offsets: Int64s,
    other: Int64,
) -> Bool:
    """Whether a match and a new one have the same events, bound to the same variables."""
    at, x = offsets[k], new_offsets[other]
    end = offsets[k + 1]
    if end - at != new_offsets[other + 1] - x:
        return False
    while at < end:
        if rows[at] != new_rows[x] or variables[at] != new_variables[x]:
            return False
        at += 1
        x += 1
    return True


def copy_matches(
    rows: Int32s,
    variables: Int16s,
    offsets: Int64s,
    chosen: UInt32s,
    count: Int64,
    to_rows: Int32s,
    to_variables: Int16s,
    to_offsets: Int64s,
) -> Int64:
    """Copy the matches that were chosen; how many events they have."""
    x = 0
    to_offsets[0] = 0
    k = 0
    while k < count:
        match = int(chosen[k])
        at = offsets[match]
        end = offsets[match + 1]
        while at < end:
            to_rows[x] = rows[at]
            to_variables[x] = variables[at]
            at += 1
            x += 1
        k += 1
        to_offsets[k] = x
    return x
