"""What is a function of the time, as a kernel reads it: by the piece of time that an event is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Pieces:
    """The times at which something changes, in ticks, then one that never comes; and the values of each piece."""

    starts: Any
    values: Mapping[str, Any]


def merged(columns: Mapping[str, tuple[Any, Any]]) -> Pieces:
    """Columns that change at times of their own, each given with these, as columns that change together."""
    times = np.unique(np.concatenate([np.zeros(0, np.int64), *(starts for starts, _ in columns.values())]))
    places: dict[int, Any] = {}  # the columns of an arc change at the same times

    def pieces(starts: Any, values: Any) -> Any:
        if len(values) == 1:
            return np.repeat(values, len(times) + 1)
        if id(starts) not in places:
            places[id(starts)] = np.append(0, np.searchsorted(starts, times, side="right"))
        return values[places[id(starts)]]

    return Pieces(np.append(times, NEVER), {name: pieces(*column) for name, column in columns.items()})


NO_PIECES = merged({})
