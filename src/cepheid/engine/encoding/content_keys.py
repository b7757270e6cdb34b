"""What stands for the content of a row: two words, equal for equal rows, on every machine and in every process."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import flags_to_numpy, from_numpy, to_numpy
from cepheid.values.match_id import content_text
from cepheid.values.value import Value

_SEEDS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)[:, None]
_NULL = np.uint64(0x5851F42D4C957F2D)
_NAN = np.float64("nan")


def row_keys(table: pa.Table, untyped: Sequence[str] = ()) -> np.ndarray:
    """The keys of all rows: an array of two rows of words.

    untyped: columns whose values count whatever the type of the column: 1 is 1.0.
    NaN equals NaN. -0.0 is not 0.0: else what is left when one is retracted would depend on which came first.
    """
    keys: np.ndarray = np.zeros((2, table.num_rows), np.uint64) + _SEEDS
    for name, column in zip(table.column_names, table.columns, strict=True):
        words = _of_values(column.to_pylist()) if name in untyped else _words(_in_one(column))
        keys = mixed(keys, words)
    return keys


def mixed(keys: np.ndarray, words: np.ndarray) -> Any:
    """Keys that depend on other words too; the order counts."""
    with np.errstate(over="ignore"):
        z = keys * np.uint64(3) + words + _SEEDS
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.unify_dictionaries().combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) and whole.num_chunks else whole


def _words(array: pa.Array) -> np.ndarray:
    """Two words for each value, or one that counts twice."""
    arrow = array.type
    if pa.types.is_dictionary(arrow):
        return _with_nulls(array, _of_codes(array))
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_binary(arrow):
        return _with_nulls(array, _of_codes(array.dictionary_encode()))
    if pa.types.is_floating(arrow):
        numbers = to_numpy(_filled(array).cast(pa.float64()))
        return _with_nulls(array, np.where(np.isnan(numbers), _NAN, numbers).view(np.uint64))
    if pa.types.is_boolean(arrow):
        return _with_nulls(array, flags_to_numpy(_filled(array)).astype(np.uint64))
    if pa.types.is_temporal(arrow) and arrow.bit_width in (32, 64):
        array = array.view(pa.int32() if arrow.bit_width == 32 else pa.int64())
    if pa.types.is_integer(array.type):
        return _with_nulls(array, to_numpy(_filled(array)).astype(np.uint64))
    if pa.types.is_struct(arrow) and arrow.num_fields:
        fields = pa.Table.from_arrays(array.flatten(), [str(k) for k in range(arrow.num_fields)])
        return _with_nulls(array, row_keys(fields))
    if pa.types.is_null(arrow):  # it may have another type one day, and the same rows then have the same keys
        return np.full(len(array), _NULL)
    return _with_nulls(array, _of_texts([content_text(value) for value in array.to_pylist()]))


def _of_values(values: list[Value]) -> Any:
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
    return _of_texts([content_text(value) for value in whole])


def _filled(array: pa.Array) -> pa.Array:
    """What lies below a NULL is not known; a zero is as good as anything."""
    return array if not array.null_count else array.fill_null(False if pa.types.is_boolean(array.type) else 0)


def _with_nulls(array: pa.Array, words: np.ndarray) -> np.ndarray:
    if not array.null_count:
        return words
    empty = flags_to_numpy(array.is_null())
    return np.where(empty, _NULL, words)


def _of_codes(array: pa.DictionaryArray) -> np.ndarray:
    """Words of a dictionary; each is digested once."""
    values = array.dictionary
    if not len(values):
        return np.zeros(len(array), np.uint64)
    words = _with_nulls(
        values, _of_texts([content_text(value) for value in values.to_pylist()])
    )  # a code may mean NULL
    return words[:, to_numpy(_filled(array.indices)).astype(np.int64)]


def _of_texts(texts: list[str]) -> np.ndarray:
    digests = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(digests, "<u8").reshape(-1, 2).T.astype(np.uint64)


def grouped(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order in which equal keys are together, stable among these; and a number for each group, in that order."""
    order = np.lexsort((keys[1], keys[0]))
    sorted_keys = keys[:, order]
    fresh = np.ones(sorted_keys.shape[1], bool)
    fresh[1:] = (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)
    return order, np.cumsum(fresh) - 1


def rows_of(table: pa.Table, index: list[int] | np.ndarray) -> pa.Table:
    """Some rows of a table."""
    return table.take(from_numpy(np.asarray(index, np.int64)))
