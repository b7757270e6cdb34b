"""The runs of many queries in the lists that they wait in: moved, counted, taken up and let go. Compiled likewise."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int32s, Int64, Int64s, Real64s, UInt8s
from cepheid.kernel.shared import (
    ALIVE,
    BELOW,
    CHILDREN,
    DYNAMIC,
    EVERYTHING,
    EXPIRES,
    FLAGS,
    FREE,
    FRESH,
    HASH,
    HELD,
    KIND_OF,
    LASTS,
    LISTEN_AT,
    LISTENERS,
    LISTENS,
    LOW,
    MIX,
    NEXT_AT,
    NOBODY,
    NODE,
    NODE_KIND,
    NULL,
    POSITIVE,
    SIMULTANEOUS,
    START,
    USED,
    WAITS,
)

# fmt: off


def find_listener(column: Int64, value: Int64, mask: Int64, listeners: Int64s) -> Int64:
    """The place of a key among the listeners, or the free one where it belongs."""
    mixed = ((column * MIX) ^ (value & HASH)) & HASH
    mixed = ((mixed ^ (mixed >> 31)) * MIX) & HASH
    place = (mixed ^ (mixed >> 29)) & mask
    while listeners[3 * place] != NOBODY and (listeners[3 * place] != column or listeners[3 * place + 1] != value):
        place = (place + 1) & mask
    return place


def expiry(start: Int64, lasts: Int64) -> Int64:
    """The time from which on a run is over; without a window, never."""
    if lasts <= 0 or (start > 0 and lasts > POSITIVE - start):
        return POSITIVE
    return start + lasts


def rehash_listeners(size: Int64, old: Int64s, mask: Int64, listeners: Int64s, stride: Int64, runs: Int64s) -> Int64:
    """Move lists that are not empty to another table; how many there are. The first place stays what it is."""
    listeners[0] = old[0]
    listeners[1] = old[1]
    listeners[2] = old[2]
    known = 0
    k = 1
    while k < size:
        if old[3 * k] != NOBODY and old[3 * k + 2] != NOBODY:
            place = find_listener(old[3 * k], old[3 * k + 1], mask, listeners)
            listeners[3 * place] = old[3 * k]
            listeners[3 * place + 1] = old[3 * k + 1]
            listeners[3 * place + 2] = old[3 * k + 2]
            known += 1
        k += 1
    return known


def oldest_event(size: Int64, listeners: Int64s, stride: Int64, runs: Int64s, fresh: Int64s, cells: Int64s) -> Int64:
    """The first event that a run has, or -1."""
    oldest = NOBODY
    k = 0
    while k < size:
        if listeners[3 * k] != NOBODY:
            run = listeners[3 * k + 2]
            while run != NOBODY:
                event = runs[run * stride + HELD]
                oldest = event if oldest == NOBODY or event < oldest else oldest
                run = runs[run * stride] >> NEXT_AT
        k += 1
    k = 0
    while k < cells[FRESH]:
        event = runs[fresh[3 * k] * stride + HELD]
        oldest = event if oldest == NOBODY or event < oldest else oldest
        k += 1
    return oldest


def list_runs(
    size: Int64, listeners: Int64s, stride: Int64, runs: Int64s, fresh: Int64s, found: Int64s, cells: Int64s,
) -> Int64:
    """The numbers of all runs; how many there are."""
    count = 0
    k = 0
    while k < size:
        if listeners[3 * k] != NOBODY:
            run = listeners[3 * k + 2]
            while run != NOBODY:
                found[count] = run
                count += 1
                run = runs[run * stride] >> NEXT_AT
        k += 1
    k = 0
    while k < cells[FRESH]:
        found[count] = fresh[3 * k]
        count += 1
        k += 1
    return count


def install_runs(
    count: Int64, listened: Int64s, mask: Int64, listeners: Int64s, stride: Int64, runs: Int64s, nodes: Int64s,
    kinds: Int64s,
) -> Int64:
    """Put runs, whose words have their nodes, into the lists that they listen to; how many lists are new.

    listened: the value that each listens to.
    """
    known = 0
    k = 0
    while k < count:
        node = runs[k * stride]
        kind = NODE_KIND * nodes[NODE * node + KIND_OF]
        flags = kinds[kind + FLAGS]
        runs[k * stride + EXPIRES] = expiry(runs[k * stride + START], kinds[kind + LASTS])
        runs[k * stride + BELOW] = nodes[NODE * node + CHILDREN]
        runs[k * stride + WAITS] = flags
        place = 0
        if (flags & EVERYTHING) == 0:
            place = find_listener((flags >> LISTEN_AT) & 65535, listened[k], mask, listeners)
            if listeners[3 * place] == NOBODY:
                listeners[3 * place] = (flags >> LISTEN_AT) & 65535
                listeners[3 * place + 1] = listened[k]
                listeners[3 * place + 2] = NOBODY
                known += 1
        runs[k * stride] = node | (listeners[3 * place + 2] << NEXT_AT)
        listeners[3 * place + 2] = k
        k += 1
    return known


def sweep_runs(size: Int64, now: Int64, listeners: Int64s, stride: Int64, runs: Int64s, cells: Int64s) -> Int64:
    """Free the runs that are over by a time, in all lists; how many are left."""
    free, alive = cells[FREE], 0
    simultaneous = cells[SIMULTANEOUS] != 0
    k = 0
    while k < size:
        if listeners[3 * k] != NOBODY:
            run = listeners[3 * k + 2]
            kept = NOBODY
            while run != NOBODY:
                at = run * stride
                after = runs[at] >> NEXT_AT
                over = now >= runs[at + EXPIRES]
                if simultaneous:
                    over = over or (runs[at + stride - 1] != NULL and runs[at + stride - 1] < now)
                if over:
                    runs[at] = free
                    free = run
                else:
                    runs[at] = (runs[at] & LOW) | (kept << NEXT_AT)
                    kept = run
                    alive += 1
                run = after
            listeners[3 * k + 2] = kept
        k += 1
    cells[FREE] = free
    cells[ALIVE] = alive + cells[FRESH]
    return alive


def link_fresh(listeners: Int64s, stride: Int64, runs: Int64s, fresh: Int64s, cells: Int64s) -> Int64:
    """Put the runs of an instant that is over into their lists; how many there are."""
    k = 0
    while k < cells[FRESH]:
        run = fresh[3 * k]
        place = fresh[3 * k + 1]
        runs[run * stride] = (runs[run * stride] & LOW) | (listeners[3 * place + 2] << NEXT_AT)
        listeners[3 * place + 2] = run
        k += 1
    cells[FRESH] = 0
    return k


def move_runs(
    size: Int64, listeners: Int64s, stride: Int64, reals: Int64, runs: Int64s, held: Real64s, goes: Int32s,
    several: Int64s, nodes: Int64s, kinds: Int64s, mask: Int64, moved: Int64s, twins: UInt8s, found: Int64s,
    cells: Int64s,
) -> Int64:
    """Take all runs to other nodes, and into the lists that they have there.

    goes: the new node of each old one; 0: none, and the run is let go of; less: where `several` has their number and
    them. There is room for copies. `found` gets the runs at nodes that are `twins`, which may be there twice; how many
    these are.
    """
    free, used, alive, known, count = cells[FREE], cells[USED], 0, 0, 0
    k = 0
    while k < size:
        if listeners[3 * k] != NOBODY:
            run = listeners[3 * k + 2]
            while run != NOBODY:
                at = run * stride
                node = runs[at] & LOW
                after = runs[at] >> NEXT_AT
                goal = int(goes[node])
                left = 1
                if goal == 0:
                    left = 0
                    runs[at] = free
                    free = run
                elif goal < 0:
                    left = several[0 - goal]
                while left > 0:
                    own = run
                    if left > 1:  # the last one is the run itself
                        own = free
                        if own == NOBODY:
                            own = used
                            used += 1
                        else:
                            free = runs[own * stride]
                        j = 1
                        while j < stride:
                            runs[own * stride + j] = runs[at + j]
                            j += 1
                        j = 0
                        while j < reals:
                            held[own * reals + j] = held[run * reals + j]
                            j += 1
                    new = goal
                    if goal < 0:
                        new = several[left - goal]
                    kind = NODE_KIND * nodes[NODE * new + KIND_OF]
                    flags = kinds[kind + FLAGS]
                    here = own * stride
                    if runs[here + EXPIRES] != NULL:  # which is over, and waits to be let go of
                        runs[here + EXPIRES] = expiry(runs[here + START], kinds[kind + LASTS])
                    runs[here + BELOW] = nodes[NODE * new + CHILDREN]
                    runs[here + WAITS] = flags
                    place = 0
                    if (flags & EVERYTHING) == 0:
                        column = (flags >> LISTEN_AT) & 65535
                        value = nodes[NODE * new + LISTENS]
                        if (flags & DYNAMIC) != 0:
                            value = listeners[3 * k + 1]
                        place = find_listener(column, value, mask, moved)
                        if moved[3 * place] == NOBODY:
                            moved[3 * place] = column
                            moved[3 * place + 1] = value
                            moved[3 * place + 2] = NOBODY
                            known += 1
                    runs[here] = new | (moved[3 * place + 2] << NEXT_AT)
                    moved[3 * place + 2] = own
                    alive += 1
                    if twins[new] != 0:
                        found[count] = own
                        count += 1
                    left -= 1
                run = after
        k += 1
    cells[FREE] = free
    cells[USED] = used
    cells[ALIVE] = alive
    cells[LISTENERS] = known
    return count
