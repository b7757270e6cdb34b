"""Before the stateful operator events are packed into blobs, after it matches are unpacked."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from cepheid.engine.encoding.times import ticks
from cepheid.spark.packing import pack, unpack
from cepheid.spark.signs import with_signs
from cepheid.spark.stream.buckets import CONTROL, slot
from cepheid.spark.worker import Batches, WorkerQuery

BUCKET = "__cepheid_bucket"
"""The column with the bucket of an event. It comes after those of the events."""

PACKED = pa.schema(
    [("slot", pa.int32()), ("blob", pa.binary()), *((name, pa.int64()) for name in ("low", "high", "rows"))]
)
"""A blob of events with its slot, its first and last time in ticks, and its number of events."""

_PACK_ROWS = 262_144  # rows that are packed together: the more, the fewer and larger the blobs


def event_packer(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that packs events, and adds a row for the control slot."""

    schema = worker_query.schema

    def packed(buffered: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(buffered)
        buckets, (events, signs) = table.column(BUCKET).to_numpy(), worker_query.read(table)
        packed = pack(with_signs(events, signs), ticks(schema, events), buckets, dense=True)
        rows = [(slot(bucket), *blob) for bucket, blob in packed]
        columns = zip(*rows, strict=True)
        return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, PACKED, strict=True)], schema=PACKED)

    def cepheid_pack(batches: Batches) -> Batches:
        yield pa.record_batch(
            [pa.array([CONTROL if f.name == "slot" else None], f.type) for f in PACKED], schema=PACKED
        )
        buffered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            if batch.num_rows:
                buffered.append(batch)
                rows += batch.num_rows
            if rows >= _PACK_ROWS:
                yield packed(buffered)
                buffered, rows = [], 0
        if buffered:
            yield packed(buffered)

    return cepheid_pack


def match_unpacker(columns: pa.Schema) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that unpacks matches of these columns."""

    def cepheid_unpack(batches: Batches) -> Batches:
        for batch in batches:
            for blob in batch.column(0):
                if blob.is_valid:
                    yield from unpack(blob.as_buffer()).cast(columns).to_batches()

    return cepheid_unpack
