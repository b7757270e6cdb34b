"""Which events the runs are followed on: whole partitions where there are some, else the first events."""

from __future__ import annotations

import numpy as np

from cepheid.diagnosis.whole_columns import QueryColumns

EVENTS = 20_000
"""How many events are read as Python values."""


def sample_of(columns: QueryColumns, most: int | None) -> np.ndarray | None:
    """The rows of some events of a table; None: all of them."""
    table = columns.table
    if most is None or table.num_rows <= most:
        return None
    partitions = columns.partitions
    sizes = np.bincount(partitions)
    # Spread over the partitions in the order of their numbers, which says nothing of what is in them.
    order = np.argsort((np.arange(len(sizes)) * 0x9E3779B1) % 2**32, kind="stable")
    fitting = order[np.cumsum(sizes[order]) <= most]
    if not sizes[fitting].sum():
        return np.sort(np.argsort(columns.times, kind="stable")[:most])
    chosen = np.zeros(len(sizes), bool)
    chosen[fitting] = True
    return np.flatnonzero(chosen[partitions])
