"""How the edges of a bucket are found by the bounds that they ask for, where there are many. Compiled likewise.

A bucket of many edges has a block of numbers: how many segments, how many edges, and of each segment

    0  what it is, and the column that it is sorted by
    1  its first edge
    2  how many edges it has
    3  where its numbers are, counted from the block

    SCANNED  every edge is tried
    AT_LEAST  edges `column >= bound`, bounds ascending: those that an event passes come first
    AT_MOST    the same of `column <= bound`, with all signs turned
    INSIDE   edges with two bounds, the lower ones ascending, and the greatest upper one of each 64, and of each 64 * 64
    MARKED   bounds of several columns: of each column, cells, and for each cell which edges it can pass

The bits of cells are in words of 63, so that no word is negative; a second row of words says which of these are not 0.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s

RANGED = 1 << 62
"""Of a bucket: it has a block, and this is where."""
SEGMENT, SEGMENTS_AT = 4, 2
SCANNED, AT_LEAST, AT_MOST, INSIDE, MARKED = range(5)
KIND_BITS = 3
KIND = (1 << KIND_BITS) - 1
SIDE_BITS = 6
SIDE = 1 << SIDE_BITS
"""Edges that have one greatest bound."""
WORD = 63
MARKS_AT, MARKS = 2, 5
"""Of a segment with cells: how many words a cell has, and how many words say which of these are not 0. Then of each
column: its number, how many cells it has, where the cuts between them are, the words, and those about words."""
DENSE = 24
"""Bits of a word from which on all of its edges are tried."""


def reached(values: Int64s, begin: Int64, count: Int64, value: Int64) -> Int64:
    """How many of some numbers, which ascend, are not above a value."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if values[begin + middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


def bits_of(word: Int64) -> Int64:
    """How many bits a word has that is not negative."""
    bits = word - ((word >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    bits += bits >> 32
    return bits & 127


def lowest_bit(word: Int64) -> Int64:
    """The place of the lowest bit of a word that has some."""
    return bits_of((word ^ (word - 1)) >> 1)
