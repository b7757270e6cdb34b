"""Lanes cut into stretches, each up to an event after which no run of its lane was under way."""

from __future__ import annotations

from typing import Any

import numpy as np


def stretches(lane: Any, calm: Any, dirty: Any, tails: Any) -> tuple[Any, Any]:
    """Which events of some lanes may have to be gone over again, by their places; and where to go on after each.

    An event that leaves its lane without runs, before and now, is followed by the next stretch in which something
    changed: that is where to go on, as a place among those that are returned.

    lane: of each event; they are in order.
    calm: after which of them no run was under way, where nothing changed.
    dirty: which of them are new, or follow one that is gone. tails: lanes whose last events are gone.
    """
    count = len(lane)
    places = np.arange(count)
    if not count:
        return places, places
    begin, end = np.searchsorted(lane, lane), np.searchsorted(lane, lane, side="right")
    after_calm = np.maximum.accumulate(np.where(calm, places + 1, 0))
    first = np.maximum(np.append(0, after_calm[:-1]), begin)  # of the stretch that an event is in
    tail = np.maximum(after_calm, begin)[end - 1]  # of the stretch at the end of the lane; `end` if there is none
    last_resort = np.where(tails[lane], tail, end)

    def stretch_of(changed: Any) -> Any:
        """Where to begin, given the next event that changed."""
        return np.where(changed < end, first[np.minimum(changed, count - 1)], last_resort)

    next_dirty = np.minimum.accumulate(np.where(dirty, places, count)[::-1])[::-1]
    wanted = places >= stretch_of(next_dirty[begin])
    target = np.maximum(stretch_of(np.append(next_dirty[1:], count)), places + 1)
    number = np.append(0, np.cumsum(wanted))  # of each place among those that are wanted, or of the next that is
    return np.flatnonzero(wanted), number[target[wanted]]
