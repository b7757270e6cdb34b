"""The match store: a graph that shares histories, its enumeration, and the clearing of what is over.

A node is an event after the histories of `next`, or the histories of `alt`; where `word` is -1 it is only the two
together. `max` is the youngest start among them, and the older are behind: what is out of the window is never visited
(after tECS, the structure of CORE). A node's number is greater than those of its parts.

`word` is the id of an event and, in its low bits, which config or exit bound it. Ids grow in the order of the stream.
Some configs are *stretched*: a node of theirs stands for all events from its own up to the one that follows it.

These functions are compiled from their text, as `code.reader` reads it, and run as they are where kernels do.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt32, UInt32s
from cepheid.kernel.runtime import NIL

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
                word = n_word[node]
                span = int(word >= 0)
                if shift != 0 and word >= 0 and stretched[word & mask] != 0:
                    span = (path[pl] >> shift) - (word >> shift)
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
                    path[pl] = word + (span << shift)
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


def enumerate_starts(
    first: Int64,
    last: Int64,
    n_word: Int64s,
    n_next: UInt32s,
    n_alt: UInt32s,
    n_max: Int64s,
    m_root: UInt32s,
    m_word: Int64s,
    m_low: Int64s,
    starts: Int64s,
    owners: Int64s,
    stack: UInt32s,
    seen: Int64s,
    place: Int64s,
    room: Int64,
) -> Int64:
    """Write where the matches `first` to `last` can begin, each word with the number of its match; how many there are.

    For automata of one's own, whose nodes are first events and what joins histories. `seen` has a cell for each node,
    `stack` two. Where there is not room for all beginnings of a match it stops before it: `place` says where.
    """
    k = first
    count = 0
    while k < last:
        low = m_low[k]
        begun = count
        node: UInt32 = m_root[k]
        if node != NIL and m_word[k] < 0:
            # A match that waited: its root is its last event, which may be the first one too.
            if n_next[node] == NIL:
                if count < room:
                    starts[count] = n_word[node]
                    owners[count] = k
                count += 1
            node = n_next[node]
        elif node == NIL:
            if count < room:
                starts[count] = m_word[k]
                owners[count] = k
            count += 1
        sp = 0
        if node != NIL:
            stack[0] = node
            sp = 1
        while sp > 0:
            sp -= 1
            node = stack[sp]
            if n_max[node] < low or seen[node] == k + 1:
                continue
            seen[node] = k + 1
            if n_word[node] >= 0:
                if count < room:
                    starts[count] = n_word[node]
                    owners[count] = k
                count += 1
            if n_next[node] != NIL:
                stack[sp] = n_next[node]
                sp += 1
            if n_alt[node] != NIL:
                stack[sp] = n_alt[node]
                sp += 1
        if count > room:
            count = begun
            break
        k += 1
    place[0] = k
    return count


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
        following = n_next[k]
        if following != NIL and n_max[following] >= low and limits[following] > low:
            limits[following] = low
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
            following = n_next[k]
            n_next[to] = number[following] if following != NIL else NIL
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
