"""What the runs of steps listen to: a value that the next event must have, so that others do not touch them."""

from __future__ import annotations

import numpy as np

from cepheid.engine.many.tables.asked import RowConditions, distinct, stir

MOST_RUNS = 16
"""Runs that an event may begin for steps that are equal but for what their runs listen to."""


def listened(after: RowConditions, ranks: np.ndarray, among: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The equality that the runs of each row listen to: of the next step's, the one with most values; 0: none.

    among: a mask of the conditions that it may be.
    """
    chosen, values = np.zeros(len(after), np.int64), np.zeros(len(after), np.int64)
    equal = np.flatnonzero(after.equal if among is None else after.equal & among)
    rows = np.repeat(np.arange(len(after)), after.counts)[equal]
    order = np.lexsort((ranks[after.columns[equal]], rows))
    chosen[rows[order]] = after.columns[equal][order]  # of several, the last one stays
    values[rows[order]] = after.lows[equal][order]
    return chosen, values


def together(
    after: RowConditions,
    ranks: np.ndarray,
    chosen: np.ndarray,
    values: np.ndarray,
    alike: np.ndarray,
    wanted: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The same, but where an event would begin very many runs: these are one, which listens to what all ask for.

    An event that begins a run for each of thousands of rules costs as much as there are rules. One run for all of them
    is touched by more events, but no more often if rules are added. alike: a hash of each row, the same where steps
    are equal in all else. wanted: a mask of the rows of which runs may be one; nothing ends their waits.
    """
    _, groups = distinct(alike)
    first, _ = distinct(stir(stir(alike, chosen), values))
    kinds = np.bincount(groups[first])
    many = wanted & (kinds[groups] > MOST_RUNS)
    if not many.any():
        return chosen, values
    other, other_values = listened(after, ranks, _common(after, groups))
    return np.where(many, other, chosen), np.where(many, other_values, values)


def _common(asked: RowConditions, groups: np.ndarray) -> np.ndarray:
    """Which conditions all rows of a group have; a row has a column once."""
    group_of = np.repeat(groups, asked.counts)
    _, codes = distinct(stir(stir(stir(group_of.astype(np.uint64), asked.columns), asked.lows), asked.highs))
    return np.bincount(codes)[codes] == np.bincount(groups)[group_of] if len(codes) else np.zeros(0, bool)
