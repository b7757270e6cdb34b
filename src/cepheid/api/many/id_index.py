"""Finds rules by their ids, without a look at all of them: hashes, ascending."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy, to_numpy


@dataclass(frozen=True)
class _Part:
    """Hashes, ascending, and the number of the rule of each, counted from the first; None: as they stand."""

    hashes: np.ndarray
    first: int
    order: np.ndarray | None

    @classmethod
    def of(cls, hashes: np.ndarray, first: int) -> _Part:
        """Of rules side by side."""
        if (hashes[1:] >= hashes[:-1]).all():
            return cls(hashes, first, None)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(hashes[order], first, order)

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """The numbers of rules by the places of their hashes."""
        return self.first + (places if self.order is None else self.order[places].astype(np.int64))

    def followed_by(self, more: _Part) -> _Part:
        """Also those of the next rules."""
        hashes = np.concatenate([self._in_order(), more._in_order()])
        return _Part.of(hashes, self.first)

    def _in_order(self) -> np.ndarray:
        """The hashes in the order of the rules."""
        if self.order is None:
            return self.hashes
        ordered = np.empty_like(self.hashes)
        ordered[self.order] = self.hashes
        return ordered


class IdIndex:
    """The numbers of rules by the hashes of their ids. An id may be there several times: it was removed in between."""

    def __init__(self, ids: pa.Array) -> None:
        self._parts: list[_Part] = []  # they double in size
        self.add(ids, 0)

    def add(self, ids: pa.Array, first: int) -> None:
        """More rules, whose numbers begin at `first`, which is after those so far."""
        self._parts.append(_Part.of(_hashes(ids), first))
        while len(self._parts) > 1 and len(self._parts[-2].hashes) <= 2 * len(self._parts[-1].hashes):
            earlier, later = self._parts[-2:]
            self._parts[-2:] = [earlier.followed_by(later)]

    def find(self, asked: pa.Array, known: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The places of asked ids that are known, and the number of the rule of each. known: the ids of all rules."""
        hashes = _hashes(asked)
        pairs = [_found(hashes, part) for part in self._parts]
        places, numbers = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
        order = np.lexsort((numbers, places))
        places, numbers = places[order], numbers[order]
        same = pc.equal(asked.take(from_numpy(places)), known.take(from_numpy(numbers))).fill_null(False)
        equal = np.flatnonzero(same.to_numpy(zero_copy_only=False))
        return places[equal], numbers[equal]


def _found(asked: np.ndarray, part: _Part) -> tuple[np.ndarray, np.ndarray]:
    """The places of hashes that are there, and the numbers that each has."""
    low, high = np.searchsorted(part.hashes, asked, "left"), np.searchsorted(part.hashes, asked, "right")
    counts = high - low
    places = np.repeat(np.arange(len(asked)), counts)
    begins = np.repeat(low - np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]])[: len(low)], counts)
    return places, part.numbers(begins + np.arange(len(places)))


def _hashes(ids: pa.Array) -> np.ndarray:
    if pa.types.is_integer(ids.type) and not ids.null_count:
        return to_numpy(ids)
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))
