"""Algorithm 1 of AFA in C++ as Python sees it: from columns in the order of arrival to changes."""

from __future__ import annotations

from ctypes import c_double, c_int64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.native.build import library
from bench.native.loops import plain

Integers = npt.NDArray[np.int64]
QUERIES = {"Q1 k=1": 11, "Q1 k=2": 12, "Q2": 2}  # as the C++ numbers them
WAYS = {"printed": 0, "tuned": 1}


@dataclass(frozen=True, eq=False)
class Algorithm1:
    """One query over one stream of ticks, in the order of arrival, ready to run.

    way: with the structures and automata of the paper, or as well as we can make it.
    window, lateness: in the unit of the times; after each batch the punctuation is that far behind the latest event.
    """

    table: pa.Table
    query: str
    window: int
    lateness: int
    way: str = "tuned"
    batch: int = 1000
    drop: float = 0.25  # how much the first event falls

    def __call__(self) -> int:
        """Go through the stream from its beginning; gives how many changes there are."""
        library("afa").afa_drop(c_double(self.drop))
        columns = (c_void_p(column.ctypes.data) for column in self._columns)
        library("afa").afa_run(
            self._state, c_int64(self.table.num_rows), c_int64(self.batch), c_int64(self.lateness), *columns
        )
        return int(library("afa").afa_changes(self._state))

    def stands(self) -> Integers:
        """The sum of all changes of the last run: of each match the times of its first and last event, by its end."""
        size = library("afa").afa_changes(self._state)
        start, end, sign = (np.empty(size, np.int64) for _ in range(3))
        library("afa").afa_read(self._state, *(c_void_p(part.ctypes.data) for part in (start, end, sign)))
        pairs, where = np.unique(np.stack([end, start], axis=1), axis=0, return_inverse=True)
        times = np.bincount(where.ravel(), sign, len(pairs)).astype(np.int64)
        stands: Integers = np.repeat(pairs, times, axis=0)[:, ::-1]
        return stands

    @property
    def held(self) -> int:
        """The most bytes of events and partial matches that the last run held at the end of a batch."""
        return int(library("afa").afa_held(self._state))

    @cached_property
    def _columns(self) -> tuple[npt.NDArray[np.generic], ...]:
        return tuple(plain(self.table, name) for name in ("ts", "price", "change"))

    @cached_property
    def _state(self) -> c_void_p:
        setup = WAYS[self.way], QUERIES[self.query], self.window
        state = c_void_p(library("afa").afa_new(*map(c_int64, setup)))
        finalize(self, library("afa").afa_free, state)
        return state
