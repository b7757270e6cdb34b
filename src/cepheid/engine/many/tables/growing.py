"""Arrays that only grow at their end, so that copies can have one memory."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

ROOM = 8
"""An array that becomes longer gets room for one in so many of what it has then."""


class Growing:
    """An array with room at its end. What it has stays: copies share it, and the first to go on has the room."""

    def __init__(self, dtype: Any, first: int = 0) -> None:
        self.array: np.ndarray = np.zeros(max(16, first), dtype)
        self.size = first
        self._begun: dict[int, object] = {}  # who has put values behind a place of the array, of all that share it

    def append(self, values: np.ndarray) -> int:
        """Put values at the end; where they begin."""
        begin, self.size = self.size, self.size + len(values)
        mine = object()
        if self.size > len(self.array) or self._begun.setdefault(begin, mine) is not mine:
            longer = np.empty(self.size + self.size // ROOM + 16, self.array.dtype)
            longer[:begin] = self.array[:begin]
            self.array, self._begun = longer, {begin: mine}
        self.array[begin : self.size] = values
        return begin

    def copy(self) -> Growing:
        """The same, to which other values may come."""
        return copy(self)

    @property
    def values(self) -> np.ndarray:
        """The used part of the array; a view, valid until something is added."""
        return self.array[: self.size]
