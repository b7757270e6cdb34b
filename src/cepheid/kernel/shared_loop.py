"""Many queries in one loop: an event is looked up in tables, so that it meets only what it concerns.

An event is gone over in two passes. The first one finds what happens and changes nothing that could not be undone, so
that it can stop if there is no room; the second one does it.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int32s, Int64, Int64s, Real64s, UInt8s, UInt32s
from cepheid.kernel.shared import (
    ACTION_ROOM,
    ALIAS,
    ALIVE,
    BELOW,
    CHILDREN,
    COLUMNS,
    DEPTH,
    DYNAMIC,
    ENDING,
    ENDS_ALWAYS,
    ENDS_NEVER,
    EVERYTHING,
    EXPIRES,
    FLAGS,
    FREE,
    FRESH,
    FULL,
    HELD,
    KIND_OF,
    LASTS,
    LEAF,
    LEVEL,
    LEVEL_AFTER,
    LEVEL_AT,
    LEVELS,
    LISTEN_AT,
    LISTENER_MASK,
    LISTENERS,
    LISTENS,
    LOOKS,
    LOW,
    MADE,
    MATCH_ROOM,
    MATCHES,
    NEXT_AT,
    NOBODY,
    NODE,
    NODE_KIND,
    NULL,
    NULLS,
    ROOM,
    ROOT_SETS,
    SERIAL,
    SETS,
    SIMULTANEOUS,
    START,
    STOPPED,
    STRIDE,
    TOUCHED,
    TRANSFER_AT,
    USED,
    WAITS,
    WIDTH,
)
from cepheid.kernel.shared_conditions import rules_hold, shared_transfer
from cepheid.kernel.shared_edges import pass_edges
from cepheid.kernel.shared_lists import expiry, find_listener
from cepheid.kernel.shared_lookup import probe

# Lists of arrays side by side: one line for each would hide the code.
# fmt: off


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
