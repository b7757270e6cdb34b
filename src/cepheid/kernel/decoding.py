"""Words taken apart: the row of an event and its variable. Compiled like the match store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int16s, Int64, Int64s, UInt32s


def decode_matches(
    matches: Int64,
    shift: Int64,
    base: Int64,
    words: Int64s,
    offsets: Int64s,
    variables: Int64s,
    order: Int64s,
    rows: Int64s,
    owners: Int16s,
    bounds: Int64s,
) -> Int64:
    """Take words apart, in an order: the row of each event, the variable that it is bound to, the bounds of matches."""
    mask = (1 << shift) - 1
    at = 0
    bounds[0] = 0
    k = 0
    while k < matches:
        x = offsets[order[k]]
        end = offsets[order[k] + 1]
        while x < end:
            word = words[x]
            rows[at] = (word >> shift) - base
            owners[at] = variables[word & mask]
            at += 1
            x += 1
        k += 1
        bounds[k] = at
    return 0


def split_variables(
    matches: Int64,
    shift: Int64,
    base: Int64,
    words: Int64s,
    offsets: Int64s,
    variables: Int64s,
    order: Int64s,
    rows: UInt32s,
    used: Int64s,
    room: Int64,
    counts: UInt32s,
    stride: Int64,
    at: Int64,
    first: UInt32s,
    last: UInt32s,
) -> Int64:
    """Take words apart by variable, in an order: the rows that each is bound to, how many each match has of them.

    A variable has `room` places among the rows, of which so many are `used`, and `stride` ones among the counts. The
    matches are counted from `at` on; `first` and `last` get the rows of their first and last events.
    """
    mask = (1 << shift) - 1
    k = 0
    while k < matches:
        x = offsets[order[k]]
        end = offsets[order[k] + 1]
        first[at + k] = (words[x] >> shift) - base
        last[at + k] = (words[end - 1] >> shift) - base
        while x < end:
            # Most events are bound to the same variable as the one before.
            variable = variables[words[x] & mask]
            place = variable * room + used[variable]
            begun = place
            while x < end and variables[words[x] & mask] == variable:
                rows[place] = (words[x] >> shift) - base
                place += 1
                x += 1
            used[variable] += place - begun
            counts[variable * stride + at + k] += place - begun
        k += 1
    return matches
