"""Instants: the events of one time, where these are simultaneous (S2)."""

from __future__ import annotations

from typing import Any

import numpy as np


def last_of_instants(times: Any, lanes: Any = None) -> Any:
    """Of each event: 1 if it is the last one of its lane at its time, 2 if it is the only one, else 0.

    The times are in order; without lanes, all events are of one.

    >>> last_of_instants(np.array([1, 1, 2, 3, 3])).tolist()
    [0, 1, 2, 0, 1]
    >>> last_of_instants(np.array([1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0])).tolist()
    [2, 2, 0, 2, 1]
    """
    found = np.full(len(times), 2, np.uint8)
    tied = times[1:] == times[:-1]
    if not tied.any():
        return found
    if lanes is None:
        found[1:][tied] = 1
        found[:-1][tied] = 0
        return found
    among = np.zeros(len(times), bool)
    among[1:] |= tied
    among[:-1] |= tied
    events = np.flatnonzero(among)
    events = events[np.lexsort((lanes[events], times[events]))]  # which keeps the order of equal ones
    same = (np.diff(times[events]) == 0) & (np.diff(lanes[events].astype(np.int64)) == 0)
    found[events[1:][same]] = 1
    found[events[:-1][same]] = 0
    return found


def instants_of(times: Any) -> Any:
    """The number of each event's instant, from 0 on. The times are in order.

    >>> instants_of(np.array([1, 1, 4, 5, 5])).tolist()
    [0, 0, 1, 2, 2]
    """
    found = np.zeros(len(times), np.int64)
    np.cumsum(times[1:] != times[:-1], out=found[1:])
    return found
