"""The order of S9 of matches that have one length: the positions of each are packed into a number, and these sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.engine.encoding.arrow import room_for
from cepheid.kernel.compile import has_compiler, library_function
from cepheid.kernel.join.output import MatchPositions
from cepheid.kernel.packing import PLACES

MOST_BITS = 62
MANY = 100_000
"""Matches from which on a compiled loop is worth loading the compiler's library."""


def sort_sequences(parts: Sequence[MatchPositions], base: int) -> list[np.ndarray] | None:
    """The rows of each component, counted from `base`, of components that come one after the other.

    None where matches are few, or their positions too far apart to fit into one number.
    """
    count = sum(len(part.positions[0]) for part in parts)
    if count < MANY or not has_compiler():
        return None
    farthest = library_function("farthest", native=True)
    least = min(int(part.positions[-1].min()) + part.origin for part in parts)
    most = max(int(part.positions[-1].max()) + part.origin for part in parts)
    others = range(len(parts[0].positions) - 1)
    reaches = [max(farthest(len(p.positions[x]), p.positions[-1], p.positions[x]) for p in parts) for x in others]
    widths = [reach.bit_length() for reach in reaches]
    shift = sum(widths)
    bits = (most - least).bit_length() + shift
    if bits > MOST_BITS:
        return None
    packed = room_for(count, np.int64)
    pack_last, pack_distance = (library_function(name, native=True) for name in ("pack_last", "pack_distance"))
    at = 0
    for part in parts:
        last, some = part.positions[-1], len(part.positions[-1])
        pack_last(some, last, part.origin - least, at, packed)
        for x in others:
            pack_distance(some, last, part.positions[x], widths[x], at, packed)
        at += some
    packed = _sort_packed(packed, bits)
    rows = [room_for(count, np.uint32) for _ in range(len(others) + 1)]
    library_function("unpack_last", native=True)(count, packed, shift, base - least, rows[-1])
    unpack_distance = library_function("unpack_distance", native=True)
    for x in others:
        shift -= widths[x]
        unpack_distance(count, packed, shift, widths[x], rows[-1], rows[x])
    return rows


def find_order(keys: Sequence[np.ndarray]) -> np.ndarray:
    """The order of rows by some keys, the first of them first."""
    count = len(keys[0])
    if not count:
        return np.zeros(0, np.int64)
    packed = _packed(keys)
    if packed is None:
        return np.lexsort(keys[::-1])
    # With the place of each behind it, the numbers alone are sorted.
    width, bits = (count - 1).bit_length(), int(packed.max()).bit_length()
    if count < MANY or bits + width > MOST_BITS or not has_compiler():
        return np.argsort(packed, kind="stable")
    return _sort_packed((packed << width) | np.arange(count), bits + width) & ((1 << width) - 1)


def _sort_packed(packed: np.ndarray, bits: int) -> np.ndarray:
    """Numbers that are not negative and have so many bits, sorted; they may be moved."""
    spare, heads, ends = room_for(len(packed), np.int64), np.empty(PLACES, np.uint32), np.empty(PLACES, np.uint32)
    turned = library_function("sort_packed", native=True)(len(packed), bits, packed, spare, heads, ends)
    return spare if turned else packed


def _packed(keys: Sequence[np.ndarray]) -> np.ndarray | None:
    """All keys in one number, if they fit: each but the first by its distance from the first, which is small."""
    first = keys[0]
    packed = first - int(first.min())
    bits = int(packed.max()).bit_length()
    for key in keys[1:]:
        part = key - first
        part -= int(part.min())
        width = int(part.max()).bit_length()
        bits += width
        if bits > MOST_BITS:
            return None
        packed = (packed << width) | part
    return packed
