"""Tables as Arrow IPC blobs, one for each bucket of keys: they go through a shuffle instead of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.dictionaries import without_unused_words

CODEC = pa.Codec("zstd", compression_level=1)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=CODEC)


class PackedEvents(NamedTuple):
    """Events as a blob, in the order of their times, with the first and the last time in ticks and their number."""

    blob: bytes
    low: int
    high: int
    rows: int


def pack(
    table: pa.Table, times: np.ndarray, buckets: np.ndarray, *, dense: bool = False
) -> Iterator[tuple[int, PackedEvents]]:
    """Yield each bucket that has events, with its events.

    times: those of the rows, in ticks.
    buckets: the bucket of each row, from 0 on.
    dense: compress the blobs; this pays where a byte costs more to move than to compress.
    """
    if not table.num_rows:
        return
    counts = np.bincount(buckets)
    used = np.flatnonzero(counts)
    order = None if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")
    if len(used) > 1:
        by_bucket = np.argsort(_narrow(buckets if order is None else buckets[order]), kind="stable")
        order = by_bucket if order is None else order[by_bucket]
    table = table.combine_chunks()
    if order is not None:
        table, times = table.take(pa.array(order)), times[order]
    begin = 0
    for bucket in used.tolist():
        count = int(counts[bucket])
        blob = write(table.slice(begin, count), dense=dense)
        yield bucket, PackedEvents(blob, int(times[begin]), int(times[begin + count - 1]), count)
        begin += count


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


def unpack(blob: bytes | memoryview | pa.Buffer) -> pa.Table:
    """Read the rows of a blob as they were written."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def _narrow(buckets: np.ndarray) -> np.ndarray:
    """Return bucket numbers in 16 bits if they fit, which numpy sorts by counting."""
    return buckets.astype(np.uint16) if buckets.max() < 2**16 else buckets
