"""The same matches everywhere: what is timed is compared first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bench.native import Positions
from cepheid import Matches


def positions(matches: Matches) -> list[tuple[int, ...]]:
    """The events of each match, in order; in our streams the time of an event is its position."""
    table = matches.to_arrow()
    columns = [_times(table.column(name)) for name in table.column_names if name not in ("match_start", "match_end")]
    return [tuple(sorted(at for events in row for at in events)) for row in zip(*columns, strict=True)]


def _times(column: pa.ChunkedArray) -> list[list[int]]:
    if pa.types.is_list(column.type):
        return [[event["ts"] for event in events or ()] for events in column.to_pylist()]
    return [[] if event is None else [event["ts"]] for event in column.to_pylist()]


def unpacked(found: Positions) -> list[tuple[int, ...]]:
    """The same of positions with their offsets."""
    offsets, flat = found
    return [tuple(part.tolist()) for part in np.split(flat, offsets[1:-1])] if len(offsets) > 1 else []


def same(ours: Positions, theirs: Positions, what: str) -> None:
    """Both found the same matches. A kernel may give those of one end in any order: the engine arranges them after."""
    ours, theirs = arranged(ours), arranged(theirs)
    assert np.array_equal(ours[0], theirs[0]), f"{what}: {len(ours[0]) - 1} matches, and {len(theirs[0]) - 1}"
    assert np.array_equal(ours[1], theirs[1]), f"{what}: the matches differ"


def arranged(found: Positions) -> Positions:
    """In the order of end and start, and then of what is between, where all matches are of one length."""
    offsets, flat = found
    lengths = np.diff(offsets)
    middle = []
    if len(lengths) and (lengths == lengths[0]).all():
        middle = [flat[offsets[:-1] + k] for k in range(1, lengths[0] - 1)]
    order = np.lexsort((*reversed(middle), flat[offsets[:-1]], flat[offsets[1:] - 1]))
    moved = np.concatenate([[0], np.cumsum(lengths[order])])
    return moved, flat[np.repeat(offsets[order] - moved[:-1], lengths[order]) + np.arange(moved[-1])]
