"""Matches of one length: the position of each component's event, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.engine.matches.match_table import MANY, MatchTable, first_of
from cepheid.engine.matches.sorted_matches import find_order, sort_sequences
from cepheid.kernel.join.output import MatchPositions

MOST_PARTS, MOST_BYTES = 32, 2**19
"""Parts that another run can write to, and how large their arrays are at most."""


@dataclass
class JoinMatches:
    """Matches in parts. Rows count from `base`. `spare`: where arrays go that are no longer needed."""

    parts: Sequence[MatchPositions]
    length: int
    reached: frozenset[str]
    base: int
    ordered: bool  # each component comes after the one before: a sequence without AND
    spare: list[tuple[np.ndarray, ...]] | None = None
    found: MatchColumns | None = None

    def __del__(self) -> None:
        """To touch fresh memory takes longer than to fill it: a later run has these arrays. Nobody else has."""
        if self.spare is not None:
            whole = [part.whole for part in self.parts if part.whole and part.whole[0].nbytes <= MOST_BYTES]
            self.spare += whole[: max(0, MOST_PARTS - len(self.spare))]

    @property
    def positions(self) -> list[np.ndarray]:
        """Of each component, those of all matches; these are copies."""
        none = np.zeros(0, np.int64)
        return [
            np.concatenate([none, *(part.positions[x] + np.int64(part.origin) for part in self.parts)])
            for x in range(self.length)
        ]

    def count(self) -> int:
        """How many matches there are, each row of positions being one."""
        return sum(len(part.positions[0]) for part in self.parts)

    def bound(self) -> tuple[int, bool]:
        """The number of matches, which is exact."""
        return self.count(), True

    def few(self, wanted: int) -> MatchTable | None:
        """The first few; None if very many must be sorted to know which these are."""
        return None if self.count() > MANY else first_of(self.batches(wanted), wanted)

    def size(self) -> int:
        """How many rows an enumeration would have: one for each match."""
        return self.count()

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other."""
        yield from self.all().batches(size)

    def all(self) -> MatchTable:
        """All of them, in the order of S9."""
        columns = self.columns(self.length).rows
        matches, length = len(columns[0]), self.length
        table = np.stack(columns, axis=1).astype(np.int64)
        owners: np.ndarray = np.arange(length)
        if not self.ordered:
            owners = np.argsort(table, axis=1, kind="stable")
            table = np.take_along_axis(table, owners, axis=1)
        variables: np.ndarray = np.empty((matches, length), np.int16)
        variables[:] = owners
        offsets = np.arange(matches + 1, dtype=np.int64) * length
        reached = np.zeros(matches, np.int64)
        return MatchTable(table.ravel(), variables.ravel(), offsets, reached, (self.reached,))

    def columns(self, variables: int) -> MatchColumns:
        """The matches by variable, arranged once."""
        if self.found is None:
            self.found = self._arranged()
        return self.found

    def _arranged(self) -> MatchColumns:
        """Rows in the order of S9: end, start, then positions, then by variable."""
        rows = sort_sequences(self.parts, self.base) if self.ordered else None
        if rows is None:
            positions = self.positions
            order = find_order(self._keys(positions))
            rows = [column[order] - self.base for column in positions]
        first, last = rows[0], rows[-1]
        if not self.ordered:
            first, last = np.minimum.reduce(rows), np.maximum.reduce(rows)
        one_each = [None] * self.length
        return MatchColumns(rows, one_each, first, last, np.zeros(len(first), np.int64), (self.reached,))

    def _keys(self, positions: list[np.ndarray]) -> list[np.ndarray]:
        """What matches are sorted by."""
        if self.ordered:
            return [positions[-1], *positions[:-1]]
        table = np.stack(positions, axis=1)
        owners = np.argsort(table, axis=1, kind="stable")
        *others, last = np.take_along_axis(table, owners, axis=1).T
        return [last, *others, *np.argsort(owners, axis=1).T]
