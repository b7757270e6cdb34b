"""Matches by variable: which rows each one has bound, as output is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MatchColumns:
    """Matches in the order of S9, a column for each positive component."""

    rows: Sequence[np.ndarray]  # of a component: the rows of the events that it has bound, match by match
    counts: Sequence[np.ndarray | None]  # how many there are in each match; None where there is one in every match
    first: np.ndarray  # the row of the first event of each match
    last: np.ndarray
    reached: np.ndarray  # the components that were reached, by match: a number into `reaches`
    reaches: tuple[frozenset[str], ...]

    def __len__(self) -> int:
        return len(self.first)
