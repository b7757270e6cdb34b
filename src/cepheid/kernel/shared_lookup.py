"""The edges of a node, found in a hash table by the values that an event has. Compiled likewise."""

from __future__ import annotations

from cepheid.kernel.code.reader import Int32s, Int64, Int64s, Real64s, UInt8s, UInt32s
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
)
from cepheid.kernel.shared_conditions import rules_hold
from cepheid.kernel.shared_edges import pass_edges, pass_ranges
from cepheid.kernel.shared_ranges import RANGED, SEGMENTS_AT

# Lists of arrays side by side: one line for each would hide the code.
# fmt: off


def hash_of(owner: Int64, first: Int64, second: Int64) -> Int64:
    """What the children of a node are looked up by, for a set of columns: their values."""
    found = (owner * MIX + first * SPREAD + second * STIR) & HASH
    return (((found ^ (found >> 31)) * MIX) & HASH) >> 18


def probe(
    node: Int64, level: Int64, bits: Int64, run: Int64, done: Int64, i: Int64, row: Int64, keys: Int64s, quick: UInt32s,
    levels: Int64s, sets: Int32s, hashes: Int64s, ranges: Int64s, edges: Int64s, lists: Int32s, rules: Int64s, numbers:
    Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s,
    actions: Int64s, cells: Int64s,
) -> Int64:
    """Note the edges of a node that an event passes; how many actions there are then, or NOBODY: no room."""
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
