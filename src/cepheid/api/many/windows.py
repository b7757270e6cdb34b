"""Windows of rules, each as long as a column says: as text, as a duration, or as a number."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.many.problems import Problems, told
from cepheid.errors import CepheidError
from cepheid.pattern.expressions.durations import ARROW_UNITS, NANOSECONDS
from cepheid.pattern.expressions.parameter_uses import WindowUse
from cepheid.pattern.expressions.parameters import resolve_window, window_nanoseconds

_LONGEST = 2**63 - 1


def read_windows(
    use: WindowUse, column: pa.ChunkedArray, numbers: np.ndarray, unit: str, problems: Problems
) -> pa.Array:
    """How long each window is in nanoseconds; NULL where it is a number of events, or can't be read.

    unit: of a bare number. What is wrong with a value is found out by the code that reads the window of one query, once
    for each value; whole numbers and durations need no such look.
    """
    known = _at_once(use, column, unit)
    if known is not None:
        return known
    if pa.types.is_nested(column.type):  # Arrow can't tell which are equal, and none is a window
        try:
            resolve_window(use.window, {use.name: column[0].as_py()}, use.word)
        except CepheidError as error:
            problems.add(numbers, told(error, f"column '{use.name}'"))
        return pa.nulls(len(column), pa.int64())
    if pa.types.is_dictionary(column.type):  # whose NULLs have no code
        column = column.cast(column.type.value_type)
    coded = column.combine_chunks().dictionary_encode("encode")
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    lengths: list[int | None] = []
    codes = coded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    begins = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
    for place, value in enumerate(coded.dictionary.to_pylist()):
        try:
            lengths.append(_length(use, value, unit))
        except CepheidError as error:
            lengths.append(None)
            wrong = order[begins[place] : begins[place + 1]]  # very many may be wrong, each in its own way
            problems.add(numbers[wrong], told(error, f"column '{use.name}'"))
    return pa.array(lengths, pa.int64()).take(coded.indices)


@lru_cache(100_000)
def _length(use: WindowUse, value: object, unit: str) -> int | None:
    """The length of one window in nanoseconds; rules that come while others run often have the same ones."""
    window = resolve_window(use.window, {use.name: value}, use.word)
    return None if window.unit == "events" else min(window_nanoseconds(window, unit), _LONGEST)


def _at_once(use: WindowUse, column: pa.ChunkedArray, unit: str) -> pa.Array | None:
    """The same of whole numbers and durations that are all greater than zero."""
    arrow = column.type
    if column.null_count or not len(column) or use.window.unit == "events":
        return None
    if pa.types.is_integer(arrow):
        scale = NANOSECONDS[use.window.unit or unit]
    elif pa.types.is_duration(arrow) and use.window.unit is None:
        scale = ARROW_UNITS[arrow.unit]
    else:
        return None
    lengths = pc.cast(column.combine_chunks(), pa.int64())
    lengths = lengths.chunk(0) if isinstance(lengths, pa.ChunkedArray) else lengths
    low, high = (bound.as_py() for bound in pc.min_max(lengths).values())
    return pc.multiply(lengths, pa.scalar(scale)) if low > 0 and high <= _LONGEST // scale else None
