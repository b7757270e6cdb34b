"""Rules that have begun: for a while, events matter to them that nothing is asked of, and that matter to no others."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from cepheid.engine.many.lifetimes import NEVER

_NONE = np.zeros(0, np.int64)


class BegunRules:
    """The rules that an event was found to concern, and the last times of these.

    reach: for how many ticks after that others matter to a rule; None: as long as it is there.
    """

    def __init__(self, reach: int | None) -> None:
        self.reach = None if reach is None or reach >= NEVER // 2 else reach
        self.numbers: np.ndarray = _NONE  # ascending
        self.times: np.ndarray = _NONE

    def __len__(self) -> int:
        return len(self.numbers)

    def set(self, numbers: np.ndarray, times: np.ndarray) -> None:
        """Go on with rules that had begun, in ascending order."""
        self.numbers, self.times = numbers, times

    def remove(self, numbers: np.ndarray) -> None:
        kept = np.isin(self.numbers, numbers, invert=True)
        self.set(self.numbers[kept], self.times[kept])

    def anew(self) -> BegunRules:
        """None of them has begun."""
        rules = copy(self)
        rules.set(_NONE, _NONE)
        return rules

    def find(
        self, times: np.ndarray, wanted: np.ndarray, events: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some places of events, ascending, with the rules that have begun by then.

        times: of all events of a batch; events, numbers: which of them were found to concern which rules. The instant
        at which a rule begins counts as a whole, and so does that at which its while is over.
        """
        owners, begins = np.concatenate([self.numbers, numbers]), np.concatenate([self.times, times[events]])
        order = np.lexsort((begins, owners))
        owners, begins = owners[order], begins[order]
        same = np.append(owners[1:] == owners[:-1], False)[: len(owners)]  # as the next one
        first = np.searchsorted(times, begins, "left")
        over = np.searchsorted(times, self._until(begins), "right")
        over[same] = np.minimum(over, np.append(first[1:], len(times))[: len(over)])[same]
        low, high = np.searchsorted(wanted, first), np.searchsorted(wanted, over)
        counts = high - low
        index = np.repeat(low - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        self._keep(owners[~same], begins[~same], times)
        return wanted[index], np.repeat(owners, counts)

    def _keep(self, owners: np.ndarray, begins: np.ndarray, times: np.ndarray) -> None:
        kept = self._until(begins) >= times[-1:] if len(times) else np.ones(len(owners), bool)
        self.set(owners[kept], begins[kept])

    def _until(self, begins: np.ndarray) -> Any:
        """The last times at which events matter to rules that began at some."""
        if self.reach is None:
            return np.full(len(begins), NEVER)
        return np.minimum(begins, NEVER - self.reach) + self.reach
