"""The runs of many queries in the lists that they wait in: moved, counted, taken up and let go. Compiled likewise."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s
from cepheid.kernel.shared import (
    ALIVE,
    BELOW,
    CHILDREN,
    EVERYTHING,
    EXPIRES,
    FLAGS,
    FREE,
    FRESH,
    HELD,
    LASTS,
    LISTEN_AT,
    LOW,
    NEXT_AT,
    NOBODY,
    NODE,
    NULL,
    SIMULTANEOUS,
    START,
    WAITS,
    expiry,
    find_listener,
)

# fmt: off


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
) -> Int64:
    """Put runs, whose words have their nodes, into the lists that they listen to; how many lists are new.

    listened: the value that each listens to.
    """
    known = 0
    k = 0
    while k < count:
        node = runs[k * stride]
        flags = nodes[NODE * node + FLAGS]
        runs[k * stride + EXPIRES] = expiry(runs[k * stride + START], nodes[NODE * node + LASTS])
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
