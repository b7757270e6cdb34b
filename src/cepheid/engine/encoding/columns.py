"""From Arrow columns to what a kernel reads: numbers, flags of NULLs, codes of types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import flags_to_numpy, to_numpy
from cepheid.engine.encoding.dictionaries import unified
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind
from cepheid.values.value import Value

TOO_LATE = 2**62  # nanoseconds: the difference of two such times still fits into 64 bits


class Unfit(Exception):  # noqa: N818  a reason, not an error
    """Values that a kernel can't compute with exactly."""


def numbers_of(name: str, kind: Kind, column: pa.ChunkedArray) -> Any:
    """The values of a column that is not of strings; where one is NULL, the number has no meaning."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    arrow = array.type
    if kind is Kind.BOOL:
        return to_numpy(array.cast(pa.uint8()).fill_null(0))
    if kind is Kind.FLOAT:
        return _filled(array if arrow == pa.float64() else array.cast(pa.float64()), 0.0)
    if kind is Kind.DATE:
        return _filled(array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), 0)
    if kind in (Kind.TIMESTAMP, Kind.DURATION):
        numbers = _filled(array.view(pa.int64()), 0)
        scale = ARROW_UNITS[arrow.unit]
        if len(numbers):
            _check_near(name, -int(numbers.min()) * scale, int(numbers.max()) * scale)
        return numbers * scale if scale != 1 else numbers
    if arrow == pa.int64():
        return _filled(array, 0)
    try:
        return _filled(array.cast(pa.int64()), 0)
    except pa.ArrowInvalid:
        raise Unfit(f"'{name}' has integers beyond 64 signed bits") from None


def few_numbers(name: str, kind: Kind, values: Sequence[Value]) -> Any:
    """The same of a few values."""
    cells: list[Value] = [0 if value is None else value for value in values]
    if kind in (Kind.TIMESTAMP, Kind.DURATION):
        _check_near(name, *map(abs, cells))
    return np.array(cells, {Kind.BOOL: np.uint8, Kind.FLOAT: np.float64}.get(kind, np.int64))


def _check_near(name: str, *nanoseconds: int) -> None:
    if max(nanoseconds) >= TOO_LATE:
        raise Unfit(f"the times of '{name}' are too far from 1970 to be computed with in nanoseconds")


_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
_AS_THEY_ARE = {*_WHOLE, pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.null()}


def few_values(column: pa.ChunkedArray) -> list[Value] | None:
    """The values of a few events; None where Arrow has others than a kernel is given."""
    arrow = column.type
    if (arrow.value_type if isinstance(arrow, pa.DictionaryType) else arrow) not in _AS_THEY_ARE:
        return None
    cells: list[Value] = [column[0].as_py()] if len(column) == 1 else column.to_pylist()
    return cells


def nulls(column: pa.ChunkedArray) -> np.ndarray:
    """Which values of a column are NULL."""
    parts = [flags_to_numpy(chunk.is_null()) for chunk in column.chunks]
    return (parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, bool)])).view(np.uint8)


def type_codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str | None]]:
    """The code of each event's type, and the types that the codes stand for; NULL is one of them."""
    coded = as_dictionary(column)
    names: list[str | None] = [*coded.dictionary.to_pylist(), None]
    codes = coded.indices.cast(pa.int32())
    if codes.null_count:
        codes = codes.fill_null(len(names) - 1)
    return to_numpy(codes), names


def few_type_codes(values: Iterable[str | None]) -> tuple[np.ndarray, list[str | None]]:
    """The same of a few values."""
    known: dict[str | None, int] = {}
    codes = [known.setdefault(name, len(known)) for name in values]
    return np.array(codes, np.int32), [*known, None]


def type_numbers(names: Sequence[str | None], types: Sequence[str]) -> np.ndarray:
    """For each type code, the number of the type among those that a query names, from 1; 0 for others."""
    known = {name: number for number, name in enumerate(types, start=1)}
    return np.array([0 if name is None else known.get(name, 0) for name in names], np.uint16)


def as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as codes of its distinct values."""
    if not isinstance(column.type, pa.DictionaryType):
        # Arrow can't make one dictionary of several parts for all types.
        column = column.cast({pa.null(): pa.int64(), pa.float16(): pa.float32()}.get(column.type, column.type))
        column = column.dictionary_encode()
    column = unified(column)
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], column.type.value_type))
    indices = pa.concat_arrays([chunk.indices for chunk in column.chunks])
    return pa.DictionaryArray.from_arrays(indices, column.chunk(0).dictionary)


def take_codes(numbers: np.ndarray, indices: pa.Array, missing: int) -> np.ndarray:
    if indices.null_count:
        numbers = np.append(numbers, np.array([missing], numbers.dtype))
        indices = indices.cast(pa.int64()).fill_null(len(numbers) - 1)
    if not len(numbers):
        return np.zeros(len(indices), numbers.dtype)
    if len(numbers) == 1:
        return np.full(len(indices), numbers[0])
    return numbers.take(to_numpy(indices), mode="clip")  # an index is never out of range; to check it costs more


def _filled(array: pa.Array, value: object) -> np.ndarray:
    return to_numpy(array.fill_null(value) if array.null_count else array)
