"""Exact counts of very many histories: blocks of nodes as small linear maps, between which few numbers are carried.

A node's number of histories is the sum of those of its parts. So the nodes of a block have numbers that are linear in
those of the few older nodes that are still referred to, the block's frontier: a constant and a factor for each. As long
as a block ends before its factors need more than 60 bits, a count goes over its nodes once for all matches, and for
each match only from frontier to frontier, with wide numbers in limbs of 30 bits, the least first.

Where a window begins is in the middle of a block; what is left of this one is counted by its nodes, for each match.
This is for graphs of one partition, where frontiers are small; others are counted by the match store.

These functions are compiled like those of the match store.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt32s
from cepheid.kernel.runtime import NIL

FRONT = 7  # nodes in a frontier, at most: those of a query with OR and ?, and the terms of a node are a cache line
TERMS = FRONT + 1  # of a node: the constant, and a factor for each node of the frontier
NODES = TERMS + 1  # rows of terms before those of a block's nodes: nothing, a start, and each node of the frontier
BLOCK = 2048  # nodes in a block, at most: a window's first block is counted by its nodes
SHORTEST = 58  # nodes in a block, at least: each can only double the factors
BITS = 30  # in a limb: the product of two, and what is carried, fit 64
LOW = 2**BITS - 1
FULL = 2**58  # a factor that ends a block: it is below twice that, which is two limbs
SPARE = 8  # limbs that one block can add to a number, and more


def last_uses(nodes: Int64, n_next: UInt32s, n_alt: UInt32s, n_max: Int64s, last: UInt32s) -> bool:
    """Which node is the last to refer to each; whether starts are in order, so that a window has all from its first."""
    node = 0
    youngest = n_max[0]
    while node < nodes:
        following = n_next[node]
        if following != NIL:
            last[following] = node
        else:
            if n_max[node] < youngest:
                return False
            youngest = n_max[node]
        other = n_alt[node]
        if other != NIL:
            last[other] = node
        node += 1
    return True


def row_of(part: Int64, nothing: Int64, begin: Int64, front: Int64, fronts: UInt32s) -> Int64:
    """Where the terms of a part are: a node of the block that begins at `begin`, one of its frontier, or `nothing`."""
    if part == NIL:
        return nothing
    if part >= begin:
        return part - begin + NODES
    j = 0
    while fronts[front + j] != part:
        j += 1
    return 2 + j


def end_block(
    block: Int64, begin: Int64, end: Int64, size: Int64, last: UInt32s, fronts: UInt32s, maps: Int64s, terms: Int64s
) -> Int64:
    """Write the frontier after a block, and the map to it from the one before; its size, or one more than there can be.

    A node is in it as long as a later node refers to it.
    """
    front = block * FRONT
    front_size = 0
    row = 2
    while row < NODES + (end - begin):
        if row == 2 + size:
            row = NODES
        node = begin + (row - NODES) if row >= NODES else fronts[front + row - 2]
        if last[node] >= end:
            if front_size == FRONT:
                return front_size + 1
            fronts[front + FRONT + front_size] = node
            at = (front + front_size) * TERMS
            j = 0
            while j < TERMS:
                maps[at + j] = terms[row * TERMS + j]
                j += 1
            front_size += 1
        row += 1
    return front_size


def make_blocks(
    nodes: Int64,
    n_next: UInt32s,
    n_alt: UInt32s,
    last: UInt32s,
    slots: UInt32s,
    bounds: Int64s,
    sizes: Int64s,
    fronts: UInt32s,
    maps: Int64s,
    finals: Int64s,
    terms: Int64s,
) -> Int64:
    """Divide the nodes into blocks; how many there are, or 0 where a frontier is too large.

    `bounds` has where blocks begin and end, `sizes` and `fronts` the frontier before each, `maps` the terms of the next
    one. `finals` becomes the terms of those nodes that have a slot, the roots of matches.
    """
    j = 0
    while j < NODES * TERMS:
        terms[j] = 0
        j += 1
    j = 1
    while j < NODES:  # a start has the constant, a node of the frontier its own factor
        terms[j * TERMS + j - 1] = 1
        j += 1
    block, begin, size = 0, 0, 0
    bounds[0] = 0
    sizes[0] = 0
    node = 0
    while node < nodes:
        front = block * FRONT
        next_row = row_of(n_next[node], 1, begin, front, fronts) * TERMS
        other = row_of(n_alt[node], 0, begin, front, fronts) * TERMS
        at = (node - begin + NODES) * TERMS
        largest = 0
        j = 0
        while j < TERMS:
            term = terms[next_row + j] + terms[other + j]
            terms[at + j] = term
            largest |= term  # as good as the greatest: FULL is a power of two
            j += 1
        slot = slots[node]
        if slot != NIL:
            j = 0
            while j < TERMS:
                finals[slot * TERMS + j] = terms[at + j]
                j += 1
        node += 1
        if largest >= FULL or node - begin == BLOCK or node == nodes:
            size = end_block(block, begin, node, size, last, fronts, maps, terms)
            if size > FRONT:
                return 0
            block += 1
            bounds[block] = node
            sizes[block] = size
            begin = node
    return block


def set_number(number: Int64, limbs: Int64s, at: Int64) -> Int64:
    """Write a number of 64 bits in limbs; how many it has."""
    length = 0
    while number != 0:
        limbs[at + length] = number & LOW
        number = number >> BITS
        length += 1
    return length


def add_scaled(sums: Int64s, to: Int64, length: Int64, limbs: Int64s, at: Int64, used: Int64, factor: Int64) -> Int64:
    """Add a number of `used` limbs times a factor of two limbs to a sum of `length` limbs; the new length."""
    if factor == 0 or used == 0:
        return length
    low, high = factor & LOW, factor >> BITS
    carry, before = 0, 0
    shared = used if used < length else length
    k = 0
    while k < shared:
        limb = limbs[at + k]
        carry += sums[to + k] + limb * low + before * high
        sums[to + k] = carry & LOW
        carry = carry >> BITS
        before = limb
        k += 1
    while k < used:  # beyond its length, a sum's limbs are not yet written
        limb = limbs[at + k]
        carry += limb * low + before * high
        sums[to + k] = carry & LOW
        carry = carry >> BITS
        before = limb
        k += 1
    carry += before * high
    while carry != 0:
        if k < length:
            carry += sums[to + k]
        sums[to + k] = carry & LOW
        carry = carry >> BITS
        k += 1
    return k if k > length else length


def count_nodes(
    begin: Int64, first: Int64, end: Int64, low: Int64, n_next: UInt32s, n_alt: UInt32s, n_max: Int64s, values: Int64s
) -> Int64:
    """The numbers of a block's nodes, in `values`; those before `first` are out of the window."""
    node = first
    while node < end:
        value = 0
        if n_max[node] >= low:
            following = n_next[node]
            if following == NIL:
                value = 1
            elif following >= first:
                value = values[following - begin]
            other = n_alt[node]
            if other != NIL and other >= first:
                value += values[other - begin]
        values[node - begin] = value
        node += 1
    return 0


def count_by_blocks(
    start: Int64,
    stop: Int64,
    n_next: UInt32s,
    n_alt: UInt32s,
    n_max: Int64s,
    m_root: UInt32s,
    m_low: Int64s,
    slots: UInt32s,
    bounds: Int64s,
    sizes: Int64s,
    fronts: UInt32s,
    maps: Int64s,
    finals: Int64s,
    values: Int64s,
    numbers: Int64s,
    lengths: Int64s,
    total: Int64s,
    width: Int64,
) -> Int64:
    """Add the numbers of the matches `start` to `stop` to `total`; how far it came before one that needs more limbs.

    The windows of matches must begin in order. `numbers` has room for the numbers of two frontiers, each of `width`
    limbs, `lengths` has how many limbs these have, and last those of the total.
    """
    here, there = 0, FRONT  # the rows of the frontier at hand, and of the next one
    sum_length = lengths[2 * FRONT]
    first, first_block, block = 0, 0, 0
    k = start
    while k < stop:
        low = m_low[k]
        if m_root[k] == NIL:  # an event alone
            numbers[0] = 1
            sum_length = add_scaled(total, 0, sum_length, numbers, 0, 1, 1)
            k += 1
            continue
        root = m_root[k]
        if n_max[root] < low:
            k += 1
            continue
        while n_max[first] < low:
            first += 1
        while bounds[first_block + 1] <= first:
            first_block += 1
        while bounds[block] > root:
            block -= 1
        while bounds[block + 1] <= root:
            block += 1
        begin = bounds[first_block]
        end = root + 1 if first_block == block else bounds[first_block + 1]
        count_nodes(begin, first, end, low, n_next, n_alt, n_max, values)
        if first_block == block:
            used = set_number(values[root - begin], numbers, 0)
            sum_length = add_scaled(total, 0, sum_length, numbers, 0, used, 1)
            k += 1
            continue
        at = first_block + 1
        size = sizes[at]
        j = 0
        while j < size:
            node = fronts[at * FRONT + j]
            value = values[node - begin] if node >= first else 0
            lengths[here + j] = set_number(value, numbers, (here + j) * width)
            j += 1
        while at < block:
            next_size = sizes[at + 1]
            longest = 0
            j = 0
            while j < next_size:
                row = (at * FRONT + j) * TERMS
                to = (there + j) * width
                length = set_number(maps[row], numbers, to)
                i = 0
                while i < size:
                    factor = maps[row + i + 1]
                    length = add_scaled(numbers, to, length, numbers, (here + i) * width, lengths[here + i], factor)
                    i += 1
                lengths[there + j] = length
                longest = length if length > longest else longest
                j += 1
            if longest + SPARE > width:
                lengths[2 * FRONT] = sum_length
                return k
            here, there = there, here
            size = next_size
            at += 1
        row = slots[root] * TERMS
        to = there * width
        length = set_number(finals[row], numbers, to)
        j = 0
        while j < size:
            factor = finals[row + j + 1]
            length = add_scaled(numbers, to, length, numbers, (here + j) * width, lengths[here + j], factor)
            j += 1
        sum_length = add_scaled(total, 0, sum_length, numbers, to, length, 1)
        k += 1
    lengths[2 * FRONT] = sum_length
    return k
