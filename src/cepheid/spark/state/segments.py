"""When segments of rows are merged, so that there are never many of them and no row is rewritten often."""

from __future__ import annotations

from collections.abc import Sequence

SEGMENT = 1 << 20
"""Bytes from which on a segment is no longer merged."""

FAN = 8
"""How many segments of one level are merged into one of the next."""


def is_crowded(levels: Sequence[int]) -> bool:
    """Tell whether the last segments, given by their levels, are enough of one level to be merged."""
    return len(levels) >= FAN and len(set(levels[-FAN:])) == 1
