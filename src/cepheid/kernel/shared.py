"""Many queries in one loop: an event is looked up in tables, so that it meets only what it concerns.

A *node* is a step that queries have in common, and the edge that leads to it has the same number; 0 is where all begin.
A *run* waits at a node. The rows of the tables are numbers side by side; see `engine/many` for how they are made.

    edges   3: the columns of two quick bounds and where the list of conditions is; both lows; both highs (32 bits)
    nodes   3: children, what runs listen for, and the kind, of which many nodes are
    kinds   4: flags, the window, the list of conditions that end a wait, the sets of the children
    lists   how many conditions, their numbers, and of an edge that is one of several the stamp of its node
    rules   3: a condition: a column and its bounds; or no column, a test and where its constants are
    runs    stride: node and next run, start, NULLs, what is often asked of the node, positions of events, held numbers

An event is gone over in two passes. The first one finds what happens and changes nothing that could not be undone, so
that it can stop if there is no room; the second one does it.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int32s, Int64, Int64s, Real64s, UInt8s, UInt32s
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
    RANGED,
    SEGMENT,
    SEGMENTS_AT,
    SIDE,
    SIDE_BITS,
    WORD,
    bits_of,
    lowest_bit,
    reached,
)

LOW = (1 << 32) - 1
HASH = (1 << 62) - 1
MIX = 0x1E3779B97F4A7C15
SPREAD = 0x2545F4914F6CDD1D
STIR = 0x1B873593CC9E2D51
NOBODY = -1
NULL = -(1 << 63)
"""What stands for NULL in a column: below every bound."""
POSITIVE = (1 << 63) - 1
NAN_KEY = POSITIVE - 1
HALF = 1 << 31

# Cells.
FREE, USED, ROOM, MATCHES, MATCH_ROOM, TOUCHED, CANDIDATES, MADE, ALIVE, LISTENERS, FRESH, STOPPED = range(12)
ACTION_ROOM, LISTENER_MASK, LEVELS, WIDTH, STRIDE, REALS, SIMULTANEOUS, COLUMNS, FULL, SLOTS_AT = range(12, 22)
SERIAL, CELL_COUNT = 22, 24
STAMP = 2
"""After the cells, of each node that can be reached in several ways: when it was last, as SERIAL says, by which run."""
# Of an edge.
EDGE, COLUMN_BITS = 3, 12
COLUMN = (1 << COLUMN_BITS) - 1
MORE, ROUGH = 1 << 24, 1 << 25
"""Besides the quick bounds it has other conditions; these are rough at their ends."""
AGAIN = 1 << 26
"""Other edges lead to the same node, which has a stamp."""
KEYED_AT, KEYED, LIST_AT = 27, 31, 32
"""How many conditions, which are the first ones of its list, are known to hold when it is found; where the list is."""
# Of a node.
NODE = 3
CHILDREN, LISTENS, KIND_OF = 0, 1, 2
# Of a kind of nodes.
NODE_KIND = 4
FLAGS, LASTS, ENDING, SETS = 0, 1, 2, 3
DEPTH, ENDS_ALWAYS, ENDS_NEVER, DYNAMIC, LEAF, EVERYTHING, LOOKS, ALIAS = (
    255, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14,
)  # fmt: skip
"""ALIAS: it is an edge alone, to the node that stands where others have their children."""
LISTEN_AT, TRANSFER_AT, LEVEL_AT = 16, 32, 48
MOST_LEVELS = 1 << 15
# Of a level.
LEVEL = 5
HASH_AT, HASH_MASK, SETS_AT, ROOT_SETS, LEVEL_AFTER = 0, 1, 2, 3, 4
SET = 8
SLOT = 4
"""Of the hash table: a node and a set of columns, two values, and the edges: the first one, and how many.

Of more than two columns the second value is a mixture, and what is found is compared."""
# Of a run.
NEXT_AT = 32
START, NULLS, EXPIRES, BELOW, WAITS, HELD = 1, 2, 3, 4, 5, 6


# Lists of arrays side by side: one line for each would hide the code.
# fmt: off
def hash_of(owner: Int64, first: Int64, second: Int64) -> Int64:
    """What the children of a node are looked up by, for a set of columns: their values."""
    found = (owner * MIX + first * SPREAD + second * STIR) & HASH
    return (((found ^ (found >> 31)) * MIX) & HASH) >> 18


def shared_test(
    test: Int64, i: Int64, run: Int64, at: Int64, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, constants: Int64s, real_constants: Real64s, cells: Int64s,
) -> Bool:
    """A condition that is more than bounds; where there are some, a generated function takes the place of this one."""
    return test == 0


def shared_transfer(
    transfer: Int64, i: Int64, run: Int64, row: Int64, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, into: Int64s, real_into: Real64s, cells: Int64s,
) -> Int64:
    """What a run holds of an event; likewise."""
    return transfer


def rules_hold(
    begin: Int64, end: Int64, i: Int64, row: Int64, run: Int64, keys: Int64s, lists: Int32s, rules: Int64s, numbers:
    Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s,
    cells: Int64s,
) -> Bool:
    """Whether all conditions of a part of a list hold."""
    k = begin
    while k < end:
        rule = 3 * int(lists[k])
        column = rules[rule]
        if column >= 0:
            value = keys[row + column]
            if value < rules[rule + 1] or value > rules[rule + 2]:
                return False
        elif not shared_test(
            rules[rule + 1], i, run, rules[rule + 2], numbers, reals, nulls, runs, held, constants, real_constants,
            cells,
        ):
            return False
        k += 1
    return True


def find_listener(column: Int64, value: Int64, mask: Int64, listeners: Int64s) -> Int64:
    """The place of a key among the listeners, or the free one where it belongs."""
    found = ((column * MIX) ^ (value & HASH)) & HASH
    found = ((found ^ (found >> 31)) * MIX) & HASH
    place = (found ^ (found >> 29)) & mask
    while listeners[3 * place] != NOBODY and (listeners[3 * place] != column or listeners[3 * place + 1] != value):
        place = (place + 1) & mask
    return place


def expiry(start: Int64, lasts: Int64) -> Int64:
    """The time from which on a run is over; without a window, never."""
    if lasts <= 0 or (start > 0 and lasts > POSITIVE - start):
        return POSITIVE
    return start + lasts


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


def probe(
    node: Int64, level: Int64, bits: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s, quick: UInt32s,
    levels: Int64s, sets: Int32s, hashes: Int64s, ranges: Int64s, edges: Int64s, lists: Int32s, rules: Int64s, numbers:
    Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s,
    actions: Int64s, cells: Int64s,
) -> Int64:
    """Likewise, of the edges of a node that are found by the values of an event."""
    mask = levels[LEVEL * level + HASH_MASK]
    base = levels[LEVEL * level + HASH_AT]
    number = 0
    while bits >> number != 0:
        if (bits >> number) & 1 == 1:
            at = levels[LEVEL * level + SETS_AT] + SET * number
            owner = node | (number << 32)
            first, second = 0, 0
            if sets[at] > 0:
                first = keys[row + int(sets[at + 1])]
            if sets[at] > 1:
                second = keys[row + int(sets[at + 2])]
                j = 3
                while j <= sets[at]:
                    second = (second * SPREAD + keys[row + int(sets[at + j])]) & HASH
                    j += 1
            slot = hash_of(owner, first, second) & mask
            while hashes[SLOT * (base + slot)] != NOBODY:
                here = SLOT * (base + slot)
                if hashes[here] == owner and hashes[here + 1] == first and hashes[here + 2] == second:
                    bucket = hashes[here + 3]
                    ranged = bucket >= RANGED
                    child = ranges[bucket - RANGED + SEGMENTS_AT + 1] if ranged else bucket & LOW
                    same = True
                    if sets[at] > 2:
                        head = edges[EDGE * child]
                        where = (head >> LIST_AT) + 1
                        same = rules_hold(
                            where, where + ((head >> KEYED_AT) & KEYED), i, row, run, keys, lists, rules, numbers,
                            reals, nulls, runs, held, constants, real_constants, cells,
                        )
                    if same:
                        if ranged:
                            done = pass_ranges(
                                bucket - RANGED, run, done, i, row, keys, quick, ranges, edges, lists, rules, numbers,
                                reals, nulls, runs, held, constants, real_constants, actions, cells,
                            )
                        else:
                            done = pass_edges(
                                child, child + (bucket >> 32), 1, run, done, i, row, keys, quick, edges, lists, rules,
                                numbers, reals, nulls, runs, held, constants, real_constants, actions, cells,
                            )
                        if done == NOBODY:
                            return NOBODY
                        break
                slot = (slot + 1) & mask
        number += 1
    return done


def run_shared(
    begin: Int64, end: Int64, first: Int64, times: Int64s, keys: Int64s, quick: UInt32s, numbers: Int64s, reals:
    Real64s, nulls: UInt8s, levels: Int64s, sets: Int32s, hashes: Int64s, ranges: Int64s, edges: Int64s, nodes: Int64s,
    kinds: Int64s, lists: Int32s, rules: Int64s, constants: Int64s, real_constants: Real64s, columns: Int64s, listeners:
    Int64s, runs: Int64s, held: Real64s, actions: Int64s, fresh: Int64s, matches: Int64s, real_matches: Real64s, cells:
    Int64s,
) -> Int64:
    """Go over events; where it stops for want of room, the cell STOPPED says of what, and the event is returned."""
    free, used, room = cells[FREE], cells[USED], cells[ROOM]
    found, match_room = cells[MATCHES], cells[MATCH_ROOM]
    touched, made, alive = cells[TOUCHED], cells[MADE], cells[ALIVE]
    waiting, mask = cells[FRESH], cells[LISTENER_MASK]
    width, stride = cells[WIDTH], cells[STRIDE]
    simultaneous = cells[SIMULTANEOUS] != 0
    listening, known = cells[COLUMNS], cells[LISTENERS]
    first_level = cells[LEVELS]
    cells[STOPPED] = 0
    i = begin
    while i < end:
        now = times[i]
        row = i * width
        if waiting > 0 and fresh[2] != now:  # the instant before is over
            k = 0
            while k < waiting:
                run = fresh[3 * k]
                place = fresh[3 * k + 1]
                runs[run * stride] = (runs[run * stride] & LOW) | (listeners[3 * place + 2] << NEXT_AT)
                listeners[3 * place + 2] = run
                k += 1
            waiting = 0
        done = 0
        full = False
        cells[SERIAL] += 1
        # Runs that wait for it: those that listen to everything, then those that listen to a value.
        j = 0
        while j <= listening and not full:
            place = 0
            if j > 0:
                place = find_listener(columns[j - 1], keys[row + columns[j - 1]], mask, listeners)
            j += 1
            if listeners[3 * place] == NOBODY:
                continue
            run = listeners[3 * place + 2]
            before = NOBODY
            while run != NOBODY:
                at = run * stride
                word = runs[at]
                after = word >> NEXT_AT
                number = word & LOW
                flags = runs[at + WAITS]
                touched += 1
                over = now >= runs[at + EXPIRES]
                if simultaneous:
                    ended = runs[at + stride - 1]
                    over = over or (ended != NULL and ended != now)
                if over:  # nothing can need it any more
                    if before == NOBODY:
                        listeners[3 * place + 2] = after
                    else:
                        runs[before * stride] = (runs[before * stride] & LOW) | (after << NEXT_AT)
                    runs[at] = free
                    free = run
                    alive -= 1
                    run = after
                    continue
                passed = 0
                kind = NODE_KIND * nodes[NODE * number + KIND_OF] if (flags & LOOKS) != 0 else 0
                bits = kinds[kind + SETS]
                if bits == 0:
                    children = runs[at + BELOW]
                    passed = pass_edges(
                        children & LOW, (children & LOW) + (children >> 32), 0, run, done, i, row, keys, quick, edges,
                        lists, rules, numbers, reals, nulls, runs, held, constants, real_constants, actions, cells,
                    )
                else:
                    passed = probe(
                        number, flags >> LEVEL_AT, bits, run, done, i, row, keys, quick, levels, sets, hashes, ranges,
                        edges, lists, rules, numbers, reals, nulls, runs, held, constants, real_constants, actions,
                        cells,
                    )
                if passed == NOBODY or passed >= cells[ACTION_ROOM]:
                    full = True
                    break
                over = (flags & ENDS_ALWAYS) != 0 or ((flags & ENDS_NEVER) == 0 and passed > done)
                done = passed
                ending = kinds[kind + ENDING]
                if ending != 0:
                    over = rules_hold(
                        ending + 1, ending + 1 + int(lists[ending]), i, row, run, keys, lists, rules, numbers, reals,
                        nulls, runs, held, constants, real_constants, cells,
                    )
                if over and simultaneous:
                    runs[at + stride - 1] = now
                    before = run
                elif over:
                    if before == NOBODY:
                        listeners[3 * place + 2] = after
                    else:
                        runs[before * stride] = (runs[before * stride] & LOW) | (after << NEXT_AT)
                    actions[3 * done] = run
                    actions[3 * done + 1] = NOBODY
                    actions[3 * done + 2] = place
                    done += 1
                else:
                    before = run
                run = after
        # Runs that begin with it.
        level = first_level
        while level != NOBODY and not full:
            passed = probe(
                0, level, levels[LEVEL * level + ROOT_SETS], NOBODY, done, i, row, keys, quick, levels, sets, hashes,
                ranges, edges, lists, rules, numbers, reals, nulls, runs, held, constants, real_constants, actions,
                cells,
            )
            full = passed == NOBODY
            done = done if full else passed
            level = levels[LEVEL * level + LEVEL_AFTER]
        if full or used + done > room or found + done > match_room or 2 * (known + done) > mask:
            # What was taken out of its list goes back: the event is gone over again when there is room.
            k = 0
            while k < done:
                if actions[3 * k + 1] == NOBODY:
                    run = actions[3 * k]
                    place = actions[3 * k + 2]
                    runs[run * stride] = (runs[run * stride] & LOW) | (listeners[3 * place + 2] << NEXT_AT)
                    listeners[3 * place + 2] = run
                k += 1
            cells[STOPPED] = 1 + done
            cells[FULL] = int(full)
            break
        # What it does.
        k = 0
        while k < done:
            run = actions[3 * k]
            child = actions[3 * k + 1]
            k += 1
            if child == NOBODY:
                runs[run * stride] = free
                free = run
                alive -= 1
                continue
            kind = NODE_KIND * nodes[NODE * child + KIND_OF]
            if (kinds[kind + FLAGS] & ALIAS) != 0:
                child = nodes[NODE * child + CHILDREN]
                kind = NODE_KIND * nodes[NODE * child + KIND_OF]
            flags = kinds[kind + FLAGS]
            depth = flags & DEPTH
            transfer = (flags >> TRANSFER_AT) & 65535
            old = run * stride
            if (flags & LEAF) != 0:
                at = found * stride
                matches[at] = child
                matches[at + START] = now if run == NOBODY else runs[old + START]
                matches[at + NULLS] = 0 if run == NOBODY else runs[old + NULLS]
                p = HELD
                while p < HELD + depth:
                    matches[at + p] = runs[old + p]
                    p += 1
                matches[at + HELD + depth] = first + i
                if transfer > 0:
                    shared_transfer(
                        transfer, i, run, found, numbers, reals, nulls, runs, held, matches, real_matches, cells
                    )
                found += 1
                continue
            new = free
            if new == NOBODY:
                new = used
                used += 1
            else:
                free = runs[new * stride]
            at = new * stride
            runs[at + START] = now if run == NOBODY else runs[old + START]
            runs[at + NULLS] = 0 if run == NOBODY else runs[old + NULLS]
            runs[at + EXPIRES] = expiry(runs[at + START], kinds[kind + LASTS])
            runs[at + BELOW] = nodes[NODE * child + CHILDREN]
            runs[at + WAITS] = flags
            p = HELD
            while p < HELD + depth:
                runs[at + p] = runs[old + p]
                p += 1
            runs[at + HELD + depth] = first + i
            if transfer > 0:
                shared_transfer(transfer, i, run, new, numbers, reals, nulls, runs, held, runs, held, cells)
            place = 0
            if (flags & EVERYTHING) == 0:
                column = (flags >> LISTEN_AT) & 65535
                value = keys[row + column] if (flags & DYNAMIC) != 0 else nodes[NODE * child + LISTENS]
                place = find_listener(column, value, mask, listeners)
                if listeners[3 * place] == NOBODY:
                    listeners[3 * place] = column
                    listeners[3 * place + 1] = value
                    listeners[3 * place + 2] = NOBODY
                    known += 1
            if simultaneous:
                runs[at + stride - 1] = NULL
                runs[at] = child
                fresh[3 * waiting] = new
                fresh[3 * waiting + 1] = place
                fresh[3 * waiting + 2] = now
                waiting += 1
            else:
                runs[at] = child | (listeners[3 * place + 2] << NEXT_AT)
                listeners[3 * place + 2] = new
            alive += 1
            made += 1
        i += 1
    cells[FREE] = free
    cells[USED] = used
    cells[MATCHES] = found
    cells[TOUCHED] = touched
    cells[MADE] = made
    cells[ALIVE] = alive
    cells[FRESH] = waiting
    cells[LISTENERS] = known
    return i


def fill_hashes(
    count: Int64, owners: Int64s, firsts: Int64s, seconds: Int64s, buckets: Int64s, mask: Int64, hashes: Int64s,
) -> Int64:
    """Put buckets of edges where they are looked for."""
    k = 0
    while k < count:
        slot = hash_of(owners[k], firsts[k], seconds[k]) & mask
        while hashes[SLOT * slot] != NOBODY:
            slot = (slot + 1) & mask
        hashes[SLOT * slot] = owners[k]
        hashes[SLOT * slot + 1] = firsts[k]
        hashes[SLOT * slot + 2] = seconds[k]
        hashes[SLOT * slot + 3] = buckets[k]
        k += 1
    return count
