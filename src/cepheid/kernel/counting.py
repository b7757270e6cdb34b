"""Exact counts of very many histories: blocks of nodes as small linear maps, between which few numbers are carried.

A node's number of histories is the sum of those of its parts. So the nodes of a block have numbers that are linear in
those of the few older nodes that are still referred to, the block's frontier: a constant and a factor for each. As long
as a block ends before its factors need more than 60 bits, a count goes over its nodes once for all matches, and for
each match only from frontier to frontier, with wide numbers in limbs of 30 bits, the least first.

Where a window begins is in the middle of a block; what is left of this one is counted by its nodes, for each match.
This is for graphs of one lane, where frontiers are small; others are counted by the match store.

These functions are compiled like those of the match store.
"""

from __future__ import annotations

from typing import Any

from cepheid.kernel.plain import NIL, U8

Array = Any
FRONT = 7  # nodes in a frontier, at most: those of a query with OR and ?, and the terms of a node are a cache line
TERMS = FRONT + 1  # of a node: the constant, and a factor for each node of the frontier
NODES = TERMS + 1  # rows of terms before those of a block's nodes: nothing, a start, and each node of the frontier
BLOCK = 2048  # nodes in a block, at most: a window's first block is counted by its nodes
SHORTEST = 58  # nodes in a block, at least: each can only double the factors
BITS = 30  # in a limb: the product of two, and what is carried, fit 64
LOW = 2**BITS - 1
FULL = 2**58  # a factor that ends a block: it is below twice that, which is two limbs
SPARE = 8  # limbs that one block can add to a number, and more


def last_uses(nodes: int, n_next: Array, n_alt: Array, n_max: Array, last: Array) -> bool:
    """Which node is the last to refer to each; whether starts are in order, so that a window has all from its first."""
    node = U8(0)
    youngest = n_max[0]
    while node < U8(nodes):
        one = n_next[node]
        if one != NIL:
            last[one] = node
        else:
            if n_max[node] < youngest:
                return False
            youngest = n_max[node]
        other = n_alt[node]
        if other != NIL:
            last[other] = node
        node += U8(1)
    return True


def row_of(part: int, nothing: int, begin: int, front: int, fronts: Array) -> int:
    """Where the terms of a part are: a node of the block that begins at `begin`, one of its frontier, or `nothing`."""
    if part == NIL:
        return nothing
    if U8(part) >= begin:
        return U8(part) - begin + U8(NODES)
    j = U8(0)
    while fronts[front + j] != part:
        j += U8(1)
    return U8(2) + j


def end_block(
    block: int, begin: int, end: int, size: int, last: Array, fronts: Array, maps: Array, terms: Array
) -> int:
    """Write the frontier after a block, and the map to it from the one before; its size, or one more than there can be.

    A node is in it as long as a later node refers to it.
    """
    front = block * U8(FRONT)
    found = U8(0)
    row = U8(2)
    while row < U8(NODES) + (end - begin):
        if row == U8(2) + size:
            row = U8(NODES)
        node = begin + (row - U8(NODES)) if row >= U8(NODES) else U8(fronts[front + row - U8(2)])
        if U8(last[node]) >= end:
            if found == U8(FRONT):
                return found + U8(1)
            fronts[front + U8(FRONT) + found] = node
            at = (front + found) * U8(TERMS)
            j = U8(0)
            while j < U8(TERMS):
                maps[at + j] = terms[row * U8(TERMS) + j]
                j += U8(1)
            found += U8(1)
        row += U8(1)
    return found


def make_blocks(
    nodes: int,
    n_next: Array,
    n_alt: Array,
    last: Array,
    slots: Array,
    bounds: Array,
    sizes: Array,
    fronts: Array,
    maps: Array,
    finals: Array,
    terms: Array,
) -> int:
    """Divide the nodes into blocks; how many there are, or 0 where a frontier is too large.

    `bounds` has where blocks begin and end, `sizes` and `fronts` the frontier before each, `maps` the terms of the next
    one. `finals` becomes the terms of those nodes that have a slot, the roots of matches.
    """
    j = U8(0)
    while j < U8(NODES * TERMS):
        terms[j] = 1 if j % U8(TERMS + 1) == U8(TERMS) else 0
        j += U8(1)
    block, begin, size = U8(0), U8(0), U8(0)
    bounds[0] = 0
    sizes[0] = 0
    node = U8(0)
    while node < U8(nodes):
        front = block * U8(FRONT)
        one = U8(row_of(n_next[node], U8(1), begin, front, fronts)) * U8(TERMS)
        other = U8(row_of(n_alt[node], U8(0), begin, front, fronts)) * U8(TERMS)
        at = (node - begin + U8(NODES)) * U8(TERMS)
        largest = U8(0)
        j = U8(0)
        while j < U8(TERMS):
            term = terms[one + j] + terms[other + j]
            terms[at + j] = term
            largest |= term  # as good as the greatest: FULL is a power of two
            j += U8(1)
        slot = slots[node]
        if slot != NIL:
            j = U8(0)
            while j < U8(TERMS):
                finals[U8(slot) * U8(TERMS) + j] = terms[at + j]
                j += U8(1)
        node += U8(1)
        if largest >= U8(FULL) or node - begin == U8(BLOCK) or node == U8(nodes):
            size = U8(end_block(block, begin, node, size, last, fronts, maps, terms))
            if size > U8(FRONT):
                return U8(0)
            block += U8(1)
            bounds[block] = node
            sizes[block] = size
            begin = node
    return block


def set_number(number: int, limbs: Array, at: int) -> int:
    """Write a number of 64 bits in limbs; how many it has."""
    length = U8(0)
    while number != U8(0):
        limbs[at + length] = number & U8(LOW)
        number = number >> U8(BITS)
        length += U8(1)
    return length


def add_scaled(sums: Array, to: int, length: int, limbs: Array, at: int, used: int, factor: int) -> int:
    """Add a number of `used` limbs times a factor of two limbs to a sum of `length` limbs; the new length."""
    if factor == U8(0) or used == U8(0):
        return length
    low, high = factor & U8(LOW), factor >> U8(BITS)
    carry, before = U8(0), U8(0)
    shared = used if used < length else length
    k = U8(0)
    while k < shared:
        limb = limbs[at + k]
        carry += sums[to + k] + limb * low + before * high
        sums[to + k] = carry & U8(LOW)
        carry = carry >> U8(BITS)
        before = limb
        k += U8(1)
    while k < used:  # beyond its length, a sum's limbs are not yet written
        limb = limbs[at + k]
        carry += limb * low + before * high
        sums[to + k] = carry & U8(LOW)
        carry = carry >> U8(BITS)
        before = limb
        k += U8(1)
    carry += before * high
    while carry != U8(0):
        if k < length:
            carry += sums[to + k]
        sums[to + k] = carry & U8(LOW)
        carry = carry >> U8(BITS)
        k += U8(1)
    return k if k > length else length


def count_nodes(
    begin: int, first: int, end: int, low: int, n_next: Array, n_alt: Array, n_max: Array, values: Array
) -> None:
    """The numbers of a block's nodes, in `values`; those before `first` are out of the window."""
    node = first
    while node < end:
        value = U8(0)
        if n_max[node] >= low:
            one = n_next[node]
            if one == NIL:
                value = U8(1)
            elif U8(one) >= first:
                value = values[U8(one) - begin]
            other = n_alt[node]
            if other != NIL and U8(other) >= first:
                value += values[U8(other) - begin]
        values[node - begin] = value
        node += U8(1)


def count_by_blocks(
    start: int,
    stop: int,
    n_next: Array,
    n_alt: Array,
    n_max: Array,
    m_root: Array,
    m_low: Array,
    slots: Array,
    bounds: Array,
    sizes: Array,
    fronts: Array,
    maps: Array,
    finals: Array,
    values: Array,
    numbers: Array,
    spare: Array,
    lengths: Array,
    total: Array,
) -> int:
    """Add the numbers of the matches `start` to `stop` to `total`; how far it came before one that needs more limbs.

    The windows of matches must begin in order. `numbers` and `spare` have room for a frontier's numbers, `lengths` has
    how many limbs these have, then those of the spare ones, and last those of the total.
    """
    width = U8(len(numbers)) // U8(FRONT)
    sum_length = U8(lengths[2 * FRONT])
    first, first_block, block = U8(0), U8(0), U8(0)
    k = U8(start)
    while k < U8(stop):
        low = m_low[k]
        if m_root[k] == NIL:  # an event alone
            spare[0] = 1
            sum_length = U8(add_scaled(total, U8(0), sum_length, spare, U8(0), U8(1), U8(1)))
            k += U8(1)
            continue
        root = U8(m_root[k])
        if n_max[root] < low:
            k += U8(1)
            continue
        while n_max[first] < low:
            first += U8(1)
        while U8(bounds[first_block + U8(1)]) <= first:
            first_block += U8(1)
        while U8(bounds[block]) > root:
            block -= U8(1)
        while U8(bounds[block + U8(1)]) <= root:
            block += U8(1)
        begin = U8(bounds[first_block])
        end = root + U8(1) if first_block == block else U8(bounds[first_block + U8(1)])
        count_nodes(begin, first, end, low, n_next, n_alt, n_max, values)
        if first_block == block:
            used = U8(set_number(values[root - begin], numbers, U8(0)))
            sum_length = U8(add_scaled(total, U8(0), sum_length, numbers, U8(0), used, U8(1)))
            k += U8(1)
            continue
        at = first_block + U8(1)
        size = U8(sizes[at])
        j = U8(0)
        while j < size:
            node = U8(fronts[at * U8(FRONT) + j])
            value = values[node - begin] if node >= first else U8(0)
            lengths[j] = set_number(value, numbers, j * width)
            j += U8(1)
        while at < block:
            found = U8(sizes[at + U8(1)])
            longest = U8(0)
            j = U8(0)
            while j < found:
                row = (at * U8(FRONT) + j) * U8(TERMS)
                length = U8(set_number(maps[row], spare, j * width))
                i = U8(0)
                while i < size:
                    factor = maps[row + i + U8(1)]
                    length = U8(add_scaled(spare, j * width, length, numbers, i * width, U8(lengths[i]), factor))
                    i += U8(1)
                lengths[U8(FRONT) + j] = length
                longest = length if length > longest else longest
                j += U8(1)
            if longest + U8(SPARE) > width:
                lengths[2 * FRONT] = sum_length
                return k
            numbers, spare = spare, numbers
            j = U8(0)
            while j < found:
                lengths[j] = lengths[U8(FRONT) + j]
                j += U8(1)
            size = found
            at += U8(1)
        row = U8(slots[root]) * U8(TERMS)
        length = U8(set_number(finals[row], spare, U8(0)))
        j = U8(0)
        while j < size:
            factor = finals[row + j + U8(1)]
            length = U8(add_scaled(spare, U8(0), length, numbers, j * width, U8(lengths[j]), factor))
            j += U8(1)
        sum_length = U8(add_scaled(total, U8(0), sum_length, spare, U8(0), length, U8(1)))
        k += U8(1)
    lengths[2 * FRONT] = sum_length
    return k
