"""The bucket of each event by a hash of its key, computed by pyarrow and numpy."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import pyarrow as pa

from cepheid.pattern.expressions.types import Kind, from_arrow

_ODD = np.uint64(0x9E3779B97F4A7C15)


def bucket_numbers(table: pa.Table, key: Sequence[str], count: int) -> np.ndarray:
    """Return the bucket of each row: the same in every process, and for all keys that are equal to the engine."""
    mixed = np.zeros(table.num_rows, np.uint64)
    for name in key:
        mixed = (mixed ^ _hashes(table.column(name))) * _ODD
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(count)).astype(np.int64)


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    """Return 64 bits for each value. All NULLs have the same, so do 0.0 and -0.0, and all NaN."""
    kind = from_arrow(column.type).kind
    if kind is Kind.FLOAT:
        floats = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0
        return np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    if kind in (Kind.INT, Kind.BOOL, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION):
        if kind is Kind.DATE:
            column = column.cast(pa.int32())
        whole: np.ndarray = column.cast(pa.int64()).fill_null(0).to_numpy().view(np.uint64)
        return whole
    encoded = column.combine_chunks() if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    encoded = pa.chunked_array([encoded]) if isinstance(encoded, pa.Array) else encoded
    hashes = [_hashes_of_strings(chunk) for chunk in encoded.chunks]
    return np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)


def _hashes_of_strings(codes: pa.DictionaryArray) -> np.ndarray:
    """Hash each string of the dictionary once. Decimals are hashed as strings too."""
    words = codes.dictionary
    if not pa.types.is_binary(words.type):
        words = words.cast(pa.string()).cast(pa.binary())
    numbers = np.array([0 if word is None else crc32(word) for word in words.to_pylist()] + [0], np.uint64)
    hashes: np.ndarray = numbers[codes.indices.fill_null(len(words)).to_numpy()]
    return hashes
