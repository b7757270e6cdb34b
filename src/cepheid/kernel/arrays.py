"""Arrays of a state: numpy's for machine code, lists for plain Python, which is faster on these."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
"""A numpy array or a list, as a kernel reads it."""


def new_array(dtype: str, size: int, initial: int | None, *, native: bool) -> Array:
    """Return a new array. Without an initial value its content is undefined."""
    if not native:
        return [initial or 0] * size
    made: Any = np.empty(size, np.dtype(dtype))
    if initial is not None:
        made.fill(initial)
    return made


def longer(old: Array | None, dtype: str, size: int, initial: int | None, *, native: bool) -> Array:
    """Return a longer array with the same content."""
    have = 0 if old is None else len(old)
    if not native:
        return (old or []) + [initial or 0] * (size - have)
    made = new_array(dtype, size, None, native=True)
    if old is not None:
        made[:have] = old
    if initial is not None:
        made[have:] = initial
    return made


def as_kind(values: Any, dtype: str, *, native: bool) -> Array:
    """Copy values into a numpy array or a list."""
    return np.array(values, np.dtype(dtype)) if native else np.asarray(values).tolist()


def as_read(values: Any, *, native: bool) -> Array:
    """Return values that were read from bytes; they are read-only until `longer` or `owned` copies them."""
    return values if native else values.tolist()


def owned(array: Array) -> Array:
    """An array that can be written to."""
    return array if isinstance(array, list) or array.flags.writeable else array.copy()


def nbytes(array: Array) -> int:
    """How much memory an array takes."""
    return 8 * len(array) if isinstance(array, list) else int(array.nbytes)


def rounded(size: int) -> int:
    """Return the next power of two, at least 16."""
    return 1 << max(4, (max(size, 1) - 1).bit_length())
