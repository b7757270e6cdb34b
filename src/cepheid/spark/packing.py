"""Tables as Arrow IPC blobs, one for each bucket of the keys: what goes over a shuffle in place of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

CODEC = pa.Codec("zstd", compression_level=1)
_DENSE = pa.ipc.IpcWriteOptions(compression=CODEC)
_SAMPLE = 4096  # rows that tell whether the words of a column come again and again


def pack(table: pa.Table, buckets: Any, *, dense: bool = False) -> Iterator[tuple[int, bytes]]:
    """The rows of each bucket that has any, in their order; `buckets` has the bucket of each row, from 0 on.

    dense: compressed, where each byte costs more than to make it less.
    """
    if not table.num_rows:
        return
    counts = np.bincount(buckets)
    used = np.flatnonzero(counts)
    coded = _coded(table, len(used))
    if len(used) > 1:
        coded = coded.take(pa.array(np.argsort(_small(buckets), kind="stable")))
    begin = 0
    for bucket in used.tolist():
        count = int(counts[bucket])
        yield bucket, write(coded.slice(begin, count), dense=dense)
        begin += count


def spans(buckets: Any, times: Any) -> tuple[Any, Any, Any]:
    """The first and the last time of each bucket, and how many events it has."""
    counts = np.bincount(buckets)
    lows, highs = np.full(len(counts), _LAST), np.full(len(counts), ~_LAST)
    np.minimum.at(lows, buckets, times)
    np.maximum.at(highs, buckets, times)
    return lows, highs, counts


_LAST = np.iinfo(np.int64).max


def write(table: pa.Table, *, dense: bool = False) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_DENSE if dense else None) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpack(blob: Any) -> pa.Table:
    """The rows of a blob, with plain strings."""
    table = pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
    for k, field in enumerate(table.schema):
        if isinstance(field.type, pa.DictionaryType):
            words = field.with_type(field.type.value_type)
            table = table.set_column(k, words, table.column(k).cast(words.type))
    return table


def _small(buckets: Any) -> Any:
    """Few buckets in narrow numbers: numpy sorts 16 bits by counting."""
    return buckets.astype(np.uint16) if buckets.max() < 2**16 else buckets


def _coded(table: pa.Table, blobs: int) -> pa.Table:
    """The table in one chunk, words that come again and again as codes: every blob carries the words, once."""
    table = table.combine_chunks()
    for k, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        column = table.column(k)
        if 16 * len(column.slice(0, _SAMPLE).unique()) > min(table.num_rows, _SAMPLE):
            continue
        codes = column.combine_chunks().dictionary_encode()
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        words = codes.dictionary
        if 2 * blobs * words.nbytes > column.nbytes or words.null_count:
            continue
        codes = pa.DictionaryArray.from_arrays(codes.indices.cast(code_type(len(words))), words)
        table = table.set_column(k, field.with_type(codes.type), codes)
    return table


def code_type(words: int) -> pa.DataType:
    """The narrowest codes for so many words."""
    return pa.int8() if words < 2**7 else pa.int16() if words < 2**15 else pa.int32()
