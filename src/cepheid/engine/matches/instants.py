"""Which matches end together where events of one time are simultaneous (S2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from cepheid.engine.encoding.instants import instants_of


class Instants:
    """The instants of events that are kept, the first of which has the id `base`; the times are read when asked for."""

    def __init__(self, times: Callable[[], np.ndarray], base: int) -> None:
        self._times = times
        self._base = base

    @cached_property
    def _numbers(self) -> np.ndarray:
        numbers: np.ndarray = instants_of(self._times())
        return numbers

    def of(self, ids: np.ndarray) -> np.ndarray:
        """The numbers of the instants of some events."""
        instants: np.ndarray = self._numbers[ids - self._base]
        return instants
