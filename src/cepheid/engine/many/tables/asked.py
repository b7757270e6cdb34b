"""What rules ask of an event at one step, of all rules at once: a list of conditions, sorted by rule.

A condition is a column with its bounds; or a test, which is below all columns, with the place of its constants; or a
choice, below all tests, with a number for its constants: it only says which rows ask the same (see `RowWays`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cepheid.engine.encoding.arrow import from_numpy, to_numpy
from cepheid.engine.many.tables.keys import LEAST, MOST
from cepheid.kernel.shared import NOBODY

CHOICES = NOBODY - (1 << 40)
"""The first choice."""
_SEED = np.uint64(0x243F6A8885A308D3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class RowConditions:
    """Conditions by row: `offsets[r]:offsets[r + 1]` are those of row r, equalities first, tests last."""

    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    offsets: np.ndarray
    never: np.ndarray  # rows whose conditions contradict each other

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> np.ndarray:
        """How many conditions a row has."""
        return np.diff(self.offsets)

    @cached_property
    def equal(self) -> Any:
        """Which conditions are equalities, by which a node finds its children."""
        return (self.columns >= 0) & (self.lows == self.highs)

    def per_row(self, wanted: np.ndarray) -> Any:
        """How many of some conditions each row has."""
        before = np.concatenate([[0], np.cumsum(wanted)])
        return before[self.offsets[1:]] - before[self.offsets[:-1]]

    def take(self, rows: np.ndarray) -> RowConditions:
        """The conditions of some rows, in their order."""
        if len(rows) == len(self) and (rows == np.arange(len(rows))).all():
            return self
        counts = self.counts[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        index = np.repeat(self.offsets[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        return RowConditions(self.columns[index], self.lows[index], self.highs[index], offsets, self.never[rows])

    def followed_by(self, more: RowConditions) -> RowConditions:
        """These rows, and others after them."""
        columns, lows, highs, never = (
            np.concatenate(pair)
            for pair in ((self.columns, more.columns), (self.lows, more.lows), (self.highs, more.highs),
                         (self.never, more.never))
        )  # fmt: skip
        offsets = np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]])
        return RowConditions(columns, lows, highs, offsets, never)

    def pick(self, kept: np.ndarray) -> RowConditions:
        """Some conditions of all rows, which are a mask."""
        offsets = np.concatenate([[0], np.cumsum(self.per_row(kept))])
        return RowConditions(self.columns[kept], self.lows[kept], self.highs[kept], offsets, self.never)

    def only(self, rows: np.ndarray) -> RowConditions:
        """The same, with no conditions but those of some rows, which are a mask."""
        kept = np.repeat(rows, self.counts)
        offsets = np.concatenate([[0], np.cumsum(np.where(rows, self.counts, 0))])
        return RowConditions(self.columns[kept], self.lows[kept], self.highs[kept], offsets, self.never)

    def ordered(self, rank: np.ndarray) -> RowConditions:
        """The conditions of each row in the order of a rank of theirs, then of their columns."""
        rows = np.repeat(np.arange(len(self)), self.counts)
        order, alike = _sorted(rows, rank, self.columns)
        if alike:
            order = np.lexsort((self.lows, self.columns, rank, rows))
        return RowConditions(self.columns[order], self.lows[order], self.highs[order], self.offsets, self.never)

    def hashes(self) -> np.ndarray:
        """A number for the conditions of each row, the same where they are."""
        mixed = np.full(len(self.columns), _SEED)
        for values in (self.columns, self.lows, self.highs):
            mixed = stir(mixed, values)
        hashes = np.zeros(len(self), np.uint64)
        filled = np.flatnonzero(self.counts)
        if len(filled):
            hashes[filled] = np.add.reduceat(mixed, self.offsets[:-1][filled])
        return hashes

    def same_as(self, rows: np.ndarray) -> bool:
        """Whether the conditions of each row are those of another one."""
        counts = self.counts
        if not (counts == counts[rows]).all():
            return False
        other = np.repeat(self.offsets[:-1][rows] - self.offsets[:-1], counts) + np.arange(len(self.columns))
        return all((values == values[other]).all() for values in (self.columns, self.lows, self.highs))


@dataclass(frozen=True)
class RowWays:
    """How an event can pass what rows ask: each row has one way, or several, side by side."""

    rows: np.ndarray
    asked: RowConditions

    @property
    def first(self) -> np.ndarray:
        """Which are the first ones of their rows."""
        return np.concatenate([[True], self.rows[1:] != self.rows[:-1]])[: len(self.rows)]

    @property
    def several(self) -> Any:
        """Which are of rows that have several."""
        return np.bincount(self.rows, minlength=1)[self.rows] > 1

    @classmethod
    def of(cls, asked: RowConditions, only: np.ndarray, rows: np.ndarray, more: RowConditions) -> RowWays:
        """Some rows that have one way, and ways of others; of these, ways that can't be passed are left out."""
        all_rows = np.concatenate([only, rows])
        joined = asked.take(only).followed_by(more)
        order = np.lexsort((joined.never, all_rows))
        sorted_rows = all_rows[order]
        first = np.concatenate([[True], sorted_rows[1:] != sorted_rows[:-1]])[: len(order)]
        order = order[first | ~joined.never[order]]
        return cls(all_rows[order], joined.take(order))


def _sorted(*keys: np.ndarray) -> tuple[np.ndarray, bool]:
    """The order by some numbers, the first ones first, and whether some are alike: one sort for all of them."""
    packed: np.ndarray = np.zeros(len(keys[0]), np.int64)
    for values in keys:
        if len(values):
            least = values.min()
            packed = packed * int(values.max() - least + 1) + (values - least)
    order = np.argsort(packed, kind="stable")
    packed = packed[order]
    return order, bool((packed[1:] == packed[:-1]).any())


def distinct(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each number is found first, and for each one which of these it is; they are in the order of the rows."""
    codes = to_numpy(from_numpy(hashes.view(np.int64)).dictionary_encode().indices)
    first = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several, the last one stays
    return first, codes


def stir(mixed: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mix values into 64-bit hashes, which order and position change."""
    stirred = (mixed ^ np.ascontiguousarray(values, np.int64).view(np.uint64)) * _MIX
    return stirred ^ (stirred >> np.uint64(29))


class Asking:
    """Conditions of one step under construction."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.columns: list[np.ndarray] = []
        self.lows: list[np.ndarray] = []
        self.highs: list[np.ndarray] = []

    def bound(self, rows: np.ndarray, column: int, operator: str, values: np.ndarray, null: np.ndarray) -> None:
        """`column operator value`; NULL is never so."""
        low = values if operator in ("=", ">=") else values + 1 if operator == ">" else np.full(len(rows), LEAST)
        high = values if operator in ("=", "<=") else values - 1 if operator == "<" else np.full(len(rows), MOST)
        lost = null.copy()
        if operator == ">":
            lost |= values == MOST
        elif operator == "<":
            lost |= values == LEAST
        self.between(rows, column, np.where(lost, MOST, low), np.where(lost, LEAST, high))

    def between(self, rows: np.ndarray, column: int, low: np.ndarray, high: np.ndarray) -> None:
        """A column with its bounds."""
        self.rows.append(rows)
        self.columns.append(np.full(len(rows), column, np.int64))
        self.lows.append(low)
        self.highs.append(high)

    def test(self, rows: np.ndarray, number: int, constants: np.ndarray) -> None:
        """A test, and where its constants are."""
        self.between(rows, NOBODY - number, constants, np.zeros(len(rows), np.int64))

    def choice(self, rows: np.ndarray, number: int, constants: np.ndarray) -> None:
        """A choice, and a number for its constants."""
        self.between(rows, CHOICES - number, constants, np.zeros(len(rows), np.int64))

    def asked(self, count: int) -> RowConditions:
        """All of them, for so many rows; bounds of one column become one."""
        if not self.rows:
            empty = np.zeros(0, np.int64)
            return RowConditions(empty, empty, empty, np.zeros(count + 1, np.int64), np.zeros(count, bool))
        rows, columns = np.concatenate(self.rows), np.concatenate(self.columns)
        lows, highs = np.concatenate(self.lows).astype(np.int64), np.concatenate(self.highs).astype(np.int64)
        order, _ = _sorted(rows, columns)
        rows, columns, lows, highs = rows[order], columns[order], lows[order], highs[order]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]) | (columns[1:] < 0)
        if not new.all():
            begin = np.flatnonzero(new)
            lows, highs = np.maximum.reduceat(lows, begin), np.minimum.reduceat(highs, begin)
            rows, columns = rows[begin], columns[begin]
        never = np.zeros(count, bool)
        never[rows[(columns >= 0) & (lows > highs)]] = True
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        conditions = RowConditions(columns, lows, highs, offsets, never)
        return conditions.ordered(np.where(columns < 0, 2, (lows != highs).astype(np.int64)))
