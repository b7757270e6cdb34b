"""The stateful processor of many queries: the one of a query, with other buckets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import TimerValues

from cepheid.engine.stream.parts import table_bytes
from cepheid.spark.many.book import Book, lives_of
from cepheid.spark.many.bucket import ManyBucket, ManyBuckets, ManyOutput
from cepheid.spark.many.changes import ManyControl
from cepheid.spark.progress import COUNTERS
from cepheid.spark.state.control import ControlHeader, claim_checkpoint, write_control_header
from cepheid.spark.state.parts import put_chunks, read_chunk
from cepheid.spark.stream.processor import BUCKETS, cepheid_match, frames_of, watermark_of

if TYPE_CHECKING:
    from cepheid.spark.stream.processor import Frames


class cepheid_match_many(cepheid_match):  # noqa: N801  the Spark UI shows the name
    """Takes in the events of a bucket, and returns the matches of its rules that the watermark has made certain."""

    def __init__(self, many: ManyBuckets, late: str, *, chained: bool) -> None:
        self.many = many
        self.fingerprint = many.fingerprint
        self.late = late
        self.delay = many.delay
        self.chained = chained

    def read_control(self, blobs: list[bytes]) -> ManyControl:
        """Return the rows of the control stream, whatever order they have come in."""
        return ManyControl(tuple(sorted(map(bytes, blobs))), self.delay)

    def bucket(self, number: int) -> tuple[ManyBucket, int]:
        """Return a bucket with its state, and its place among those that are kept in memory."""
        bucket = self.many.numbers[number]
        place = self.many.place(bucket)
        return BUCKETS.taken(lambda stale: self.many.open(bucket, stale), self.fingerprint, place, self.store), place

    def frames(self, bucket: ManyBucket, number: int, output: ManyOutput, counters: dict[str, int]) -> Frames:
        """Yield what a bucket has given."""
        return frames_of(((table, table.num_rows, 0) for table in bucket.tables(output)), counters)

    def keep(self, control: object, times: TimerValues) -> Frames:
        """Keep the rules of the stream, and what becomes of the rows of the control stream."""
        import pandas as pd

        store, worker = self.store, self.many.worker
        known = claim_checkpoint(store, self.fingerprint, worker.event_schema, migrate=self.many.before is not None)
        if not known.rules:
            known = replace(known, rules=put_chunks(store, bytes(worker.shipped.body())))
            write_control_header(store, known)
        if not isinstance(control, ManyControl):
            return
        decided = self.many.decide(control, self._book(known), watermark_of(times))
        ids = worker.match_schema.field(0).type
        body = bytes(memoryview(table_bytes(_marked(decided.book.table(ids), decided.book.mark))))
        lives = put_chunks(store, body, {digest for digest, _ in known.lives})
        used = {digest for digest, _ in (*lives, *known.rules)}
        for digest in {digest for digest, _ in known.lives} - used:
            store.drop(digest, digest)
        write_control_header(store, replace(known, lives=lives, refused=[*known.refused, *decided.refused]))
        if decided.refused:
            counters = dict.fromkeys(COUNTERS, 0) | {"refused": len(decided.refused)}
            yield pd.DataFrame([{"blob": None, **counters}])

    def _book(self, known: ControlHeader) -> Book:
        if not known.lives:
            return Book()
        body = b"".join(read_chunk(self.store, digest, size) for digest, size in known.lives)
        table = pa.ipc.open_stream(body).read_all()
        return Book(table.schema.metadata[b"mark"].decode(), lives_of(table))


def _marked(table: pa.Table, mark: str) -> pa.Table:
    return table.replace_schema_metadata({"mark": mark})
