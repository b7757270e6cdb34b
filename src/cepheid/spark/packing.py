"""Tables as Arrow IPC blobs, one for each bucket of keys: they go through a shuffle instead of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.dictionaries import without_unused_words

CODEC = pa.Codec("zstd", compression_level=1)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=CODEC)
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
    table = table.combine_chunks()
    if len(used) > 1:
        table = table.take(pa.array(np.argsort(_narrow(buckets), kind="stable")))
    begin = 0
    for bucket in used.tolist():
        count = int(counts[bucket])
        yield bucket, write(table.slice(begin, count), dense=dense)
        begin += count


def spans(buckets: Any, times: Any) -> tuple[Any, Any, Any]:
    """Return, by bucket, the first time, the last time and the number of events."""
    counts = np.bincount(buckets)
    lows, highs = np.full(len(counts), _LAST), np.full(len(counts), ~_LAST)
    np.minimum.at(lows, buckets, times)
    np.maximum.at(highs, buckets, times)
    return lows, highs, counts


def write(table: pa.Table, *, dense: bool = False) -> bytes:
    """Write a table as an Arrow IPC stream. Dictionaries are written without words that no row has.

    dense: compress it.
    """
    table = without_unused_words(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED if dense else None) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def unpack(blob: Any) -> pa.Table:
    """Read the rows of a blob as they were written."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def _narrow(buckets: Any) -> Any:
    """Return bucket numbers in 16 bits if they fit, which numpy sorts by counting."""
    return buckets.astype(np.uint16) if buckets.max() < 2**16 else buckets
