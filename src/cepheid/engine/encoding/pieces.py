"""What is a function of the time, as a kernel reads it: by the piece of time that an event is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cepheid.kernel.reads import BITS

NEVER = 2**63 - 1


@dataclass(frozen=True)
class Pieces:
    """The times at which something changes, in ticks, then one that never comes; and the values of each piece."""

    starts: np.ndarray
    values: Mapping[str, np.ndarray]  # numbers
    bits: Mapping[str, np.ndarray]  # what is true or false

    @cached_property
    def words(self) -> list[np.ndarray]:
        """All that is true or false, each as a bit of a word."""
        columns = list(self.bits.values())
        return [_word(columns[at : at + BITS]) for at in range(0, len(columns), BITS)]


def _word(columns: Sequence[np.ndarray]) -> np.ndarray:
    word = np.zeros(len(columns[0]), np.int64)
    for bit, column in enumerate(columns):
        word |= column.astype(np.int64) << bit
    return word


def merged(columns: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Pieces:
    """Columns that change at times of their own, each given with these, as columns that change together."""
    times = np.unique(np.concatenate([np.zeros(0, np.int64), *(starts for starts, _ in columns.values())]))
    places: dict[int, np.ndarray] = {}  # the columns of an arc change at the same times

    def pieces(starts: np.ndarray, values: np.ndarray) -> Any:
        if len(values) == 1:
            return np.repeat(values, len(times) + 1)
        if id(starts) not in places:
            places[id(starts)] = np.append(0, np.searchsorted(starts, times, side="right"))
        return values[places[id(starts)]]

    columns_of = {name: pieces(*column) for name, column in columns.items()}
    bits = {name: column for name, column in columns_of.items() if column.dtype == bool}
    values = {name: column for name, column in columns_of.items() if name not in bits}
    return Pieces(np.append(times, NEVER), values, bits)


NO_PIECES = merged({})
