"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST = 1024


class Grown:
    """An array that grows at its end. An eighth of it is spare: what is held counts more than that it is copied."""

    def __init__(self, dtype: Any) -> None:
        self._array = np.zeros(LEAST, dtype)
        self.size = 0

    def add(self, values: np.ndarray) -> None:
        """Add values at the end."""
        end = self.size + len(values)
        if end > len(self._array):
            longer = np.zeros(_with_spare(end), self._array.dtype)
            longer[: self.size] = self._array[: self.size]
            self._array = longer
        self._array[self.size : end] = values
        self.size = end

    @property
    def all(self) -> np.ndarray:
        """The values; they can be written to."""
        return self._array[: self.size]

    def keep(self, wanted: np.ndarray) -> None:
        """Keep some of the values."""
        kept = self.all[wanted]
        self._array = np.zeros(_with_spare(len(kept)), self._array.dtype)
        self._array[: len(kept)] = kept
        self.size = len(kept)

    @property
    def nbytes(self) -> int:
        """How many bytes the array takes, with what is spare."""
        return int(self._array.nbytes)


def _with_spare(size: int) -> int:
    return max(LEAST, size + size // 8)
