"""The match store: a graph that shares histories, its enumeration, counting, and the clearing of what is over.

A node is an event after the histories of `next`, or the histories of `alt`; where `word` is -1 it is only the two
together. `max` is the youngest start among them, and the older are behind: what is out of the window is never visited
(after tECS, the structure of CORE). A node's number is greater than those of its parts.

`word` is the id of an event and, in its low bits, which config or exit bound it. Ids grow in the order of the stream.
Some configs are *stretched*: a node of theirs stands for all events from its own up to the one that follows it.

These functions are compiled from their text, as `code.reader` reads it, and run as they are where kernels do.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int16s, Int64, Int64s, UInt32, UInt32s
from cepheid.kernel.runtime import NIL

LIMB = 2**62 - 1
HALF = 2**61
FREE = 2**63 - 1


def enumerate_matches(
    first: Int64,
    last: Int64,
    n_word: Int64s,
    n_next: UInt32s,
    n_alt: UInt32s,
    n_max: Int64s,
    m_root: UInt32s,
    m_word: Int64s,
    m_low: Int64s,
    words: Int64s,
    offsets: Int64s,
    stack: UInt32s,
    depths: Int64s,
    path: Int64s,
    place: Int64s,
    stretched: Int64s,
    shift: Int64,
    room: Int64,
    most: Int64,
    top: Int64,
) -> Int64:
    """Write the matches `first` to `last` as words, in the order of the stream; how many there are.

    There is room for `room` words and `most` matches, and for `top` words of one match. Where that is not enough it
    stops: `place` says how far it came and where to go on. `stretched` says of which configs nodes are stretched; a
    `shift` of 0 says that none are.
    """
    k = first
    end = last
    mask = (1 << shift) - 1
    count = 0
    at = 0
    sp = place[1]
    pl = place[2]
    node: UInt32 = place[3]
    resumed = place[4] != 0
    offsets[0] = 0
    place[5] = 0
    while k < end:
        low = m_low[k]
        if not resumed:
            sp = 0
            pl = top
            node = m_root[k]
            if m_word[k] >= 0:
                pl -= 1
                path[pl] = m_word[k]
            if node != NIL and n_max[node] < low:
                k += 1
                continue
        resumed = False
        full = False
        while True:
            # Down to the first event of a history; where there are others, they wait on the stack.
            while node != NIL:
                own = n_word[node]
                span = int(own >= 0)
                if shift != 0 and own >= 0 and stretched[own & mask] != 0:
                    span = (path[pl] >> shift) - (own >> shift)
                if pl < span or sp == top:
                    full = True
                    place[5] = 2
                    break
                other = n_alt[node]
                if other != NIL and n_max[other] >= low:
                    stack[sp] = other
                    depths[sp] = pl
                    sp += 1
                while span > 0:
                    span -= 1
                    pl -= 1
                    path[pl] = own + (span << shift)
                node = n_next[node]
            if full:
                break
            if at + (top - pl) > room or count == most:
                full = True
                place[5] = 1
                break
            x = pl
            while x < top:
                words[at] = path[x]
                at += 1
                x += 1
            count += 1
            offsets[count] = at
            if sp == 0:
                break
            sp -= 1
            node = stack[sp]
            pl = depths[sp]
        if full:
            resumed = True
            break
        k += 1
    place[0] = k
    place[1] = sp
    place[2] = pl
    place[3] = node
    place[4] = int(resumed)
    return count


def count_matches(
    first: Int64,
    last: Int64,
    n_next: UInt32s,
    n_alt: UInt32s,
    n_max: Int64s,
    m_root: UInt32s,
    m_low: Int64s,
    marks: Int64s,
    rows: UInt32s,
    limbs: Int64s,
    used: UInt32s,
    width: Int64,
    dense: Int64,
    total: Int64s,
    capacity: Int64,
    room: Int64,
) -> Int64:
    """Add the numbers of matches of `first` to `last`, each of at most `width` limbs, to `total`; how far it came.

    A node's number is the sum of those of its parts. It stops before what needs more limbs (then `used[0]` is 0), more
    rows (1), or when the total is full (2). A number is in limbs of 62 bits, the least first; a node that is needed has
    a row. Nodes are visited from the root down to mark them, then up again to add; where the graph is of one lane
    (`dense`), all from the first that is in the window are needed.
    """
    floor = 0
    before = m_low[first] if first < last else 0
    k = first
    wide = width
    used[0] = 0
    while k < last:
        root, low = m_root[k], m_low[k]
        stamp = k + 1
        if root == NIL:
            if total[0] > HALF:
                used[0] = 2
                return k
            total[0] += 1
            k += 1
            continue
        if n_max[root] < low:
            k += 1
            continue
        if low < before:
            floor = 0
        before = low
        node = floor
        open_ = 0
        if dense != 0:
            while n_max[node] < low:
                node += 1
            floor = node
        else:
            marks[root] = stamp
            open_ = 1
            node = root + 1
        while open_ > 0:
            node -= 1
            if marks[node] != stamp:
                continue
            open_ -= 1
            one = n_next[node]
            if one != NIL and marks[one] != stamp and n_max[one] >= low:
                marks[one] = stamp
                open_ += 1
            other = n_alt[node]
            if other != NIL and marks[other] != stamp and n_max[other] >= low:
                marks[other] = stamp
                open_ += 1
        row = 0
        full = False
        while node <= root:
            if dense != 0 and n_max[node] >= low:
                marks[node] = stamp
            if marks[node] == stamp:
                if row == capacity:
                    used[0] = 1
                    return k
                rows[node] = row
                at = row * wide
                one = n_next[node]
                other = n_alt[node]
                left = used[rows[one] + 1] if one != NIL and marks[one] == stamp else 0
                right = used[rows[other] + 1] if other != NIL and marks[other] == stamp else 0
                x = rows[one] * wide if left > 0 else 0
                y = rows[other] * wide if right > 0 else 0
                carry = 1 if one == NIL else 0
                length = left if left > right else right
                shared = left if left < right else right
                j = 0
                while j < shared:
                    carry += limbs[x + j] + limbs[y + j]
                    limbs[at + j] = carry & LIMB
                    carry = carry >> 62
                    j += 1
                rest = x if left > right else y
                while j < length:
                    carry += limbs[rest + j]
                    limbs[at + j] = carry & LIMB
                    carry = carry >> 62
                    j += 1
                if carry > 0:
                    if j == wide:
                        full = True
                        break
                    limbs[at + j] = carry
                    j += 1
                used[row + 1] = j
                row += 1
            node += 1
        if full:
            used[0] = 0
            return k
        at = (row - 1) * wide
        length = used[row]
        if room < length + 2 or total[room - 1] > 0:
            used[0] = 2
            return k
        carry = 0
        j = 0
        while j < length or carry > 0:
            carry += total[j]
            if j < length:
                carry += limbs[at + j]
            total[j] = carry & LIMB
            carry = carry >> 62
            j += 1
        k += 1
    return k


def mark_nodes(nodes: Int64, n_next: UInt32s, n_alt: UInt32s, n_max: Int64s, limits: Int64s, number: UInt32s) -> Int64:
    """Which nodes a match to come can still reach; `limits` has the first start that counts, for roots and below.

    `number` becomes the new number of each; how many stay.
    """
    k = nodes
    while k > 0:
        k -= 1
        low = limits[k]
        if low == FREE:
            continue
        one = n_next[k]
        if one != NIL and n_max[one] >= low and limits[one] > low:
            limits[one] = low
        other = n_alt[k]
        if other != NIL and n_max[other] >= low and limits[other] > low:
            limits[other] = low
    kept = 0
    k = 0
    while k < nodes:
        if limits[k] != FREE:
            number[k] = kept
            kept += 1
        else:
            number[k] = NIL
        k += 1
    return kept


def move_nodes(nodes: Int64, n_word: Int64s, n_next: UInt32s, n_alt: UInt32s, n_max: Int64s, number: UInt32s) -> Int64:
    """Close the gaps that cleared nodes left."""
    k = 0
    while k < nodes:
        to = number[k]
        if to != NIL:
            n_word[to] = n_word[k]
            n_max[to] = n_max[k]
            one = n_next[k]
            n_next[to] = number[one] if one != NIL else NIL
            other = n_alt[k]
            n_alt[to] = number[other] if other != NIL else NIL
        k += 1
    return 0


def renumber(roots: UInt32s, number: UInt32s, count: Int64) -> Int64:
    """Give roots the new numbers of their nodes."""
    k = 0
    while k < count:
        if roots[k] != NIL:
            roots[k] = number[roots[k]]
        k += 1
    return 0


def precedes(a: Int64, b: Int64, shift: Int64, count: Int64, words: Int64s, offsets: Int64s, variables: Int64s) -> Bool:
    """Whether match `a` comes before match `b`, which ends at the same event (S9)."""
    one, one_end = offsets[a], offsets[a + 1]
    other, other_end = offsets[b], offsets[b + 1]
    mask = (1 << shift) - 1
    x, y = one, other
    while x < one_end and y < other_end:
        if words[x] >> shift != words[y] >> shift:
            return words[x] >> shift < words[y] >> shift
        x += 1
        y += 1
    if one_end - one != other_end - other:
        return one_end - one < other_end - other
    variable = 0
    while variable < count:  # the same events: then by the events of each variable
        x, y = one, other
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
        order[begin] = begin
        last = words[offsets[begin + 1] - 1] >> shift
        while end < matches and words[offsets[end + 1] - 1] >> shift == last:
            order[end] = end
            end += 1
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
        begin = end
    return 0


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


def pick_variable(
    matches: Int64, variable: Int64, rows: Int64s, variables: Int16s, offsets: Int64s, picked: Int64s, counts: Int64s
) -> Int64:
    """The rows that are bound to a variable, and how many each match has; how many there are."""
    found = 0
    k = 0
    while k < matches:
        before = found
        x = offsets[k]
        end = offsets[k + 1]
        while x < end:
            picked[found] = rows[x]
            found += int(variables[x] == variable)
            x += 1
        counts[k] = found - before
        k += 1
    return found


def sort_by_digits(
    count: Int64, bits: Int64, keys: Int64s, order: Int64s, spare_keys: Int64s, spare_order: Int64s, heads: Int64s
) -> Int64:
    """Sort keys that are not negative and have so many bits, and with them their order; eleven bits at a time.

    `heads` has room for 2,048. Which arrays have the result in the end: 0 for the first ones, 1 for the spare ones.
    """
    shift, turned = 0, 0
    while shift < bits:
        k = 0
        while k < 2048:
            heads[k] = 0
            k += 1
        k = 0
        while k < count:
            key = keys[k] if turned == 0 else spare_keys[k]
            heads[(key >> shift) & 2047] += 1
            k += 1
        total, k = 0, 0
        while k < 2048:
            size = heads[k]
            heads[k] = total
            total += size
            k += 1
        k = 0
        while k < count:
            if turned == 0:
                digit = (keys[k] >> shift) & 2047
                place = heads[digit]
                spare_keys[place] = keys[k]
                spare_order[place] = order[k]
            else:
                digit = (spare_keys[k] >> shift) & 2047
                place = heads[digit]
                keys[place] = spare_keys[k]
                order[place] = spare_order[k]
            heads[digit] = place + 1
            k += 1
        turned = 1 - turned
        shift += 11
    return turned
