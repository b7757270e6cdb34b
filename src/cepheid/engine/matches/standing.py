"""The matches that were given and may change, and what others differ from them in."""

from __future__ import annotations

import numpy as np

from cepheid.engine.encoding.grown import Grown
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.kernel.arrays import rounded
from cepheid.kernel.compile import run_on_arrays


class Standing:
    """Matches by the numbers of their events. Those that are taken back are only marked until there are many."""

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
        """All of them, also those that were taken back."""
        arrays = self._rows.all, self._variables.all, self._offsets.all, self._reached.all
        return MatchTable(*arrays, self._reaches)

    @property
    def alive(self) -> np.ndarray:
        """Which of them stand, as they do now."""
        return self._alive.all.astype(bool)

    @property
    def nbytes(self) -> int:
        """How much they take."""
        arrays = self._rows, self._variables, self._offsets, self._reached, self._alive
        return sum(array.nbytes for array in arrays)

    def replace(
        self, found: MatchTable, changed: np.ndarray, there: np.ndarray, *, native: bool
    ) -> tuple[MatchTable, MatchTable]:
        """Put matches in the place of those that ended where something changed; which are gone, and which are new.

        Those that are new are not added yet. changed: the events at which other matches may end than before; what was
        found at others is not looked at. there: the events that are not gone.
        """
        old, count = self.all, self._alive.size
        changed, there = changed.view(np.uint8), there.view(np.uint8)
        chosen = np.empty(count + 1, np.uint32)
        given = old.rows, old.offsets, self._alive.all, count, changed, there, chosen
        affected = run_on_arrays("affected_matches", *given, native=native)
        table, added = np.empty(rounded(2 * affected), np.uint32), np.empty(len(found) + 1, np.uint32)
        sides = _arrays(old), (chosen, affected), _arrays(found), (len(found), changed, table, len(table) - 1, added)
        gone = run_on_arrays("different_matches", *(one for side in sides for one in side), native=native)
        self._alive.all[chosen[:gone]] = 0
        self._dead += gone
        return _some(old, chosen[:gone], native), _some(found, added[1 : int(added[0]) + 1], native)

    def add(self, found: MatchTable) -> None:
        """Others stand."""
        if not len(found):
            return
        if 2 * self._dead > self._alive.size:
            self.keep(self._alive.all.astype(bool))
        self._reaches = found.reaches
        self._offsets.add(found.offsets[1:] + self._rows.size)
        self._rows.add(found.rows)
        self._variables.add(found.variables)
        self._reached.add(found.reached)
        self._alive.add(np.ones(len(found), np.uint8))

    def keep(self, wanted: np.ndarray) -> None:
        """Keep some of those that stand, given by a flag for each."""
        kept = self.all.take(np.flatnonzero(wanted & self.alive))
        self._begin()  # whoever was told of the others has the arrays as they are
        self.add(kept)

    def renumber(self, number: np.ndarray) -> None:
        """Events have other numbers, of which there is one for each."""
        self._rows.all[:] = number[self._rows.all]


def _arrays(found: MatchTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return found.rows.astype(np.int32, copy=False), found.variables.astype(np.int16, copy=False), found.offsets


def _some(found: MatchTable, places: np.ndarray, native: bool) -> MatchTable:
    """Some matches of a table."""
    if not len(places) or len(places) == len(found):
        return found if len(places) else NONE
    count, events = len(places), int((found.offsets[places + 1] - found.offsets[places]).sum())
    made = np.empty(events, np.int32), np.empty(events, np.int16), np.empty(count + 1, np.int64)
    run_on_arrays("copy_matches", *_arrays(found), places, count, *made, native=native)
    return MatchTable(*made, found.reached[places], found.reaches)
