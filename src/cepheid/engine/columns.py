"""From Arrow columns to what a kernel reads: numbers, codes of strings, flags of NULLs, kinds of events, masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import CepheidError, EvaluationError
from cepheid.kernel.source import Mask
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.durations import ARROW_UNITS
from cepheid.pattern.types import Kind
from cepheid.pattern.walk import walk
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import read_rows

TOO_LATE = 2**62  # nanoseconds: the difference of two such times still fits into 64 bits


class Unfit(Exception):  # noqa: N818  a reason, not an error
    """Values that a kernel can't compute with exactly."""


class Strings:
    """Codes for strings: equal strings have equal codes, for as long as a session lives."""

    def __init__(self, codes: Mapping[str, int] | None = None) -> None:
        self.codes: dict[str, int] = dict(codes or {})

    def code(self, text: str) -> int:
        """The code of a string."""
        return self.codes.setdefault(text, len(self.codes))

    def encode(self, column: pa.ChunkedArray) -> Any:
        """The codes of a column; NULL is -1."""
        coded = as_dictionary(column)
        numbers = np.array([-1 if text is None else self.code(text) for text in coded.dictionary.to_pylist()], np.int64)
        return _take(numbers, coded.indices, -1)

    def forget(self, constants: int, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Give up what is in none of some arrays of codes; the first few stay. The arrays, with the codes of now."""
        texts = list(self.codes)
        held = np.unique(np.concatenate([np.zeros(0, np.int64), *arrays.values()]))
        kept = np.union1d(np.arange(constants), held[(held >= 0) & (held < len(texts))])
        number = np.full(len(texts) + 1, -1, np.int64)
        number[kept] = np.arange(len(kept))
        self.codes = {texts[k]: code for code, k in enumerate(kept.tolist())}
        return {name: number[np.clip(array, -1, len(texts))] for name, array in arrays.items()}


def values(query: Bound, name: str, column: pa.ChunkedArray, strings: Strings) -> Any:
    """The values of a column; where one is NULL, the number is of no meaning."""
    kind = query.schema.columns[name].kind
    if kind is Kind.STRING:
        return strings.encode(column)
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    arrow = array.type
    if kind is Kind.BOOL:
        return array.cast(pa.uint8()).fill_null(0).to_numpy()
    if kind is Kind.FLOAT:
        return _filled(array.cast(pa.float64()), 0.0)
    if kind is Kind.DATE:
        return _filled(array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), 0)
    if kind in (Kind.TIMESTAMP, Kind.DURATION):
        numbers = _filled(array.view(pa.int64()), 0)
        scale = ARROW_UNITS[arrow.unit]
        if len(numbers) and max(-int(numbers.min()), int(numbers.max())) * scale >= TOO_LATE:
            raise Unfit(f"the times of '{name}' are too far from 1970 to be computed with in nanoseconds")
        return numbers * scale if scale != 1 else numbers
    try:
        return _filled(array.cast(pa.int64()), 0)
    except pa.ArrowInvalid:
        raise Unfit(f"'{name}' has integers beyond 64 signed bits") from None


def nulls(column: pa.ChunkedArray) -> Any:
    """Which values of a column are NULL."""
    return np.ascontiguousarray(column.is_null().to_numpy()).view(np.uint8)


def kinds(column: pa.ChunkedArray, types: Sequence[str]) -> tuple[Any, Any]:
    """The code of each event's type, and for each code its number among the types that a query reads, from 1."""
    coded = as_dictionary(column)
    known = {name: number for number, name in enumerate(types, start=1)}
    numbers = [known.get(name, 0) for name in coded.dictionary.to_pylist()]
    codes = coded.indices.cast(pa.int32())
    if codes.null_count:
        codes = codes.fill_null(len(numbers))
    return codes.to_numpy(), np.array([*numbers, 0], np.uint16)


def mask(query: Bound, table: pa.Table, wanted: Mask, errors: dict[int, CepheidError]) -> Any:
    """Where a condition on one event holds: 1; 2 where it could not be computed, and `errors` says why."""
    component = query.components[wanted.variable]
    holds = Compiler(query).condition(wanted.condition)
    found = np.zeros(table.num_rows, np.uint8)
    rows = np.arange(table.num_rows)
    if query.schema.roles.type is not None:
        codes, numbers = kinds(table.column(query.schema.roles.type), component.types)
        rows = np.flatnonzero(numbers[codes])
    read = {node.name for node in walk(wanted.condition) if isinstance(node, ex.Attribute)}
    calls = any(isinstance(n, ex.Call) and n.function in query.functions for n in walk(wanted.condition))
    index, back = rows, None
    if len(read) == 1 and not calls and query.schema.roles.types is None:
        column = table.column(next(iter(read)))
        if query.schema.columns[next(iter(read))].kind is Kind.STRING and len(rows) > 64:
            # A pure function of one string is computed once for each distinct string.
            codes = as_dictionary(column.take(pa.array(rows)))
            _, first, back = np.unique(_take(np.arange(len(codes.dictionary)), codes.indices, -1), True, True)
            index = rows[first]
    events = read_rows(table.take(pa.array(index)), query.schema)
    answers = np.zeros(len(index), np.uint8)
    for k, event in enumerate(events):
        try:
            answers[k] = holds(Bindings({wanted.variable: (event,)}, {wanted.variable: event}))
        except EvaluationError as error:
            answers[k] = 2
            errors.setdefault(int(index[k]), error)
    found[rows] = answers if back is None else answers[back]
    return found


def as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as codes of its distinct values."""
    if not isinstance(column.type, pa.DictionaryType):
        # Arrow can't make one dictionary of several parts for all types.
        column = column.cast({pa.null(): pa.int64(), pa.float16(): pa.float32()}.get(column.type, column.type))
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], column.type.value_type))
    indices = pa.concat_arrays([chunk.indices for chunk in column.chunks])
    return pa.DictionaryArray.from_arrays(indices, column.chunk(0).dictionary)


def _take(numbers: Any, indices: pa.Array, missing: int) -> Any:
    if indices.null_count:
        numbers = np.append(numbers, np.array([missing], numbers.dtype))
        indices = indices.cast(pa.int64()).fill_null(len(numbers) - 1)
    if not len(numbers):
        return np.zeros(len(indices), numbers.dtype)
    if len(numbers) == 1:
        return np.full(len(indices), numbers[0])
    return numbers.take(indices.to_numpy(), mode="clip")  # an index is never out of range; to check it costs more


def _filled(array: pa.Array, value: object) -> Any:
    return (array.fill_null(value) if array.null_count else array).to_numpy()
