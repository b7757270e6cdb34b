"""Exact counts of the matches of a graph, node by node and match by match. Compiled like the match store."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt32s
from cepheid.kernel.runtime import NIL

LIMB = 2**62 - 1
HALF = 2**61


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
    a row. Nodes are visited from the root down to mark them, then up again to add; where the graph is of one partition
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
            following = n_next[node]
            if following != NIL and marks[following] != stamp and n_max[following] >= low:
                marks[following] = stamp
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
                following = n_next[node]
                other = n_alt[node]
                left = used[rows[following] + 1] if following != NIL and marks[following] == stamp else 0
                right = used[rows[other] + 1] if other != NIL and marks[other] == stamp else 0
                x = rows[following] * wide if left > 0 else 0
                y = rows[other] * wide if right > 0 else 0
                carry = 1 if following == NIL else 0
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
