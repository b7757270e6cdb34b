"""The match store: a graph that shares histories, its enumeration, counting, and the clearing of what is over.

A node is an event after the histories of `next`, or the histories of `alt`; where `word` is -1 it is only the two
together. `max` is the youngest start among them, and the older are behind: what is out of the window is never visited
(after tECS, the structure of CORE). A node's number is greater than those of its parts.

These functions are compiled like the generated scans, and run as they are where those do.
"""

from __future__ import annotations

from typing import Any

from cepheid.kernel.plain import HALF, LIMB, NIL, U4, U8

Array = Any


def enumerate_matches(
    first: int,
    last: int,
    n_word: Array,
    n_next: Array,
    n_alt: Array,
    n_max: Array,
    m_root: Array,
    m_word: Array,
    m_low: Array,
    words: Array,
    offsets: Array,
    stack: Array,
    depths: Array,
    path: Array,
    place: Array,
) -> int:
    """Write the matches `first` to `last` as words, in the order of the stream; how many there are.

    Where there is no more room it stops: `place` says how far it came and where to go on.
    """
    k = U8(first)
    end = U8(last)
    count = U8(0)
    at = U8(0)
    sp = U8(place[1])
    top = U8(len(path))
    pl = U8(place[2])
    node = U4(place[3])
    resumed = place[4] != 0
    room = U8(len(words))
    most = U8(len(offsets)) - U8(1)
    offsets[0] = 0
    place[5] = 0
    while k < end:
        low = m_low[k]
        if not resumed:
            sp = U8(0)
            pl = top
            node = m_root[k]
            if m_word[k] >= 0:
                pl -= U8(1)
                path[pl] = m_word[k]
            if node != NIL and n_max[node] < low:
                k += U8(1)
                continue
        resumed = False
        full = False
        while True:
            # Down to the first event of a history; where there are others, they wait on the stack.
            while node != NIL:
                if pl == U8(0) or sp == top:
                    full = True
                    place[5] = 2
                    break
                other = n_alt[node]
                if other != NIL and n_max[other] >= low:
                    stack[sp] = other
                    depths[sp] = pl
                    sp += U8(1)
                own = n_word[node]
                if own >= 0:
                    pl -= U8(1)
                    path[pl] = own
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
                at += U8(1)
                x += U8(1)
            count += U8(1)
            offsets[count] = at
            if sp == U8(0):
                break
            sp -= U8(1)
            node = stack[sp]
            pl = U8(depths[sp])
        if full:
            resumed = True
            break
        k += U8(1)
    place[0] = k
    place[1] = sp
    place[2] = pl
    place[3] = node
    place[4] = 1 if resumed else 0
    return count


def count_matches(
    first: int,
    last: int,
    n_next: Array,
    n_alt: Array,
    n_max: Array,
    m_root: Array,
    m_low: Array,
    marks: Array,
    rows: Array,
    limbs: Array,
    used: Array,
    width: int,
    dense: int,
    total: Array,
) -> int:
    """Add the numbers of matches of `first` to `last`, each of at most `width` limbs, to `total`; how far it came.

    A node's number is the sum of those of its parts. It stops before what needs more limbs (then `used[0]` is 0), more
    rows (1), or when the total is full (2). A number is in limbs of 62 bits, the least first; a node that is needed has
    a row. Nodes are visited from the root down to mark them, then up again to add; where the graph is of one lane
    (`dense`), all from the first that is in the window are needed.
    """
    floor = U8(0)
    before = m_low[first] if first < last else 0
    k = U8(first)
    wide = U8(width)
    capacity = U8(len(used)) - U8(1)
    used[0] = 0
    while k < U8(last):
        root, low = m_root[k], m_low[k]
        stamp = k + U8(1)
        if root == NIL:
            if total[0] > HALF:
                used[0] = 2
                return k
            total[0] += U8(1)
            k += U8(1)
            continue
        if n_max[root] < low:
            k += U8(1)
            continue
        if low < before:
            floor = U8(0)
        before = low
        node = floor
        open_ = U8(0)
        if dense != 0:
            while n_max[node] < low:
                node += U8(1)
            floor = node
        else:
            marks[root] = stamp
            open_ = U8(1)
            node = U8(root) + U8(1)
        while open_ > U8(0):
            node -= U8(1)
            if marks[node] != stamp:
                continue
            open_ -= U8(1)
            one = n_next[node]
            if one != NIL and marks[one] != stamp and n_max[one] >= low:
                marks[one] = stamp
                open_ += U8(1)
            other = n_alt[node]
            if other != NIL and marks[other] != stamp and n_max[other] >= low:
                marks[other] = stamp
                open_ += U8(1)
        row = U8(0)
        full = False
        while node <= U8(root):
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
                left = U8(used[U8(rows[one]) + U8(1)]) if one != NIL and marks[one] == stamp else U8(0)
                right = U8(used[U8(rows[other]) + U8(1)]) if other != NIL and marks[other] == stamp else U8(0)
                x = U8(rows[one]) * wide if left > U8(0) else U8(0)
                y = U8(rows[other]) * wide if right > U8(0) else U8(0)
                carry = U8(1) if one == NIL else U8(0)
                length = left if left > right else right
                shared = left if left < right else right
                j = U8(0)
                while j < shared:
                    carry += limbs[x + j] + limbs[y + j]
                    limbs[at + j] = carry & LIMB
                    carry = carry >> U8(62)
                    j += U8(1)
                rest = x if left > right else y
                while j < length:
                    carry += limbs[rest + j]
                    limbs[at + j] = carry & LIMB
                    carry = carry >> U8(62)
                    j += U8(1)
                if carry > U8(0):
                    if j == wide:
                        full = True
                        break
                    limbs[at + j] = carry
                    j += U8(1)
                used[row + U8(1)] = j
                row += U8(1)
            node += U8(1)
        if full:
            used[0] = 0
            return k
        at = (row - U8(1)) * wide
        length = U8(used[row])
        if U8(len(total)) < length + U8(2) or total[U8(len(total)) - U8(1)] > U8(0):
            used[0] = 2
            return k
        carry = U8(0)
        j = U8(0)
        while j < length or carry > U8(0):
            carry += total[j]
            if j < length:
                carry += limbs[at + j]
            total[j] = carry & LIMB
            carry = carry >> U8(62)
            j += U8(1)
        k += U8(1)
    return k


def mark_nodes(nodes: int, n_next: Array, n_alt: Array, n_max: Array, limits: Array, number: Array) -> int:
    """Which nodes a match to come can still reach; `limits` has the first start that counts, for roots and below.

    `number` becomes the new number of each; how many stay.
    """
    k = U8(nodes)
    while k > U8(0):
        k -= U8(1)
        low = limits[k]
        if low == FREE:
            continue
        one = n_next[k]
        if one != NIL and n_max[one] >= low and limits[one] > low:
            limits[one] = low
        other = n_alt[k]
        if other != NIL and n_max[other] >= low and limits[other] > low:
            limits[other] = low
    kept = U8(0)
    k = U8(0)
    while k < U8(nodes):
        if limits[k] != FREE:
            number[k] = kept
            kept += U8(1)
        else:
            number[k] = NIL
        k += U8(1)
    return kept


def move_nodes(nodes: int, n_word: Array, n_next: Array, n_alt: Array, n_max: Array, number: Array) -> None:
    """Close the gaps that cleared nodes left."""
    k = U8(0)
    while k < U8(nodes):
        to = number[k]
        if to != NIL:
            n_word[to] = n_word[k]
            n_max[to] = n_max[k]
            one = n_next[k]
            n_next[to] = number[one] if one != NIL else NIL
            other = n_alt[k]
            n_alt[to] = number[other] if other != NIL else NIL
        k += U8(1)


def renumber(roots: Array, number: Array) -> None:
    """Give roots the new numbers of their nodes."""
    k = U8(0)
    while k < U8(len(roots)):
        if roots[k] != NIL:
            roots[k] = number[roots[k]]
        k += U8(1)


def precedes(a: int, b: int, shift: int, count: int, words: Array, offsets: Array, variables: Array) -> bool:
    """Whether match `a` comes before match `b`, which ends at the same event (S9)."""
    one, one_end = U8(offsets[a]), U8(offsets[a + 1])
    other, other_end = U8(offsets[b]), U8(offsets[b + 1])
    mask = (1 << shift) - 1
    x, y = one, other
    while x < one_end and y < other_end:
        if words[x] >> shift != words[y] >> shift:
            return bool(words[x] >> shift < words[y] >> shift)
        x += U8(1)
        y += U8(1)
    if one_end - one != other_end - other:
        return one_end - one < other_end - other
    variable = 0
    while variable < count:  # the same events: then by the events of each variable
        x, y = one, other
        while True:
            while x < one_end and variables[words[x] & mask] != variable:
                x += U8(1)
            while y < other_end and variables[words[y] & mask] != variable:
                y += U8(1)
            if x == one_end or y == other_end:
                if (x == one_end) != (y == other_end):
                    return x == one_end
                break
            if words[x] >> shift != words[y] >> shift:
                return bool(words[x] >> shift < words[y] >> shift)
            x += U8(1)
            y += U8(1)
        variable += 1
    return False


def order_matches(
    matches: int, shift: int, count: int, words: Array, offsets: Array, variables: Array, order: Array, spare: Array
) -> None:
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


def decode_matches(
    matches: int,
    shift: int,
    base: int,
    words: Array,
    offsets: Array,
    variables: Array,
    order: Array,
    rows: Array,
    owners: Array,
    bounds: Array,
) -> None:
    """Take words apart, in an order: the row of each event, the variable that it is bound to, the bounds of matches."""
    mask = (1 << shift) - 1
    at = U8(0)
    bounds[0] = 0
    k = U8(0)
    while k < U8(matches):
        x = U8(offsets[order[k]])
        end = U8(offsets[order[k] + 1])
        while x < end:
            word = words[x]
            rows[at] = (word >> shift) - base
            owners[at] = variables[word & mask]
            at += U8(1)
            x += U8(1)
        k += U8(1)
        bounds[k] = at


FREE = 2**63 - 1
