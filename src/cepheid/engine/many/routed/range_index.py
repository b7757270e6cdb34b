"""Rules by the bounds that they ask of an event: an event is compared with those whose best bound it passes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.many.tables.chain import Bounds, Key, RuleConstant
from cepheid.engine.many.tables.keys import LEAST, MOST, KeyColumns
from cepheid.kernel.shared import NULL


@dataclass(frozen=True)
class _Interval:
    """What rules ask of one column. sides: rules sorted by a bound, with these: by the lower one, and by the upper one.

    Signs of the upper ones are turned, so that the first rules are those that an event passes.
    """

    key: Key
    lows: np.ndarray
    highs: np.ndarray
    sides: tuple[tuple[int, np.ndarray, np.ndarray], ...]


class RangeIndex:
    """The rules that an event may pass, by bounds that all must hold; it is made anew after a change."""

    def __init__(self, bounds: Sequence[Bounds]) -> None:
        self.bounds = tuple(bounds)
        self.numbers: np.ndarray = np.zeros(0, np.int64)
        self.constants: pa.Table | None = None
        self.gone: np.ndarray = np.zeros(0, np.int64)
        self._keys = KeyColumns()
        self._made: tuple[Any, tuple[_Interval, ...]] | None = None

    def add(self, numbers: np.ndarray, constants: pa.Table) -> None:
        """Add rules; the index is built when the next event asks for it."""
        read = (bound.constant.column for bound in self.bounds if isinstance(bound.constant, RuleConstant))
        bound_columns = constants.select(list(dict.fromkeys(read)))
        self.constants = bound_columns if self.constants is None else pa.concat_tables([self.constants, bound_columns])
        self.gone = np.setdiff1d(self.gone, numbers)  # a state that is restored has its rules again
        self.numbers, self._made = np.concatenate([self.numbers, numbers]), None

    def remove(self, numbers: np.ndarray) -> None:
        self.gone, self._made = np.union1d(self.gone, numbers), None

    def clear(self) -> None:
        self.numbers, self.constants, self.gone, self._made = np.zeros(0, np.int64), None, np.zeros(0, np.int64), None

    def copy(self) -> RangeIndex:
        """The same, to which more may come."""
        index = copy(self)  # arrays are never written to; texts and their codes are made anew
        index._keys, index._made = KeyColumns(), None
        return index

    def _index(self) -> tuple[np.ndarray, tuple[_Interval, ...]]:
        if self._made is None:
            assert self.constants is not None
            alive = np.flatnonzero(np.isin(self.numbers, self.gone, invert=True))
            numbers, first = np.unique(self.numbers[alive], return_index=True)
            constants = self.constants.take(from_numpy(alive[first]))
            ends_of: dict[Key, tuple[np.ndarray, np.ndarray]] = {}
            for bounds in self.bounds:
                low, high = self._ends(bounds, constants, len(numbers))
                known = ends_of.get(bounds.key)
                ends_of[bounds.key] = (
                    (low, high) if known is None else (np.maximum(known[0], low), np.minimum(known[1], high))
                )
            self._made = numbers, tuple(_interval(key, *ends) for key, ends in ends_of.items())
        return self._made

    def _ends(self, bounds: Bounds, constants: pa.Table, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest key that rules let through, or a little less and more."""
        values, null = self._keys.constants(bounds.key, bounds.constant, constants, count)
        low, high = np.full(count, LEAST), np.full(count, MOST)
        if bounds.operator in ("=", ">", ">="):
            low = values + ((bounds.operator == ">") & (values < MOST))
        if bounds.operator in ("=", "<", "<="):
            high = values - ((bounds.operator == "<") & (values > LEAST))
        # Events have no key below LEAST: see `KeyColumns`.
        return np.where(null, MOST, low), np.where(null, NULL, np.maximum(high, LEAST))

    def most(self, batch: Batch) -> np.ndarray:
        """How many rules each event is compared with."""
        return np.zeros(len(batch), np.int64) if self.constants is None else self._best(batch)[1]

    def find(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The places of events, and the numbers of the rules that each may pass."""
        if self.constants is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        numbers, intervals = self._index()
        order, counts, values = self._best(batch)
        events = np.repeat(np.arange(len(batch)), counts)
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        rules = order[np.arange(len(events)) - begin]
        for interval, value in zip(intervals, values, strict=True):
            keys = value[events]
            kept = (keys != NULL) & (keys >= interval.lows[rules]) & (keys <= interval.highs[rules])
            events, rules = events[kept], rules[kept]
        return events, numbers[rules]

    def _best(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The order of rules in which events pass the fewest first ones, how many each does, and the keys of events."""
        _, intervals = self._index()
        values = [self._values(batch, interval.key) for interval in intervals]
        best: tuple[np.ndarray, np.ndarray] | None = None
        for interval, value in zip(intervals, values, strict=True):
            for sign, ends, order in interval.sides:
                counts = np.where(value == NULL, 0, np.searchsorted(ends, sign * np.maximum(value, LEAST), "right"))
                if best is None or counts.sum() < best[1].sum():
                    best = order, counts
        assert best is not None
        return *best, values

    def _values(self, batch: Batch, key: Key) -> Any:
        return batch.once_for(("key", id(self), key), lambda: self._keys.of_one(batch, key))


def _interval(key: Key, lows: np.ndarray, highs: np.ndarray) -> _Interval:
    by_low = np.argsort(lows, kind="stable")
    ends = -np.maximum(highs, LEAST)
    by_high = np.argsort(ends, kind="stable")
    sides = (1, lows[by_low], by_low), (-1, ends[by_high], by_high)
    used = [side for side, bound in zip(sides, ((lows > LEAST).any(), (highs < MOST).any()), strict=True) if bound]
    return _Interval(key, lows, highs, tuple(used) or sides[:1])
