"""Lanes cut into stretches, each up to an event after which no run of its lane was under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Chain:
    """Stretches one after the other that are gone over as a lane of a number; -1: another chain has them by now."""

    first: int
    last: int
    number: int = -1


class Stretches:
    """The stretches of some lanes.

    events: by lane and in order; lane: of each.
    calm: after which of them no run was under way, where nothing changed.
    dirty: which of them are new, or follow one that is gone. tails: lanes whose last event is gone.
    """

    def __init__(self, events: Any, lane: Any, calm: Any, dirty: Any, tails: Any) -> None:
        self._events = events
        count = len(events)
        ends = np.append(lane[1:] != lane[:-1], True) if count else np.zeros(0, bool)
        self._last = np.flatnonzero(calm | ends)  # the place of the last event of each stretch
        self._first = np.concatenate([[0], self._last[:-1] + 1]).astype(np.int64)[: len(self._last)]
        self._lane = lane[self._last]
        self._is_end = ends[self._last]
        self._calm = calm[self._last]
        sums = np.concatenate([[0], np.cumsum(dirty)])
        open_tail = self._is_end & ~self._calm & tails[self._lane] if count else self._is_end
        self._changed = (sums[self._last + 1] > sums[self._first]) | open_tail
        self._owner: dict[int, Chain] = {}

    def open_end(self, lanes: Any) -> Any:
        """Whether lanes have events, after the last of which a run may be under way."""
        return np.isin(lanes, self._lane[self._is_end & (~self._calm | self._changed)])

    def is_end(self, stretch: int) -> bool:
        """Whether a stretch is the last one of its lane."""
        return bool(self._is_end[stretch])

    def lane_of(self, stretch: int) -> int:
        """The lane of a stretch."""
        return int(self._lane[stretch])

    def events(self, first: int, last: int) -> Any:
        """The events from one stretch to another."""
        return self._events[self._first[first] : self._last[last] + 1]

    def chains(self) -> list[Chain]:
        """The stretches in which something changed; those that follow each other are together."""
        numbers = np.flatnonzero(self._changed)
        if not len(numbers):
            return []
        apart = np.ones(len(numbers), bool)
        apart[1:] = (np.diff(numbers) > 1) | self._is_end[numbers[:-1]]
        begins = np.flatnonzero(apart)
        lasts = np.append(begins[1:], len(numbers)) - 1
        found = [
            Chain(first, last) for first, last in zip(numbers[begins].tolist(), numbers[lasts].tolist(), strict=True)
        ]
        self._owner = {chain.first: chain for chain in found}
        return found

    def extend(self, chains: Sequence[Chain], quiet: Any) -> tuple[list[int], list[tuple[Any, Chain]]]:
        """Chains that have not come to an event after which no run is under way go on.

        quiet: of each event, whether no run is under way after it now. Returns the numbers of chains that others have
        gone into, and the events that are to be gone over.
        """
        dropped: list[int] = []
        more: list[tuple[Any, Chain]] = []
        for chain in chains:
            if chain.number < 0 or self.is_end(chain.last) or quiet[self._events[self._last[chain.last]]]:
                continue
            begin = chain.last + 1
            other = self._owner.get(begin)
            chain.last = begin
            if other is not None and other is not chain:
                chain.last = other.last
                dropped.append(other.number)
                other.number = -1
            more.append((self.events(begin, chain.last), chain))
        return dropped, more
