"""Strings as numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.columns import as_dictionary, take_codes


class Strings:
    """Codes for the strings of a stream: equal strings have equal codes, for as long as the stream is open."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def code(self, text: str) -> int:
        """The code of a string."""
        return self.codes.setdefault(text, len(self.codes))

    def encode(self, column: pa.ChunkedArray) -> np.ndarray:
        """The codes of a column; NULL is -1."""
        coded = as_dictionary(column)
        numbers = np.array([-1 if text is None else self.code(text) for text in coded.dictionary.to_pylist()], np.int64)
        return take_codes(numbers, coded.indices, -1)

    def encode_few(self, values: Iterable[str | None]) -> np.ndarray:
        """The codes of a few values."""
        return np.array([-1 if text is None else self.code(text) for text in values], np.int64)

    def keep(self, held: Iterable[np.ndarray]) -> np.ndarray:
        """Drop the strings that are in none of some arrays of codes; the new code of each old one, -1 where gone."""
        texts = list(self.codes)
        held_codes = np.unique(np.concatenate([np.zeros(0, np.int64), *held]))
        kept = held_codes[(held_codes >= 0) & (held_codes < len(texts))]
        number = np.full(len(texts) + 1, -1, np.int64)  # the last one is for -1, which stays
        number[kept] = np.arange(len(kept))
        self.codes = {texts[k]: code for code, k in enumerate(kept.tolist())}
        return number
