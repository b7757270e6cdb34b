"""Rules by a constant of each: sorted parts, so that neither a change nor a look costs as much as there are rules."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.encoding.columns import as_dictionary, take_codes

NONE = np.zeros(0, np.int64)
UNKNOWN = -1
"""The code of a text that no rule has."""
SOME = 1000
"""So many rules, and half of all, may be gone before the others are put together anew."""


class ValueIndex:
    """The numbers of rules by their constants. Parts double in size; each is sorted by value and number."""

    def __init__(self) -> None:
        self._parts: tuple[tuple[Any, Any], ...] = ()
        self._texts: dict[str, int] = {}
        self._gone = NONE  # ascending

    def copy(self) -> ValueIndex:
        """The same, to which more may come."""
        index = copy(self)  # arrays are never written to
        index._texts = dict(self._texts)
        return index

    def clear(self) -> None:
        self._parts, self._texts, self._gone = (), {}, NONE

    def add(self, numbers: np.ndarray, constants: pa.ChunkedArray) -> None:
        """Add rules by the value that each asks for; parts of a like size are merged."""
        keys, valid = self._keys(constants, learn=True)
        parts = [*self._parts, _sorted(keys[valid], numbers[valid])]
        while len(parts) > 1 and len(parts[-2][0]) <= 2 * len(parts[-1][0]):
            (keys, rules_of), (more, others) = parts[-2:]
            parts[-2:] = [_sorted(np.concatenate([keys, more]), np.concatenate([rules_of, others]))]
        self._parts = tuple(parts)

    def remove(self, numbers: np.ndarray) -> None:
        """Remove rules; they are masked until they are half of all."""
        self._gone = np.union1d(self._gone, numbers)
        total = sum(len(rules_of) for _, rules_of in self._parts)
        if len(self._gone) > SOME + total // 2:
            keys = np.concatenate([NONE, *(keys for keys, _ in self._parts)])
            rules_of = np.concatenate([NONE, *(rules_of for _, rules_of in self._parts)])
            kept = _without(rules_of, self._gone)
            self._parts, self._gone = (_sorted(keys[kept], rules_of[kept]),), NONE

    def find(self, column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """The places of values, and the rules that have each, by place and number."""
        keys, valid = self._keys(column, learn=False)
        asked = np.flatnonzero(valid)
        pairs = [self._found(asked, keys[asked], *part) for part in self._parts]
        if not pairs:
            return NONE, NONE
        places, numbers = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
        if len(self._gone):
            kept = _without(numbers, self._gone)
            places, numbers = places[kept], numbers[kept]
        if len(pairs) > 1:
            order = np.lexsort((numbers, places))
            places, numbers = places[order], numbers[order]
        return places, numbers

    @staticmethod
    def _found(
        asked: np.ndarray, wanted: np.ndarray, keys: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        begins, ends = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        counts = ends - begins
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        index = np.repeat(begins - total[:-1], counts) + np.arange(total[-1])
        return np.repeat(asked, counts), numbers[index]

    def _keys(self, column: pa.ChunkedArray, *, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """A whole number for each value, and where there is one."""
        if isinstance(column.type, pa.DictionaryType) and not _is_text(column.type.value_type):
            column = column.cast(column.type.value_type)
        if isinstance(column.type, pa.DictionaryType) or _is_text(column.type):
            coded = as_dictionary(column)
            texts = coded.dictionary.to_pylist()
            if learn:
                codes = [self._texts.setdefault(text, len(self._texts)) for text in texts]
            else:
                codes = [self._texts.get(text, UNKNOWN) for text in texts]
            keys = take_codes(np.array(codes, np.int64), coded.indices, UNKNOWN)
            return keys, keys != UNKNOWN
        valid = np.asarray(column.is_valid().to_numpy(), bool)
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        column = column.cast(pa.int64()).fill_null(0).combine_chunks()
        return to_numpy(column.chunk(0) if isinstance(column, pa.ChunkedArray) else column), valid


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _sorted(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort((numbers, keys))
    return keys[order], numbers[order]


def _without(numbers: np.ndarray, gone: np.ndarray) -> Any:
    """Which numbers are not among others, that ascend."""
    places = np.minimum(np.searchsorted(gone, numbers), len(gone) - 1)
    return gone[places] != numbers
