"""Matches of one length: the position of each component's event, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engine.matches.match_table import MANY, MatchTable
from cepheid.kernel.compile import has_compiler, library_function
from cepheid.kernel.join.output import Part

MOST_PARTS, MOST_BYTES = 32, 2**19
"""Parts that another run can write to, and how large their arrays are at most."""


@dataclass
class JoinMatches:
    """Matches in parts. Rows count from `base`. `spare`: where arrays go that are no longer needed."""

    parts: Sequence[Part]
    length: int
    reached: frozenset[str]
    base: int
    ordered: bool  # each component comes after the one before: a sequence without AND
    spare: list[Any] | None = None
    found: MatchTable | None = None

    def __del__(self) -> None:
        """To touch fresh memory takes longer than to fill it: a later run has these arrays. Nobody else has."""
        if self.spare is not None:
            whole = [part.whole for part in self.parts if part.whole and part.whole[0].nbytes <= MOST_BYTES]
            self.spare += whole[: max(0, MOST_PARTS - len(self.spare))]

    @property
    def positions(self) -> list[Any]:
        """Of each component, those of all matches; these are copies."""
        none = np.zeros(0, np.int64)
        return [
            np.concatenate([none, *(part.positions[x] + np.int64(part.origin) for part in self.parts)])
            for x in range(self.length)
        ]

    def count(self) -> int:
        """How many there are."""
        return sum(len(part.positions[0]) for part in self.parts)

    def size(self) -> int:
        """How many there are."""
        return self.count()

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other."""
        yield from self.all().batches(size)

    def all(self) -> MatchTable:
        """All of them, in the order of S9."""
        if self.found is None:
            self.found = self._arranged()
        return self.found

    def _arranged(self) -> MatchTable:
        matches, length = self.count(), self.length
        columns = self.positions
        owners: Any = np.arange(length)
        if not self.ordered:
            table = np.stack(columns, axis=1) if matches else np.zeros((0, length), np.int64)
            owners = np.argsort(table, axis=1, kind="stable")
            columns = list(np.take_along_axis(table, owners, axis=1).T)
        order = self._order(columns, owners)
        columns = [column[order] for column in columns] if order is not None else columns
        columns = [column - self.base for column in columns] if self.base else columns
        rows = np.empty((matches, length), np.int64)
        for x, column in enumerate(columns):
            rows[:, x] = column
        variables: Any = np.empty((matches, length), np.int16)
        variables[:] = owners if self.ordered or order is None else owners[order]
        offsets = np.arange(matches + 1, dtype=np.int64) * length
        reached = np.zeros(matches, np.int64)
        own = tuple(columns) if self.ordered else None
        return MatchTable(rows.ravel(), variables.ravel(), offsets, reached, (self.reached,), columns=own)

    def _order(self, columns: Sequence[Any], owners: Any) -> Any:
        """The order of S9: end, start, then positions, then by variable. None where it is so already."""
        if not self.count():
            return None
        keys = [columns[-1], *columns[:-1]]
        if not self.ordered:
            keys += [np.argsort(owners, axis=1)[:, x] for x in range(len(columns))]
        if _is_sorted(keys):
            return None
        packed = _packed(keys)
        if packed is None:
            return np.lexsort(keys[::-1])
        return _sorted(packed) if len(packed) >= MANY and has_compiler() else np.argsort(packed, kind="stable")


def _sorted(keys: Any) -> Any:
    """The order of whole numbers that are not negative."""
    order, heads = np.arange(len(keys)), np.empty(2048, np.int64)
    keys, spare_keys, spare_order = keys.copy(), np.empty_like(keys), np.empty_like(order)
    bits = int(keys.max()).bit_length()
    function = library_function("sort_by_digits", native=True)
    turned = function(len(keys), bits, keys, order, spare_keys, spare_order, heads)
    return spare_order if turned else order


def _is_sorted(keys: Sequence[Any]) -> bool:
    """Whether rows are in the order of some keys, the first of them first."""
    undecided: Any = np.ones(len(keys[0]) - 1, bool)
    for key in keys:
        step = np.diff(key)
        if (undecided & (step < 0)).any():
            return False
        undecided &= step == 0
        if not undecided.any():
            return True
    return True


def _packed(keys: Sequence[Any]) -> Any:
    """All keys in one number, if they fit: each but the first by its distance from the first, which is small."""
    first = keys[0]
    packed = first - int(first.min())
    bits = int(packed.max()).bit_length()
    for key in keys[1:]:
        part = key - first
        part -= int(part.min())
        width = int(part.max()).bit_length()
        bits += width
        if bits > 62:
            return None
        packed = (packed << width) | part
    return packed
