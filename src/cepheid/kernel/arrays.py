"""Arrays of a state: numpy's for machine code, lists for plain Python, which is faster on these."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
"""A numpy array or a list, as a kernel reads it."""


class Pinned:
    """A numpy array and where it is: to ask for the address takes longer than to process an event."""

    __slots__ = ("address", "array", "dtype", "whole")

    def __init__(self, array: Any) -> None:
        self.array = array  # which must not be freed
        self.dtype = array.dtype
        flags = array.flags
        self.whole: bool = flags.c_contiguous  # one value after the other
        # This is the fastest way to ask, but not for all arrays.
        quick = self.whole and flags.writeable and len(array)
        self.address: int = ctypes.addressof(ctypes.c_char.from_buffer(array)) if quick else array.ctypes.data


class Pins:
    """The arrays that a kernel is called with again and again: each is pinned once, until another takes its place."""

    def __init__(self) -> None:
        self._last: list[Pinned] = []

    def pin(self, arrays: Sequence[np.ndarray]) -> list[Pinned]:
        """Return the arrays with their addresses, which are taken again only for arrays that are new."""
        last = self._last
        if len(last) != len(arrays):
            last = list(map(Pinned, arrays))
        else:
            last = [old if old.array is array else Pinned(array) for old, array in zip(last, arrays, strict=True)]
        self._last = last
        return last


def new_array(dtype: str, size: int, initial: int | None, *, native: bool) -> Array:
    """Return a new array. Without an initial value its content is undefined."""
    if not native:
        return [initial or 0] * size
    made: np.ndarray = np.empty(size, np.dtype(dtype))
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


def as_kind(values: np.ndarray | Sequence[int], dtype: str, *, native: bool) -> Array:
    """Copy values into a numpy array or a list."""
    return np.array(values, np.dtype(dtype)) if native else np.asarray(values).tolist()


def as_read(values: np.ndarray, *, native: bool) -> Array:
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
