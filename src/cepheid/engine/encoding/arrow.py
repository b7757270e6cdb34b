"""Arrow's arrays as numpy's and back, by their buffers: Arrow's own way imports pandas, which takes a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_NAMES = {"double": "float64", "float": "float32", "halffloat": "float16"}
_TYPES = {
    np.dtype(name): arrow
    for name, arrow in {
        "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "uint32": pa.uint32(), "float64": pa.float64(),
    }.items()
}  # fmt: skip


def to_numpy(array: pa.Array) -> np.ndarray:
    """The numbers of an array that has no NULL, without a copy."""
    name = str(array.type)
    buffer = array.buffers()[1]
    dtype = np.dtype(_NAMES.get(name, name))
    if buffer is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def flags_to_numpy(array: pa.Array) -> np.ndarray:
    """The truth values of an array that has no NULL."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), bool)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].view(bool)


def from_numpy(array: np.ndarray) -> pa.Array:
    """Numbers as an Arrow array, without a copy; truth values with one."""
    if array.dtype == bool:
        packed = np.packbits(array, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(array), [None, pa.py_buffer(packed)])
    data = np.ascontiguousarray(array)
    return pa.Array.from_buffers(_TYPES[data.dtype], len(data), [None, pa.py_buffer(data)])


def room_for(count: int, dtype: Any) -> np.ndarray:
    """An array to be filled, in Arrow's memory: that is kept for the next one, where fresh memory is slow to touch."""
    return np.frombuffer(pa.allocate_buffer(count * np.dtype(dtype).itemsize), dtype, count)


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table of a schema without rows."""
    return pa.Table.from_batches([], schema)
