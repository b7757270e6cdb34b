"""The matches that were given and may change, and what others differ from them in."""

from __future__ import annotations

import numpy as np

from cepheid.engine.encoding.grown import Grown
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.kernel.arrays import rounded
from cepheid.kernel.compile import run_on_arrays


class Standing:
    """Matches by the numbers of their events. Retracted ones are only marked until there are many."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._rows, self._variables = Grown(np.int32), Grown(np.int16)
        self._offsets, self._reached, self._alive = Grown(np.int64), Grown(np.int16), Grown(np.uint8)
        self._offsets.add(np.zeros(1, np.int64))
        self._reaches: tuple[frozenset[str], ...] = (frozenset(),)
        self._dead = 0

    @property
    def all(self) -> MatchTable:
        """All of them, also retracted ones."""
        arrays = self._rows.all, self._variables.all, self._offsets.all, self._reached.all
        return MatchTable(*arrays, self._reaches)

    @property
    def alive(self) -> np.ndarray:
        """Which of them stand, as they do now."""
        return self._alive.all.astype(bool)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take."""
        arrays = self._rows, self._variables, self._offsets, self._reached, self._alive
        return sum(array.nbytes for array in arrays)

    def replace(
        self, matched: MatchTable, changed: np.ndarray, there: np.ndarray, *, native: bool
    ) -> tuple[MatchTable, MatchTable]:
        """Put matches in the place of those that ended where something changed; which are gone, and which are new.

        Those that are new are not added yet. changed: the events at which other matches may end than before; what was
        found at others is not looked at. there: the events that are not gone.
        """
        old, count = self.all, self._alive.size
        changed, there = changed.view(np.uint8), there.view(np.uint8)
        chosen = np.empty(count + 1, np.uint32)
        stored = old.rows, old.offsets, self._alive.all, count, changed, there, chosen
        affected = run_on_arrays("affected_matches", *stored, native=native)
        table, added = np.empty(rounded(2 * affected), np.uint32), np.empty(len(matched) + 1, np.uint32)
        sides = (
            _arrays(old),
            (chosen, affected),
            _arrays(matched),
            (len(matched), changed, table, len(table) - 1, added),
        )
        gone = run_on_arrays("different_matches", *(argument for side in sides for argument in side), native=native)
        self._alive.all[chosen[:gone]] = 0
        self._dead += gone
        return _some(old, chosen[:gone], native), _some(matched, added[1 : int(added[0]) + 1], native)

    def add(self, matched: MatchTable) -> None:
        """Put matches behind those that stand, which end earlier."""
        if not len(matched):
            return
        if 2 * self._dead > self._alive.size:
            self.keep(self._alive.all.astype(bool))
        self._reaches = matched.reaches
        self._offsets.add(matched.offsets[1:] + self._rows.size)
        self._rows.add(matched.rows)
        self._variables.add(matched.variables)
        self._reached.add(matched.reached)
        self._alive.add(np.ones(len(matched), np.uint8))

    def keep(self, wanted: np.ndarray) -> None:
        """Keep some of those that stand, given by a flag for each."""
        kept = self.all.take(np.flatnonzero(wanted & self.alive))
        self._begin()  # those who read the others have the arrays as they are
        self.add(kept)

    def renumber(self, number: np.ndarray) -> None:
        """Events have other numbers, of which there is one for each."""
        self._rows.all[:] = number[self._rows.all]


def _arrays(matched: MatchTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matched.rows.astype(np.int32, copy=False), matched.variables.astype(np.int16, copy=False), matched.offsets


def _some(matched: MatchTable, places: np.ndarray, native: bool) -> MatchTable:
    """Some matches of a table."""
    if not len(places) or len(places) == len(matched):
        return matched if len(places) else NONE
    count, events = len(places), int((matched.offsets[places + 1] - matched.offsets[places]).sum())
    made = np.empty(events, np.int32), np.empty(events, np.int16), np.empty(count + 1, np.int64)
    run_on_arrays("copy_matches", *_arrays(matched), places, count, *made, native=native)
    return MatchTable(*made, matched.reached[places], matched.reaches)
