"""Which edges an event passes: of some side by side, or of a bucket by its bounds (`shared_ranges`). Compiled likewise.

They are noted as actions, a run and an edge each, which the loop does when all are known.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int32s, Int64, Int64s, Real64s, UInt8s, UInt32s
from cepheid.kernel.shared import (
    ACTION_ROOM,
    AGAIN,
    CANDIDATES,
    CELL_COUNT,
    COLUMN,
    COLUMN_BITS,
    EDGE,
    KEYED,
    KEYED_AT,
    LIST_AT,
    LOW,
    MORE,
    NOBODY,
    NULL,
    ROUGH,
    SERIAL,
    STAMP,
)
from cepheid.kernel.shared_conditions import rules_hold
from cepheid.kernel.shared_ranges import (
    AT_LEAST,
    AT_MOST,
    DENSE,
    INSIDE,
    KIND,
    KIND_BITS,
    MARKED,
    MARKS,
    MARKS_AT,
    SEGMENT,
    SEGMENTS_AT,
    SIDE,
    SIDE_BITS,
    WORD,
    bits_of,
    lowest_bit,
    reached,
)

# Lists of arrays side by side: one line for each would hide the code.
# fmt: off


def edge_holds(
    child: Int64, known: Int64, run: Int64, i: Int64, row: Int64, keys: Int64s, quick: UInt32s, edges: Int64s, lists:
    Int32s, rules: Int64s, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants:
    Int64s, real_constants: Real64s, cells: Int64s,
) -> Bool:
    """Whether an event passes an edge; known: 1 if its equalities are known to hold."""
    head = edges[EDGE * child]
    lows = edges[EDGE * child + 1]
    highs = edges[EDGE * child + 2]
    a = int(quick[row + (head & COLUMN)])
    b = int(quick[row + ((head >> COLUMN_BITS) & COLUMN)])
    low, high = (lows >> 32) & LOW, (highs >> 32) & LOW
    if a < low or a > high:
        return False
    other_low, other_high = lows & LOW, highs & LOW
    if b < other_low or b > other_high:
        return False
    more = (head & MORE) != 0
    if (head & ROUGH) != 0:
        least = a == low or b == other_low
        more = more or least or a == high or b == other_high
    if not more:
        return True
    where = (head >> LIST_AT) + 1
    begin = where + (((head >> KEYED_AT) & KEYED) if known == 1 else 0)
    return rules_hold(
        begin, where + int(lists[where - 1]), i, row, run, keys, lists, rules, numbers, reals, nulls, runs, held,
        constants, real_constants, cells,
    )


def is_new(child: Int64, run: Int64, edges: Int64s, lists: Int32s, cells: Int64s) -> Bool:
    """Whether a run has not reached the node of an edge with the event at hand by another edge."""
    head = edges[EDGE * child]
    if (head & AGAIN) == 0:
        return True
    where = (head >> LIST_AT) + 1
    at = CELL_COUNT + STAMP * int(lists[where + int(lists[where - 1])])
    if cells[at] == cells[SERIAL] and cells[at + 1] == run:
        return False
    cells[at] = cells[SERIAL]
    cells[at + 1] = run
    return True


def pass_edges(
    child: Int64, last: Int64, known: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s, quick:
    UInt32s, edges: Int64s, lists: Int32s, rules: Int64s, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, constants: Int64s, real_constants: Real64s, actions: Int64s, cells: Int64s,
) -> Int64:
    """Note the edges, of some side by side, that an event passes; how many actions there are then, or NOBODY: no room.

    known: 1 if the equalities of these edges are known to hold.
    """
    if done + last - child > cells[ACTION_ROOM]:
        return NOBODY
    cells[CANDIDATES] += last - child
    while child < last:
        if edge_holds(
            child, known, run, i, row, keys, quick, edges, lists, rules, numbers, reals, nulls, runs, held, constants,
            real_constants, cells,
        ) and is_new(child, run, edges, lists, cells):
            actions[3 * done] = run
            actions[3 * done + 1] = child
            done += 1
        child += 1
    return done


def pass_marked(
    base: Int64, word: Int64, count: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s, quick: UInt32s,
    edges: Int64s, lists: Int32s, rules: Int64s, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held:
    Real64s, constants: Int64s, real_constants: Real64s, actions: Int64s, cells: Int64s,
) -> Int64:
    """Likewise, of the edges that a word says, counted from its first one; there are so many."""
    if done + count > cells[ACTION_ROOM]:
        return NOBODY
    cells[CANDIDATES] += count
    while word != 0:
        child = base + lowest_bit(word)
        word = word & (word - 1)
        if edge_holds(
            child, 1, run, i, row, keys, quick, edges, lists, rules, numbers, reals, nulls, runs, held, constants,
            real_constants, cells,
        ) and is_new(child, run, edges, lists, cells):
            actions[3 * done] = run
            actions[3 * done + 1] = child
            done += 1
    return done


def pass_inside(
    begin: Int64, child: Int64, count: Int64, value: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s,
    quick: UInt32s, ranges: Int64s, edges: Int64s, lists: Int32s, rules: Int64s, numbers: Int64s, reals: Real64s, nulls:
    UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s, actions: Int64s, cells: Int64s,
) -> Int64:
    """Likewise, of edges sorted by their lower bounds; parts whose upper bounds are all too low are left out."""
    last = reached(ranges, begin, count, value)
    sides = begin + count
    tops = sides + ((count + SIDE - 1) >> SIDE_BITS)
    at = 0
    while at < last:
        side = at >> SIDE_BITS
        if side & (SIDE - 1) == 0 and ranges[tops + (side >> SIDE_BITS)] < value:
            at += SIDE * SIDE
            continue
        if ranges[sides + side] >= value:
            end = at + SIDE
            done = pass_edges(
                child + at, child + (end if end < last else last), 1, run, done, i, row, keys, quick, edges, lists,
                rules, numbers, reals, nulls, runs, held, constants, real_constants, actions, cells,
            )
            if done == NOBODY:
                return NOBODY
        at += SIDE
    return done


def pass_cells(
    block: Int64, begin: Int64, child: Int64, count: Int64, width: Int64, run: Int64, done: Int64, i: Int64, row: Int64,
    keys: Int64s, quick: UInt32s, ranges: Int64s, edges: Int64s, lists: Int32s, rules: Int64s, numbers: Int64s, reals:
    Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s, actions: Int64s,
    cells: Int64s,
) -> Int64:
    """Likewise, of edges that up to three columns have marks for."""
    words, tops = ranges[begin], ranges[begin + 1]
    a, b, c = 0, 0, 0
    at, bt, ct = 0, 0, 0
    j = 0
    while j < 3:
        where = begin + MARKS_AT + MARKS * (j if j < width else 0)
        value = keys[row + ranges[where]]
        if value == NULL:
            return done
        cell = reached(ranges, block + ranges[where + 2], ranges[where + 1] - 1, value)
        a, b, c = b, c, block + ranges[where + 3] + cell * words
        at, bt, ct = bt, ct, block + ranges[where + 4] + cell * tops
        j += 1
    top = 0
    while top < tops:
        some = ranges[at + top] & ranges[bt + top] & ranges[ct + top]
        while some != 0:
            k = WORD * top + lowest_bit(some)
            some = some & (some - 1)
            word = ranges[a + k] & ranges[b + k] & ranges[c + k]
            if word == 0:
                continue
            found = bits_of(word)
            base = child + WORD * k
            if found >= DENSE:
                left = count - WORD * k
                done = pass_edges(
                    base, base + (WORD if left > WORD else left), 1, run, done, i, row, keys, quick, edges, lists,
                    rules, numbers, reals, nulls, runs, held, constants, real_constants, actions, cells,
                )
            else:
                done = pass_marked(
                    base, word, found, run, done, i, row, keys, quick, edges, lists, rules, numbers, reals, nulls, runs,
                    held, constants, real_constants, actions, cells,
                )
            if done == NOBODY:
                return NOBODY
        top += 1
    return done


def pass_ranges(
    block: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s, quick: UInt32s, ranges: Int64s,
    edges: Int64s, lists: Int32s, rules: Int64s, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, constants: Int64s, real_constants: Real64s, actions: Int64s, cells: Int64s,
) -> Int64:
    """Likewise, of the edges of a bucket that has a block; their equalities are known to hold."""
    j = 0
    while j < ranges[block]:
        at = block + SEGMENTS_AT + SEGMENT * j
        j += 1
        kind, column = ranges[at] & KIND, ranges[at] >> KIND_BITS
        child, count, begin = ranges[at + 1], ranges[at + 2], block + ranges[at + 3]
        if kind == MARKED:
            done = pass_cells(
                block, begin, child, count, column, run, done, i, row, keys, quick, ranges, edges, lists, rules,
                numbers, reals, nulls, runs, held, constants, real_constants, actions, cells,
            )
        else:
            value = keys[row + column]
            if kind != 0 and value == NULL:
                continue
            if kind == INSIDE:
                done = pass_inside(
                    begin, child, count, value, run, done, i, row, keys, quick, ranges, edges, lists, rules, numbers,
                    reals, nulls, runs, held, constants, real_constants, actions, cells,
                )
            else:
                if kind == AT_LEAST:
                    count = reached(ranges, begin, count, value)
                elif kind == AT_MOST:
                    count = reached(ranges, begin, count, -value)
                done = pass_edges(
                    child, child + count, 1, run, done, i, row, keys, quick, edges, lists, rules, numbers, reals, nulls,
                    runs, held, constants, real_constants, actions, cells,
                )
        if done == NOBODY:
            return NOBODY
    return done
