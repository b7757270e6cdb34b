"""Instants: the events of one time, where these are simultaneous (S2)."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compile import has_compiler, library_function
from cepheid.kernel.runtime import NIL

MANY = 100_000
"""Events from which on a compiled loop is worth loading the compiler's library."""


def last_of_instants(times: np.ndarray, partitions: np.ndarray | None = None) -> np.ndarray:
    """Of each event: 1 if it is the last one of its partition at its time, 2 if it is the only one, else 0.

    The times are in order; without partitions, all events are of one.

    >>> last_of_instants(np.array([1, 1, 2, 3, 3])).tolist()
    [0, 1, 2, 0, 1]
    >>> last_of_instants(np.array([1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0])).tolist()
    [2, 2, 0, 2, 1]
    """
    marks = np.full(len(times), 2, np.uint8)
    tied = times[1:] == times[:-1]
    if not tied.any():
        return marks
    if partitions is None:
        marks[1:][tied] = 1
        marks[:-1][tied] = 0
        return marks
    if len(times) >= MANY and has_compiler():
        size = int(partitions.max(where=partitions != NIL, initial=0)) + 1
        after = np.zeros(size, np.uint32)
        columns = np.ascontiguousarray(times, np.int64), np.ascontiguousarray(partitions, np.uint32)
        library_function("mark_instants", native=True)(len(times), *columns, size, after, marks)
        return marks
    among = np.zeros(len(times), bool)
    among[1:] |= tied
    among[:-1] |= tied
    events = np.flatnonzero(among)
    events = events[by_partition(partitions[events])]
    sorted_partitions, when = partitions[events], times[events]
    same = (sorted_partitions[1:] == sorted_partitions[:-1]) & (when[1:] == when[:-1])
    marks[events[1:][same]] = 1
    marks[events[:-1][same]] = 0
    return marks


def by_partition(partitions: np.ndarray) -> np.ndarray:
    """The order of events by partition, those of one as they were: NumPy sorts numbers of 16 bits by their digits."""
    order = np.argsort(partitions.astype(np.uint16), kind="stable")
    high = (partitions >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def instants_of(times: np.ndarray) -> np.ndarray:
    """The number of each event's instant, from 0 on. The times are in order.

    >>> instants_of(np.array([1, 1, 4, 5, 5])).tolist()
    [0, 0, 1, 2, 2]
    """
    instants = np.zeros(len(times), np.int64)
    np.cumsum(times[1:] != times[:-1], out=instants[1:])
    return instants
