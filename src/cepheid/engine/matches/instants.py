"""Which matches end together where events of one time are simultaneous (S2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from cepheid.engine.encoding.instants import instants_of
from cepheid.engine.matches.match_columns import Ints


class Instants:
    """The instants of events that are kept, the first of which has the id `base`; the times are read when asked for."""

    def __init__(self, times: Callable[[], Any], base: int) -> None:
        self._times = times
        self._base = base

    @cached_property
    def _numbers(self) -> np.ndarray:
        numbers: np.ndarray = instants_of(self._times())
        return numbers

    def of(self, ids: np.ndarray) -> Ints:
        """The numbers of the instants of some events."""
        return self._numbers[ids - self._base]
