"""Rows with equal times in the order of their content (S1), column by column, until no two rows are tied.

A column is read as one or more keys: numbers that sort as its values do. `values.keys.sort_key` defines that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import flags_to_numpy, from_numpy
from cepheid.engine.encoding.columns import as_dictionary
from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.values.columns import column_values
from cepheid.values.keys import sort_key

Key = Callable[[Any], Any]
"""Gives the keys of some rows of an array, as whole numbers."""

_SIGN = np.uint64(1 << 63)
_ALL = np.uint64(2**64 - 1)
_NUMBERS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_MOST = 2**31 - 1
"""Bytes of strings that fit into one array whose offsets have 32 bits."""
_WORD = 8  # bytes that a key has
_NARROW = 8  # bits of keys that seldom leave no ties: more keys are put to them before rows are sorted
_SAMPLE, _FEW_WORDS = 1024, 256
"""Strings that are looked at, and how many different ones are worth a dictionary."""


class TiedRows:
    """Rows that are tied, in groups. rows: in the order that is known so far, groups one after the other.

    whole: the rows are all rows of a table, as they are there.
    """

    def __init__(self, rows: np.ndarray, groups: np.ndarray, *, whole: bool = False) -> None:
        self._rows = rows
        self._whole = whole
        self._at: Any = slice(None)  # the places of those that are still tied
        self._groups = groups  # of those, numbered from 0 on
        self._packed: Any = None  # keys of those that they were not sorted by yet, the group before them
        self._width = 0  # of these keys, in bits

    def __bool__(self) -> bool:
        return len(self._groups) > 0

    @property
    def rows(self) -> np.ndarray:
        """All rows, in the order of what they were split by."""
        self._sort()
        return self._rows

    def split(self, column: pa.ChunkedArray) -> None:
        """Order tied rows by a column; those with equal values stay tied."""
        if self._width > _NARROW:
            self._sort()
        if not self:
            return
        left, array = self._left(), column
        few = not isinstance(left, slice) and 4 * len(left) < len(column)
        keys = _keys(_in_one(array.take(from_numpy(left)) if few else array))
        self._split_by(keys, left if few else None)

    def _split_by(self, keys: Iterator[Key], only: np.ndarray | None = None) -> None:
        """Order tied rows by keys. only: the rows that there are keys of, if not of all."""
        for key in keys:
            if self._width > _NARROW:
                self._sort()
            if not self:
                return
            left = self._left()
            self._take(key(left if only is None else _places(only, left)))

    def _left(self) -> Any:
        """The rows that are still tied."""
        return slice(None) if self._whole else self._rows[self._at]

    def _take(self, numbers: np.ndarray) -> None:
        """Put numbers to the keys: as many of their bits at a time as fit into a word beside the group."""
        numbers = _from_zero(numbers)
        width = int(numbers.max()).bit_length()
        if self._width and self._width + width > self._room():
            numbers = numbers[self._sort()]
        while width and self:
            rest = max(width - self._room() + self._width, 0)
            if self._packed is None:
                self._packed = self._groups.astype(np.uint64)
            self._packed <<= np.uint64((width - rest) & 63)  # all bits of a word are none: there is one group, 0
            self._packed |= numbers >> np.uint64(rest) if rest else numbers
            self._width += width - rest
            if rest:
                numbers = numbers[self._sort()] & ((np.uint64(1) << np.uint64(rest)) - np.uint64(1))
            width = rest

    def _room(self) -> int:
        return 64 - int(self._groups[-1]).bit_length() if self else 64

    def _sort(self) -> Any:
        """Sort by the keys so far; those that stay tied, by the places that they had before."""
        packed, self._packed, self._width = self._packed, None, 0
        if packed is None:
            return slice(None)
        order = None
        if not (packed[1:] >= packed[:-1]).all():
            order = np.argsort(packed, kind="stable")
            packed = packed[order]
            self._rows[self._at] = self._rows[self._at][order]
            self._whole = False
        same = np.zeros(len(packed) + 1, bool)
        np.equal(packed[1:], packed[:-1], out=same[1:-1])
        tied = same[1:] | same[:-1]
        if tied.all():
            self._groups = _numbered(packed)
            return slice(None) if order is None else order
        left = np.flatnonzero(tied)
        self._groups = _numbered(packed[left])
        self._at = left if isinstance(self._at, slice) else self._at[left]
        self._whole = False
        return left if order is None else order[left]


def _numbered(packed: np.ndarray) -> np.ndarray:
    """Sorted numbers as those of groups, from 0 on."""
    groups = np.zeros(len(packed), np.int32)
    np.cumsum(packed[1:] != packed[:-1], out=groups[1:])
    return groups


def _from_zero(numbers: np.ndarray) -> np.ndarray:
    """Numbers less the least of them, without a sign."""
    least = int(numbers.min())
    numbers = numbers.view(_NUMBERS[numbers.itemsize])
    return numbers - numbers.dtype.type(least % 256**numbers.itemsize) if least else numbers


def _places(rows: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Where each of some rows is among others."""
    if np.array_equal(rows, some):
        return np.arange(len(rows))
    place = np.empty(int(rows.max()) + 1, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    places: np.ndarray = place[some]
    return places


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    arrow = column.type
    if isinstance(arrow, pa.DictionaryType):
        if pa.types.is_nested(arrow.value_type):  # of which Arrow can't make one dictionary
            return _in_one(column.cast(arrow.value_type))
        return as_dictionary(column)
    if arrow in _LARGE and column.nbytes > _MOST:
        column = column.cast(_LARGE[arrow])
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], arrow)


def ranks(array: pa.Array) -> np.ndarray:
    """Numbers that sort as the values do: 0 for NULL, and from 1 on for others."""
    ties = TiedRows(np.arange(len(array)), np.zeros(len(array), np.int64), whole=True)
    ties._split_by(_keys(array))
    rows, nulls = ties.rows, _nulls(array)
    first = np.ones(len(array), bool)  # of those that are equal
    at = np.arange(len(array))[ties._at]
    first[at[1:]] = ties._groups[1:] != ties._groups[:-1]
    rank = np.empty(len(array), np.uint64)
    rank[rows] = np.cumsum(first)
    if nulls is not None:
        rank -= np.uint64(1)  # they are the first
    return rank


def _keys(array: pa.Array) -> Iterator[Key]:
    """The keys of an array, the first one first."""
    arrow = array.type
    if pa.types.is_null(arrow):
        return
    if isinstance(arrow, pa.DictionaryType):
        words = np.append(ranks(array.dictionary), np.uint64(0))  # the last one is for NULL
        narrow = np.uint8 if len(words) < 2**8 else np.uint32
        yield _looked_up(words.astype(narrow), _filled(array.indices, len(words) - 1))
        return
    nulls = _nulls(array)
    if nulls is not None:
        there = ~nulls
        yield lambda rows: there[rows]
    if pa.types.is_struct(arrow):
        for field in array.flatten():  # which has NULL where the struct is NULL
            yield from _keys(field)
    elif pa.types.is_boolean(arrow):
        flags = flags_to_numpy(array.fill_null(False))
        yield lambda rows: flags[rows]
    elif pa.types.is_floating(arrow):
        yield _floats(array)
    elif pa.types.is_decimal(arrow):
        yield from _decimals(array)
    elif (width := _width_of_integers(arrow)) is not None:
        yield _integers(array, width, signed=not pa.types.is_unsigned_integer(arrow))
    elif pa.types.is_fixed_size_binary(arrow):
        yield from _bytes(array, np.arange(len(array) + 1) * arrow.byte_width, 1)
    elif pa.types.is_string(arrow) or pa.types.is_binary(arrow):
        yield from _texts(array, np.int32)
    elif pa.types.is_large_string(arrow) or pa.types.is_large_binary(arrow):
        yield from _texts(array, np.int64)
    else:
        yield lambda rows: _ranks_in_python(array.take(from_numpy(np.arange(len(array))[rows])))


def _width_of_integers(arrow: pa.DataType) -> int | None:
    """The bytes of a value that is kept as a whole number; None for others."""
    kind = from_arrow(arrow).kind
    if kind in (Kind.INT, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION) or pa.types.is_time(arrow):
        return int(arrow.bit_width) // 8
    return None


def _nulls(array: pa.Array) -> Any:
    return flags_to_numpy(array.is_null()) if array.null_count else None


def _filled(codes: pa.Array, missing: int) -> np.ndarray:
    numbers, nulls = _buffer(codes, 1, codes.type.bit_width // 8), _nulls(codes)
    return numbers if nulls is None else np.where(nulls, missing, numbers)


def _looked_up(words: np.ndarray, codes: np.ndarray) -> Key:
    return lambda rows: words[codes[rows]]


def _buffer(array: pa.Array, number: int, width: int, words: int = 1) -> np.ndarray:
    """The numbers of a buffer; where a value is NULL, the number has no meaning."""
    buffer = array.buffers()[number]
    count = len(array) * words
    if buffer is None:
        return np.zeros(count, _NUMBERS[width])
    return np.frombuffer(buffer, _NUMBERS[width], count, array.offset * width * words)


def _integers(array: pa.Array, width: int, *, signed: bool) -> Key:
    numbers, nulls = _buffer(array, 1, width), _nulls(array)
    if signed:
        numbers = numbers.view(numbers.dtype.name[1:])
    return lambda rows: _without(numbers[rows], nulls, rows)


def _without(keys: np.ndarray, nulls: np.ndarray | None, rows: Any) -> np.ndarray:
    """Keys that are alike where values are NULL."""
    return keys if nulls is None else np.where(nulls[rows], keys[0], keys)


def _floats(array: pa.Array) -> Key:
    """The bits of a float sort as it does, but for the sign; NaN is last, whatever its bits."""
    nulls = _nulls(array)
    wide = array if array.type == pa.float64() else array.cast(pa.float64())
    bits = _buffer(wide, 1, 8)

    def key(rows: Any) -> np.ndarray:
        found = bits[rows]
        keys = np.where(found & _SIGN, ~found, found | _SIGN)
        keys[np.isnan(found.view(np.float64))] = _ALL
        return _without(keys, nulls, rows)

    return key


def _decimals(array: pa.Array) -> Iterator[Key]:
    """A decimal is a whole number of one, two or four words, the lowest one first."""
    nulls, width = _nulls(array), array.type.bit_width // 8
    if width <= _WORD:
        yield _integers(array, width, signed=True)
        return
    words = _buffer(array, 1, _WORD, width // _WORD).reshape(-1, width // _WORD)

    def key_of(place: int, flip: Any) -> Key:
        return lambda rows: _without(words[rows, place] ^ flip, nulls, rows)

    for place in reversed(range(width // _WORD)):
        yield key_of(place, _SIGN if place == width // _WORD - 1 else np.uint64(0))


def _texts(array: pa.Array, offset: Any) -> Iterator[Key]:
    """Strings by their bytes. Where there are few different ones, a dictionary is faster."""
    sample = array.slice(0, _SAMPLE)
    if len(array) > _SAMPLE and len(sample.dictionary_encode().dictionary) <= _FEW_WORDS:
        coded = array.dictionary_encode()
        yield from _keys(coded)
        return
    offsets = np.frombuffer(array.buffers()[1], offset, len(array) + 1, array.offset * np.dtype(offset).itemsize)
    yield from _bytes(array, offsets.astype(np.int64), 2)


def _bytes(array: pa.Array, offsets: np.ndarray, number: int) -> Iterator[Key]:
    """Eight bytes at a time, the first one in the highest place; then the length, which tells zeros from nothing."""
    buffer, nulls = array.buffers()[number], _nulls(array)
    begins, lengths = offsets[:-1], np.diff(offsets)
    if number == 1:  # of a fixed width, whose values are counted from the offset of the array on
        begins = begins + array.offset * array.type.byte_width
    if nulls is not None:
        lengths = np.where(nulls, 0, lengths)
    given = np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
    padded = np.concatenate([given, np.zeros(_WORD, np.uint8)])
    words = np.ndarray((len(padded) - _WORD + 1,), ">u8", padded, strides=(1,))

    def key_at(done: int) -> Key:
        def key(rows: Any) -> np.ndarray:
            there = np.clip(lengths[rows] - done, 0, _WORD)
            found = words[np.where(there, begins[rows] + done, 0)].astype(np.uint64)
            gone = ((_WORD - there) * 8).astype(np.uint64)
            return np.where(there == 0, np.uint64(0), found >> (gone & np.uint64(63)) << (gone & np.uint64(63)))

        return key

    for done in range(0, int(lengths.max(initial=0)), _WORD):
        yield key_at(done)
    yield lambda rows: lengths[rows]


def _ranks_in_python(array: pa.Array) -> np.ndarray:
    """What has no keys of its own: lists, maps and the like."""
    keys = [sort_key(value) for value in column_values(pa.chunked_array([array]))]
    known = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([known[key] for key in keys], np.int64)
