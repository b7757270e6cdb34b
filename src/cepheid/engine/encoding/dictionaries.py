"""Dictionaries of columns of codes: one for all parts of a column, and without the words that no row has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, to_numpy

FEW_WORDS = 32
"""Words that are not worth looking for those that no row has."""


def unified(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of codes with one dictionary; its codes may be of a wider type."""
    try:
        return column.unify_dictionaries()
    except pa.ArrowInvalid:  # the words of all parts are too many for the type of the codes
        chunks = [pa.DictionaryArray.from_arrays(c.indices.cast(pa.int32()), c.dictionary) for c in column.chunks]
        return pa.chunked_array(chunks).unify_dictionaries()


def with_one_dictionary_each(table: pa.Table) -> pa.Table:
    """The same rows; a column of codes has one dictionary, if the type of its codes is wide enough for that."""
    try:
        return table.unify_dictionaries()
    except pa.ArrowInvalid:
        return table


def without_unused_words(table: pa.Table) -> pa.Table:
    """The same rows; of a column of codes, the dictionary has only words that they have.

    Rows that are cut out of a table keep its whole dictionary, and joining dictionaries only adds words.
    """
    for k, field in enumerate(table.schema):
        if isinstance(field.type, pa.DictionaryType):
            column = table.column(k)
            if any(len(chunk.dictionary) > FEW_WORDS for chunk in column.chunks):
                chunks = [_trimmed(chunk) for chunk in column.chunks]
                table = table.set_column(k, field, pa.chunked_array(chunks, field.type))
    return table


def _trimmed(codes: pa.DictionaryArray) -> pa.DictionaryArray:
    arrow, words, indices = codes.type, codes.dictionary, codes.indices
    numbers = to_numpy(indices.fill_null(0) if indices.null_count else indices)
    used = np.zeros(len(words), bool)
    used[numbers] = True
    if used.all():
        return codes
    moved = (np.cumsum(used) - 1).take(numbers)
    indexes = from_numpy(moved).cast(arrow.index_type)
    if indices.null_count:
        indexes = pa.Array.from_buffers(arrow.index_type, len(indexes), [_validity(indices), indexes.buffers()[1]])
    kept = words.take(from_numpy(np.flatnonzero(used)))
    return pa.DictionaryArray.from_arrays(indexes, kept, ordered=arrow.ordered)


def _validity(indices: pa.Array) -> pa.Buffer:
    """Which values there are, as bits from the first one on."""
    bits: pa.Buffer = indices.is_valid().buffers()[1]
    return bits
