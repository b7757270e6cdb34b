"""Filter of Cayuga's benchmark in C++ with an automaton of its own for each query: what Figure 17 has as "No MQO"."""

from __future__ import annotations

from ctypes import c_int64, c_void_p
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa

from bench.cayuga import ATTRIBUTES, STEPS, Workload
from bench.native.build import address, library

STEP = np.dtype([("values", "i2", 2), ("attributes", "u1", 2), ("columns", "u1", 2), ("ranges", "u1", 2)])


class Naive:
    """Queries whose steps ask for two attributes that differ, and a stream; it shares no table with our engine.

    pubsub: an index of all edges says which ones an event passes, as in the paper's naive system.
    """

    def __init__(self, queries: Workload, table: pa.Table, *, pubsub: bool) -> None:
        assert (queries.others != queries.primary[:, None]).all(), "a step that asks for one attribute alone"
        self._push = library("naive").naive_push_pubsub if pubsub else library("naive").naive_push_each
        self._times = np.ascontiguousarray(table.column("ts").to_numpy(), np.int64)
        self._columns = [table.column(f"{x}{k}").to_numpy() for x in "dc" for k in range(ATTRIBUTES)]
        self._steps, self._limits = _steps(queries), queries.limits()
        self.state = c_void_p(
            library("naive").naive_new(c_int64(len(queries)), *map(address, (self._steps, *self._limits)))
        )
        finalize(self, library("naive").naive_free, self.state)

    def run(self) -> int:
        """From columns to matches; how many there are."""
        library("naive").naive_reset(self.state)
        discrete, continuous = (
            (c_void_p * ATTRIBUTES)(*map(address, some))
            for some in (self._columns[:ATTRIBUTES], self._columns[ATTRIBUTES:])
        )
        self._push(self.state, c_int64(len(self._times)), address(self._times), discrete, continuous)
        return int(library("naive").naive_matches(self.state))

    @property
    def made(self) -> int:
        """How many instances began or went on in the last run."""
        return int(library("naive").naive_made(self.state))

    def matches(self) -> Any:
        """The query and the events of each match, sorted."""
        rows = np.empty((self.run(), 1 + STEPS), np.int64)
        library("naive").naive_enumerate(self.state, address(rows))
        return rows[np.lexsort(rows.T[::-1])]


def _steps(queries: Workload) -> Any:
    """All first steps, then all second ones, then all third ones."""
    found = np.zeros((STEPS, len(queries)), STEP)
    for step, own in enumerate(found):
        own["attributes"] = np.stack([queries.primary, queries.others[:, step]], axis=1)
        own["values"] = np.stack([queries.value, queries.other_values[:, step]], axis=1)
        own["columns"], own["ranges"] = queries.columns[:, step], queries.ranges[:, step]
    return found
