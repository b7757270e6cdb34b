"""Tables as Arrow IPC blobs, one for each bucket of keys: they go through a shuffle instead of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

CODEC = pa.Codec("zstd", compression_level=1)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=CODEC)
_SAMPLE = 4096  # rows that show whether the strings of a column repeat
_LAST = np.iinfo(np.int64).max


def pack(table: pa.Table, buckets: Any, *, dense: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield each bucket that has rows, with its rows in their order.

    buckets: the bucket of each row, from 0 on.
    dense: compress the blobs; this pays where a byte costs more to move than to compress.
    """
    if not table.num_rows:
        return
    counts = np.bincount(buckets)
    used = np.flatnonzero(counts)
    encoded = _dictionary_encoded(table, len(used))
    if len(used) > 1:
        encoded = encoded.take(pa.array(np.argsort(_narrow(buckets), kind="stable")))
    begin = 0
    for bucket in used.tolist():
        count = int(counts[bucket])
        yield bucket, write(encoded.slice(begin, count), dense=dense)
        begin += count


def spans(buckets: Any, times: Any) -> tuple[Any, Any, Any]:
    """Return, by bucket, the first time, the last time and the number of events."""
    counts = np.bincount(buckets)
    lows, highs = np.full(len(counts), _LAST), np.full(len(counts), ~_LAST)
    np.minimum.at(lows, buckets, times)
    np.maximum.at(highs, buckets, times)
    return lows, highs, counts


def write(table: pa.Table, *, dense: bool = False) -> bytes:
    """Write a table as an Arrow IPC stream.

    dense: compress it.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED if dense else None) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def unpack(blob: Any) -> pa.Table:
    """Read the rows of a blob, and decode dictionary-encoded strings."""
    table = pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
    for k, field in enumerate(table.schema):
        if isinstance(field.type, pa.DictionaryType):
            strings = field.with_type(field.type.value_type)
            table = table.set_column(k, strings, table.column(k).cast(strings.type))
    return table


def _narrow(buckets: Any) -> Any:
    """Return bucket numbers in 16 bits if they fit, which numpy sorts by counting."""
    return buckets.astype(np.uint16) if buckets.max() < 2**16 else buckets


def _dictionary_encoded(table: pa.Table, blobs: int) -> pa.Table:
    """Return the table in one chunk, with strings that repeat encoded; each blob will carry the whole dictionary."""
    table = table.combine_chunks()
    for k, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        column = table.column(k)
        if 16 * len(column.slice(0, _SAMPLE).unique()) > min(table.num_rows, _SAMPLE):
            continue
        codes = column.combine_chunks().dictionary_encode()
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        strings = codes.dictionary
        if 2 * blobs * strings.nbytes > column.nbytes or strings.null_count:
            continue
        codes = pa.DictionaryArray.from_arrays(codes.indices.cast(code_type(len(strings))), strings)
        table = table.set_column(k, field.with_type(codes.type), codes)
    return table


def code_type(strings: int) -> pa.DataType:
    """Return the narrowest index type for a dictionary of so many strings."""
    return pa.int8() if strings < 2**7 else pa.int16() if strings < 2**15 else pa.int32()
