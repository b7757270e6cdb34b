"""Many queries in one loop: an event is looked up in tables, so that it meets only what it concerns.

An event is gone over in two passes. The first one finds what happens and changes nothing that could not be undone, so
that it can stop if there is no room; the second one does it.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s
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
    EventRows,
    RuleTables,
    SharedRuns,
)
from cepheid.kernel.shared_conditions import rules_hold, shared_transfer
from cepheid.kernel.shared_edges import pass_edges
from cepheid.kernel.shared_lists import expiry, find_listener
from cepheid.kernel.shared_lookup import probe


def run_shared(
    begin: Int64,
    end: Int64,
    first: Int64,
    times: Int64s,
    columns: Int64s,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Go over events; where it stops for want of room, the cell STOPPED says of what, and the event is returned."""
    free, used, room = state.cells[FREE], state.cells[USED], state.cells[ROOM]
    found, match_room = state.cells[MATCHES], state.cells[MATCH_ROOM]
    touched, made, alive = state.cells[TOUCHED], state.cells[MADE], state.cells[ALIVE]
    waiting, mask = state.cells[FRESH], state.cells[LISTENER_MASK]
    width, stride = state.cells[WIDTH], state.cells[STRIDE]
    simultaneous = state.cells[SIMULTANEOUS] != 0
    listening, known = state.cells[COLUMNS], state.cells[LISTENERS]
    first_level = state.cells[LEVELS]
    state.cells[STOPPED] = 0
    i = begin
    while i < end:
        now = times[i]
        row = i * width
        if waiting > 0 and state.fresh[2] != now:  # the instant before is over
            k = 0
            while k < waiting:
                run = state.fresh[3 * k]
                place = state.fresh[3 * k + 1]
                state.runs[run * stride] = (state.runs[run * stride] & LOW) | (
                    state.listeners[3 * place + 2] << NEXT_AT
                )
                state.listeners[3 * place + 2] = run
                k += 1
            waiting = 0
        done = 0
        full = False
        state.cells[SERIAL] += 1
        # Runs that wait for it: those that listen to everything, then those that listen to a value.
        j = 0
        while j <= listening and not full:
            place = 0
            if j > 0:
                place = find_listener(columns[j - 1], events.keys[row + columns[j - 1]], mask, state.listeners)
            j += 1
            if state.listeners[3 * place] == NOBODY:
                continue
            run = state.listeners[3 * place + 2]
            before = NOBODY
            while run != NOBODY:
                at = run * stride
                word = state.runs[at]
                after = word >> NEXT_AT
                number = word & LOW
                flags = state.runs[at + WAITS]
                touched += 1
                over = now >= state.runs[at + EXPIRES]
                if simultaneous:
                    ended = state.runs[at + stride - 1]
                    over = over or (ended != NULL and ended != now)
                if over:  # nothing can need it any more
                    if before == NOBODY:
                        state.listeners[3 * place + 2] = after
                    else:
                        state.runs[before * stride] = (state.runs[before * stride] & LOW) | (after << NEXT_AT)
                    state.runs[at] = free
                    free = run
                    alive -= 1
                    run = after
                    continue
                passed = 0
                kind = NODE_KIND * tables.nodes[NODE * number + KIND_OF] if (flags & LOOKS) != 0 else 0
                bits = tables.kinds[kind + SETS]
                if bits == 0:
                    children = state.runs[at + BELOW]
                    passed = pass_edges(
                        children & LOW, (children & LOW) + (children >> 32), 0, run, done, i, row, events, tables, state
                    )
                else:
                    passed = probe(number, flags >> LEVEL_AT, bits, run, done, i, row, events, tables, state)
                if passed == NOBODY or passed >= state.cells[ACTION_ROOM]:
                    full = True
                    break
                over = (flags & ENDS_ALWAYS) != 0 or ((flags & ENDS_NEVER) == 0 and passed > done)
                done = passed
                ending = tables.kinds[kind + ENDING]
                if ending != 0:
                    over = rules_hold(
                        ending + 1, ending + 1 + int(tables.lists[ending]), i, row, run, events, tables, state
                    )
                if over and simultaneous:
                    state.runs[at + stride - 1] = now
                    before = run
                elif over:
                    if before == NOBODY:
                        state.listeners[3 * place + 2] = after
                    else:
                        state.runs[before * stride] = (state.runs[before * stride] & LOW) | (after << NEXT_AT)
                    state.actions[3 * done] = run
                    state.actions[3 * done + 1] = NOBODY
                    state.actions[3 * done + 2] = place
                    done += 1
                else:
                    before = run
                run = after
        # Runs that begin with it.
        level = first_level
        while level != NOBODY and not full:
            passed = probe(
                0, level, tables.levels[LEVEL * level + ROOT_SETS], NOBODY, done, i, row, events, tables, state
            )
            full = passed == NOBODY
            done = done if full else passed
            level = tables.levels[LEVEL * level + LEVEL_AFTER]
        if full or used + done > room or found + done > match_room or 2 * (known + done) > mask:
            # What was taken out of its list goes back: the event is gone over again when there is room.
            k = 0
            while k < done:
                if state.actions[3 * k + 1] == NOBODY:
                    run = state.actions[3 * k]
                    place = state.actions[3 * k + 2]
                    state.runs[run * stride] = (state.runs[run * stride] & LOW) | (
                        state.listeners[3 * place + 2] << NEXT_AT
                    )
                    state.listeners[3 * place + 2] = run
                k += 1
            state.cells[STOPPED] = 1 + done
            state.cells[FULL] = int(full)
            break
        # What it does.
        k = 0
        while k < done:
            run = state.actions[3 * k]
            child = state.actions[3 * k + 1]
            k += 1
            if child == NOBODY:
                state.runs[run * stride] = free
                free = run
                alive -= 1
                continue
            kind = NODE_KIND * tables.nodes[NODE * child + KIND_OF]
            if (tables.kinds[kind + FLAGS] & ALIAS) != 0:
                child = tables.nodes[NODE * child + CHILDREN]
                kind = NODE_KIND * tables.nodes[NODE * child + KIND_OF]
            flags = tables.kinds[kind + FLAGS]
            depth = flags & DEPTH
            transfer = (flags >> TRANSFER_AT) & 65535
            old = run * stride
            if (flags & LEAF) != 0:
                at = found * stride
                state.matches[at] = child
                state.matches[at + START] = now if run == NOBODY else state.runs[old + START]
                state.matches[at + NULLS] = 0 if run == NOBODY else state.runs[old + NULLS]
                p = HELD
                while p < HELD + depth:
                    state.matches[at + p] = state.runs[old + p]
                    p += 1
                state.matches[at + HELD + depth] = first + i
                if transfer > 0:
                    shared_transfer(transfer, i, run, found, events, tables, state, state.matches, state.real_matches)
                found += 1
                continue
            new = free
            if new == NOBODY:
                new = used
                used += 1
            else:
                free = state.runs[new * stride]
            at = new * stride
            state.runs[at + START] = now if run == NOBODY else state.runs[old + START]
            state.runs[at + NULLS] = 0 if run == NOBODY else state.runs[old + NULLS]
            state.runs[at + EXPIRES] = expiry(state.runs[at + START], tables.kinds[kind + LASTS])
            state.runs[at + BELOW] = tables.nodes[NODE * child + CHILDREN]
            state.runs[at + WAITS] = flags
            p = HELD
            while p < HELD + depth:
                state.runs[at + p] = state.runs[old + p]
                p += 1
            state.runs[at + HELD + depth] = first + i
            if transfer > 0:
                shared_transfer(transfer, i, run, new, events, tables, state, state.runs, state.held)
            place = 0
            if (flags & EVERYTHING) == 0:
                column = (flags >> LISTEN_AT) & 65535
                value = events.keys[row + column] if (flags & DYNAMIC) != 0 else tables.nodes[NODE * child + LISTENS]
                place = find_listener(column, value, mask, state.listeners)
                if state.listeners[3 * place] == NOBODY:
                    state.listeners[3 * place] = column
                    state.listeners[3 * place + 1] = value
                    state.listeners[3 * place + 2] = NOBODY
                    known += 1
            if simultaneous:
                state.runs[at + stride - 1] = NULL
                state.runs[at] = child
                state.fresh[3 * waiting] = new
                state.fresh[3 * waiting + 1] = place
                state.fresh[3 * waiting + 2] = now
                waiting += 1
            else:
                state.runs[at] = child | (state.listeners[3 * place + 2] << NEXT_AT)
                state.listeners[3 * place + 2] = new
            alive += 1
            made += 1
        i += 1
    state.cells[FREE] = free
    state.cells[USED] = used
    state.cells[MATCHES] = found
    state.cells[TOUCHED] = touched
    state.cells[MADE] = made
    state.cells[ALIVE] = alive
    state.cells[FRESH] = waiting
    state.cells[LISTENERS] = known
    return i
