"""Before the stateful operator events are packed into blobs, after it matches are unpacked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from cepheid.engine.encoding.times import ticks
from cepheid.spark.packing import PackedEvents, pack, unpack
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


Packing = Callable[[pa.Table], Iterable[tuple[int, PackedEvents]]]
"""Packs rows of Spark: buckets with their events."""


def event_packer(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that packs events, and adds a row for the control slot."""

    schema = worker_query.schema

    def packed(table: pa.Table) -> Iterable[tuple[int, PackedEvents]]:
        buckets, (events, signs) = table.column(BUCKET).to_numpy(), worker_query.read(table)
        return pack(with_signs(events, signs), ticks(schema, events), buckets, dense=True)

    return packer(packed)


def packer(packed: Packing, called: Sequence[int] = ()) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that packs events, and adds a row for the control slot.

    called: buckets that get such a row too, so that Spark calls them even if they have no events.
    """

    def blobs(buffered: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = [(slot(bucket), *blob) for bucket, blob in packed(pa.Table.from_batches(buffered))]
        columns = zip(*rows, strict=True) if rows else ([] for _ in PACKED)
        return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, PACKED, strict=True)], schema=PACKED)

    def cepheid_pack(batches: Batches) -> Batches:
        slots = [CONTROL, *map(slot, called)]
        nothing = [None] * len(slots)
        yield pa.record_batch([pa.array(slots if f.name == "slot" else nothing, f.type) for f in PACKED], schema=PACKED)
        buffered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            if batch.num_rows:
                buffered.append(batch)
                rows += batch.num_rows
            if rows >= _PACK_ROWS:
                yield blobs(buffered)
                buffered, rows = [], 0
        if buffered:
            yield blobs(buffered)

    return cepheid_pack


def match_unpacker(columns: pa.Schema) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that unpacks matches of these columns."""

    def cepheid_unpack(batches: Batches) -> Batches:
        for batch in batches:
            for blob in batch.column(0):
                if blob.is_valid:
                    yield from unpack(blob.as_buffer()).cast(columns).to_batches()

    return cepheid_unpack
