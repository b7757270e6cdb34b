"""Finds rules by their ids, without a look at all of them: a sorted array of hashes, sixteen bytes a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy, to_numpy


class IdIndex:
    """The numbers of rules by the hashes of their ids. An id may be there several times: it was removed in between."""

    def __init__(self, ids: pa.Array) -> None:
        hashes = _hashes(ids)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._numbers = order.astype(np.int64)

    def add(self, ids: pa.Array, first: int) -> None:
        """More rules, whose numbers begin at `first`."""
        hashes = _hashes(ids)
        order = np.argsort(hashes, kind="stable")
        places = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, places, hashes[order])
        self._numbers = np.insert(self._numbers, places, first + order)

    def find(self, asked: pa.Array, known: pa.Array) -> tuple[Any, Any]:
        """The places of asked ids that are known, and the number of the rule of each. known: the ids of all rules."""
        hashes = _hashes(asked)
        low, high = np.searchsorted(self._hashes, hashes, "left"), np.searchsorted(self._hashes, hashes, "right")
        counts = high - low
        places = np.repeat(np.arange(len(asked)), counts)
        begins = np.repeat(low - np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]]), counts)
        numbers = self._numbers[begins + np.arange(len(places))] if len(places) else places
        same = pc.equal(asked.take(from_numpy(places)), known.take(from_numpy(numbers))).fill_null(False)
        equal = np.flatnonzero(same.to_numpy(zero_copy_only=False))
        return places[equal], numbers[equal]


def _hashes(ids: pa.Array) -> Any:
    if pa.types.is_integer(ids.type) and not ids.null_count:
        return to_numpy(ids)
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))
