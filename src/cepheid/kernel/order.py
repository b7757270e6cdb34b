"""The order of S9 of matches as words: end, start, what is between, then by variable. Compiled like the store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int64, Int64s


def precedes(a: Int64, b: Int64, shift: Int64, count: Int64, words: Int64s, offsets: Int64s, variables: Int64s) -> Bool:
    """Whether match `a` comes before match `b`, which ends at the same event (S9)."""
    begin, one_end = offsets[a], offsets[a + 1]
    other_begin, other_end = offsets[b], offsets[b + 1]
    mask = (1 << shift) - 1
    x, y = begin, other_begin
    while x < one_end and y < other_end:
        if words[x] >> shift != words[y] >> shift:
            return words[x] >> shift < words[y] >> shift
        x += 1
        y += 1
    if one_end - begin != other_end - other_begin:
        return one_end - begin < other_end - other_begin
    variable = 0
    while variable < count:  # the same events: then by the events of each variable
        x, y = begin, other_begin
        while True:
            while x < one_end and variables[words[x] & mask] != variable:
                x += 1
            while y < other_end and variables[words[y] & mask] != variable:
                y += 1
            if x == one_end or y == other_end:
                if x < one_end or y < other_end:
                    return x == one_end
                break
            if words[x] >> shift != words[y] >> shift:
                return words[x] >> shift < words[y] >> shift
            x += 1
            y += 1
        variable += 1
    return False


def order_matches(
    matches: Int64,
    shift: Int64,
    count: Int64,
    words: Int64s,
    offsets: Int64s,
    variables: Int64s,
    order: Int64s,
    spare: Int64s,
) -> Int64:
    """The order of S9: ends are in order already, matches of one end are sorted by merging."""
    begin = 0
    while begin < matches:
        end = begin + 1
        last = words[offsets[begin + 1] - 1] >> shift
        while end < matches and words[offsets[end + 1] - 1] >> shift == last:
            end += 1
        order_group(begin, end, shift, count, words, offsets, variables, order, spare)
        begin = end
    return 0


def order_instants(
    matches: Int64,
    shift: Int64,
    count: Int64,
    words: Int64s,
    offsets: Int64s,
    variables: Int64s,
    ends: Int64s,
    order: Int64s,
    spare: Int64s,
) -> Int64:
    """The order of S9 where matches end together that end at one time (S2); `ends` are in order already."""
    begin = 0
    while begin < matches:
        end = begin + 1
        while end < matches and ends[end] == ends[begin]:
            end += 1
        order_group(begin, end, shift, count, words, offsets, variables, order, spare)
        begin = end
    return 0


def order_group(
    begin: Int64,
    end: Int64,
    shift: Int64,
    count: Int64,
    words: Int64s,
    offsets: Int64s,
    variables: Int64s,
    order: Int64s,
    spare: Int64s,
) -> Int64:
    """Matches that end together, sorted by merging."""
    k = begin
    while k < end:
        order[k] = k
        k += 1
    if end - begin > 1 and words[offsets[begin]] > words[offsets[end - 1]]:
        # The youngest start comes first from the store: most often this is all that is to be done.
        x, y = begin, end - 1
        while x < y:
            order[x], order[y] = order[y], order[x]
            x += 1
            y -= 1
    width = 1
    while width < end - begin:
        at = begin
        while at < end:
            middle = min(at + width, end)
            until = min(at + 2 * width, end)
            x, y, k = at, middle, at
            while k < until:
                take = y == until
                if x < middle and y < until:
                    take = not precedes(order[y], order[x], shift, count, words, offsets, variables)
                if take:
                    spare[k] = order[x]
                    x += 1
                else:
                    spare[k] = order[y]
                    y += 1
                k += 1
            at = until
        k = begin
        while k < end:
            order[k] = spare[k]
            k += 1
        width *= 2
    return end
