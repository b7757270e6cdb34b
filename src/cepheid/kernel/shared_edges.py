"""Which edges an event passes: of some side by side, or of a bucket by its bounds (`shared_ranges`). Compiled likewise.

They are noted as actions, a run and an edge each, which the loop does when all are known.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int32s, Int64, Int64s
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
    EventRows,
    RuleTables,
    SharedRuns,
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


def edge_holds(
    child: Int64,
    known: Int64,
    run: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Bool:
    """Whether an event passes an edge; known: 1 if its equalities are known to hold."""
    head = tables.edges[EDGE * child]
    lows = tables.edges[EDGE * child + 1]
    highs = tables.edges[EDGE * child + 2]
    a = int(events.quick[row + (head & COLUMN)])
    b = int(events.quick[row + ((head >> COLUMN_BITS) & COLUMN)])
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
    return rules_hold(begin, where + int(tables.lists[where - 1]), i, row, run, events, tables, state)


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
    child: Int64,
    last: Int64,
    known: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Note the edges, of some side by side, that an event passes; how many actions there are then, or NOBODY: no room.

    known: 1 if the equalities of these edges are known to hold.
    """
    if done + last - child > state.cells[ACTION_ROOM]:
        return NOBODY
    state.cells[CANDIDATES] += last - child
    while child < last:
        if edge_holds(child, known, run, i, row, events, tables, state) and is_new(
            child, run, tables.edges, tables.lists, state.cells
        ):
            state.actions[3 * done] = run
            state.actions[3 * done + 1] = child
            done += 1
        child += 1
    return done


def pass_marked(
    base: Int64,
    word: Int64,
    count: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Note those edges of a word that an event passes: bit k is the edge `base + k`, and `count` bits are set."""
    if done + count > state.cells[ACTION_ROOM]:
        return NOBODY
    state.cells[CANDIDATES] += count
    while word != 0:
        child = base + lowest_bit(word)
        word = word & (word - 1)
        if edge_holds(child, 1, run, i, row, events, tables, state) and is_new(
            child, run, tables.edges, tables.lists, state.cells
        ):
            state.actions[3 * done] = run
            state.actions[3 * done + 1] = child
            done += 1
    return done


def pass_inside(
    begin: Int64,
    child: Int64,
    count: Int64,
    value: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Likewise, of edges sorted by their lower bounds; parts whose upper bounds are all too low are left out."""
    last = reached(tables.ranges, begin, count, value)
    sides = begin + count
    tops = sides + ((count + SIDE - 1) >> SIDE_BITS)
    at = 0
    while at < last:
        side = at >> SIDE_BITS
        if side & (SIDE - 1) == 0 and tables.ranges[tops + (side >> SIDE_BITS)] < value:
            at += SIDE * SIDE
            continue
        if tables.ranges[sides + side] >= value:
            end = at + SIDE
            done = pass_edges(
                child + at, child + (end if end < last else last), 1, run, done, i, row, events, tables, state
            )
            if done == NOBODY:
                return NOBODY
        at += SIDE
    return done


def pass_cells(
    block: Int64,
    begin: Int64,
    child: Int64,
    count: Int64,
    width: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Likewise, of edges that up to three columns have marks for."""
    words, tops = tables.ranges[begin], tables.ranges[begin + 1]
    a, b, c = 0, 0, 0
    at, bt, ct = 0, 0, 0
    j = 0
    while j < 3:
        where = begin + MARKS_AT + MARKS * (j if j < width else 0)
        value = events.keys[row + tables.ranges[where]]
        if value == NULL:
            return done
        cell = reached(tables.ranges, block + tables.ranges[where + 2], tables.ranges[where + 1] - 1, value)
        a, b, c = b, c, block + tables.ranges[where + 3] + cell * words
        at, bt, ct = bt, ct, block + tables.ranges[where + 4] + cell * tops
        j += 1
    top = 0
    while top < tops:
        some = tables.ranges[at + top] & tables.ranges[bt + top] & tables.ranges[ct + top]
        while some != 0:
            k = WORD * top + lowest_bit(some)
            some = some & (some - 1)
            word = tables.ranges[a + k] & tables.ranges[b + k] & tables.ranges[c + k]
            if word == 0:
                continue
            marked = bits_of(word)
            base = child + WORD * k
            if marked >= DENSE:
                left = count - WORD * k
                done = pass_edges(
                    base, base + (WORD if left > WORD else left), 1, run, done, i, row, events, tables, state
                )
            else:
                done = pass_marked(base, word, marked, run, done, i, row, events, tables, state)
            if done == NOBODY:
                return NOBODY
        top += 1
    return done


def pass_ranges(
    block: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Likewise, of the edges of a bucket that has a block; their equalities are known to hold."""
    j = 0
    while j < tables.ranges[block]:
        at = block + SEGMENTS_AT + SEGMENT * j
        j += 1
        kind, column = tables.ranges[at] & KIND, tables.ranges[at] >> KIND_BITS
        child, count, begin = tables.ranges[at + 1], tables.ranges[at + 2], block + tables.ranges[at + 3]
        if kind == MARKED:
            done = pass_cells(block, begin, child, count, column, run, done, i, row, events, tables, state)
        else:
            value = events.keys[row + column]
            if kind != 0 and value == NULL:
                continue
            if kind == INSIDE:
                done = pass_inside(begin, child, count, value, run, done, i, row, events, tables, state)
            else:
                if kind == AT_LEAST:
                    count = reached(tables.ranges, begin, count, value)
                elif kind == AT_MOST:
                    count = reached(tables.ranges, begin, count, -value)
                done = pass_edges(child, child + count, 1, run, done, i, row, events, tables, state)
        if done == NOBODY:
            return NOBODY
    return done
