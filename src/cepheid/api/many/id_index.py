"""Finds rules by their ids, without a look at all of them: sorted arrays of hashes, sixteen bytes a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy, to_numpy


class IdIndex:
    """The numbers of rules by the hashes of their ids. An id may be there several times: it was removed in between."""

    def __init__(self, ids: pa.Array) -> None:
        self._parts: list[tuple[Any, Any]] = []  # hashes, ascending, and numbers; they double in size
        self.add(ids, 0)

    def add(self, ids: pa.Array, first: int) -> None:
        """More rules, whose numbers begin at `first`."""
        self._parts.append(_sorted(_hashes(ids), first + np.arange(len(ids))))
        while len(self._parts) > 1 and len(self._parts[-2][0]) <= 2 * len(self._parts[-1][0]):
            (hashes, numbers), (more, others) = self._parts[-2:]
            self._parts[-2:] = [_sorted(np.concatenate([hashes, more]), np.concatenate([numbers, others]))]

    def find(self, asked: pa.Array, known: pa.Array) -> tuple[Any, Any]:
        """The places of asked ids that are known, and the number of the rule of each. known: the ids of all rules."""
        hashes = _hashes(asked)
        found = [_found(hashes, *part) for part in self._parts]
        places, numbers = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = np.lexsort((numbers, places))
        places, numbers = places[order], numbers[order]
        same = pc.equal(asked.take(from_numpy(places)), known.take(from_numpy(numbers))).fill_null(False)
        equal = np.flatnonzero(same.to_numpy(zero_copy_only=False))
        return places[equal], numbers[equal]


def _found(asked: Any, hashes: Any, numbers: Any) -> tuple[Any, Any]:
    """The places of hashes that are there, and the numbers that each has."""
    low, high = np.searchsorted(hashes, asked, "left"), np.searchsorted(hashes, asked, "right")
    counts = high - low
    places = np.repeat(np.arange(len(asked)), counts)
    begins = np.repeat(low - np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]])[: len(low)], counts)
    return places, numbers[begins + np.arange(len(places))]


def _sorted(hashes: Any, numbers: Any) -> tuple[Any, Any]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], numbers[order]


def _hashes(ids: pa.Array) -> Any:
    if pa.types.is_integer(ids.type) and not ids.null_count:
        return to_numpy(ids)
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))
