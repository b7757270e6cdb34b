"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np


class Grown:
    """An array that grows at its end."""

    def __init__(self, dtype: Any) -> None:
        self._array = np.zeros(1024, dtype)
        self.size = 0

    def add(self, values: Any) -> None:
        """Add values at the end."""
        end = self.size + len(values)
        if end > len(self._array):
            longer = np.zeros(2 * end, self._array.dtype)
            longer[: self.size] = self._array[: self.size]
            self._array = longer
        self._array[self.size : end] = values
        self.size = end

    @property
    def all(self) -> Any:
        """The values; they can be written to."""
        return self._array[: self.size]

    def keep(self, wanted: Any) -> None:
        """Keep some of the values."""
        kept = self.all[wanted]
        self._array = np.zeros(max(1024, len(kept) + len(kept) // 2), self._array.dtype)
        self._array[: len(kept)] = kept
        self.size = len(kept)

    @property
    def nbytes(self) -> int:
        """How much it takes."""
        return int(self._array.nbytes)
