"""The edges of a node, found in a hash table by the values that an event has. Compiled likewise."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s
from cepheid.kernel.shared import (
    EDGE,
    HASH,
    HASH_AT,
    HASH_MASK,
    KEYED,
    KEYED_AT,
    LEVEL,
    LIST_AT,
    LOW,
    MIX,
    NOBODY,
    SET,
    SETS_AT,
    SLOT,
    SPREAD,
    STIR,
    EventRows,
    RuleTables,
    SharedRuns,
)
from cepheid.kernel.shared_conditions import rules_hold
from cepheid.kernel.shared_edges import pass_edges, pass_ranges
from cepheid.kernel.shared_ranges import RANGED, SEGMENTS_AT


def hash_of(owner: Int64, first: Int64, second: Int64) -> Int64:
    """What the children of a node are looked up by, for a set of columns: their values."""
    mixed = (owner * MIX + first * SPREAD + second * STIR) & HASH
    return (((mixed ^ (mixed >> 31)) * MIX) & HASH) >> 18


def probe(
    node: Int64,
    level: Int64,
    bits: Int64,
    run: Int64,
    done: Int64,
    i: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
) -> Int64:
    """Note the edges of a node that an event passes; how many actions there are then, or NOBODY: no room."""
    mask = tables.levels[LEVEL * level + HASH_MASK]
    base = tables.levels[LEVEL * level + HASH_AT]
    number = 0
    while bits >> number != 0:
        if (bits >> number) & 1 == 1:
            at = tables.levels[LEVEL * level + SETS_AT] + SET * number
            owner = node | (number << 32)
            first, second = 0, 0
            if tables.sets[at] > 0:
                first = events.keys[row + int(tables.sets[at + 1])]
            if tables.sets[at] > 1:
                second = events.keys[row + int(tables.sets[at + 2])]
                j = 3
                while j <= tables.sets[at]:
                    second = (second * SPREAD + events.keys[row + int(tables.sets[at + j])]) & HASH
                    j += 1
            slot = hash_of(owner, first, second) & mask
            while tables.hashes[SLOT * (base + slot)] != NOBODY:
                here = SLOT * (base + slot)
                if (
                    tables.hashes[here] == owner
                    and tables.hashes[here + 1] == first
                    and tables.hashes[here + 2] == second
                ):
                    bucket = tables.hashes[here + 3]
                    ranged = bucket >= RANGED
                    child = tables.ranges[bucket - RANGED + SEGMENTS_AT + 1] if ranged else bucket & LOW
                    same = True
                    if tables.sets[at] > 2:
                        head = tables.edges[EDGE * child]
                        where = (head >> LIST_AT) + 1
                        same = rules_hold(
                            where, where + ((head >> KEYED_AT) & KEYED), i, row, run, events, tables, state
                        )
                    if same:
                        if ranged:
                            done = pass_ranges(bucket - RANGED, run, done, i, row, events, tables, state)
                        else:
                            done = pass_edges(
                                child, child + (bucket >> 32), 1, run, done, i, row, events, tables, state
                            )
                        if done == NOBODY:
                            return NOBODY
                        break
                slot = (slot + 1) & mask
        number += 1
    return done


def fill_hashes(
    count: Int64,
    owners: Int64s,
    firsts: Int64s,
    seconds: Int64s,
    buckets: Int64s,
    mask: Int64,
    hashes: Int64s,
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
