"""The stateful processor that Spark calls for each bucket in each micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cepheid.spark.packing import PackedEvents, write
from cepheid.spark.progress import COUNTERS
from cepheid.spark.state.bucket import BucketOutput
from cepheid.spark.state.cache import BucketCache
from cepheid.spark.state.control import claim_checkpoint
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.stream.buckets import CONTROL
from cepheid.spark.stream.event_time import EventTime
from cepheid.spark.stream.handle_store import HandleStore
from cepheid.spark.worker import WorkerQuery

OUTPUT = pa.schema([("blob", pa.binary()), *((name, pa.int64()) for name in COUNTERS)])
"""What a call returns: matches in blobs, and what the metrics count."""

_CACHE = BucketCache(room=256 << 20)
"""The buckets that this worker keeps in memory."""


class cepheid_match(StatefulProcessor):  # noqa: N801  the Spark UI shows the name
    """Takes in the events of a bucket, and returns the matches that the watermark has made certain."""

    def __init__(
        self,
        worker_query: WorkerQuery,
        fingerprint: StreamFingerprint,
        late: str,
        *,
        event_time: EventTime | None,
        chained: bool,
        migrate: bool,
        by_shape: bool,
    ) -> None:
        self.worker_query = worker_query
        self.fingerprint = fingerprint
        self.late = late
        self.event_time = event_time
        self.chained = chained
        self.migrate = migrate
        self.by_shape = by_shape

    def init(self, handle: Any) -> None:
        """Spark calls this before the first bucket of a task."""
        self.handle = handle
        self.store = HandleStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Spark calls this for a bucket that has new events."""
        if key[0] == CONTROL:
            claim_checkpoint(self.store, self.fingerprint, self.worker_query.event_schema, migrate=self.migrate)
            return
        arrived = [
            PackedEvents(row.blob, int(row.low), int(row.high), int(row.rows))
            for frame in rows
            for row in frame.itertuples()
        ]
        yield from self.run(key[0], arrived, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Spark calls this for a bucket without new events when the watermark has passed its timer."""
        yield from self.run(key[0], [], timerValues)

    def close(self) -> None:
        """Spark calls this after the last bucket of a task."""

    def run(self, number: int, arrived: list[PackedEvents], times: Any) -> Iterator[Any]:
        """Process one bucket up to the watermark, save its state, and set its timer."""
        # Spark says 0 before the first watermark, so events before 1970 wait until later ones arrive.
        watermark = times.getCurrentWatermarkInMs()
        bucket = _CACHE.take(self.worker_query, self.fingerprint, number, self.store, by_shape=self.by_shape)
        output = bucket.take(arrived, watermark if watermark > 0 else None, self.late, chained=self.chained)
        due = bucket.due()
        if due != bucket.timer:
            if bucket.timer is not None and (arrived or bucket.timer > watermark):
                self.handle.deleteTimer(bucket.timer)
            if due is not None:
                self.handle.registerTimer(due)
            bucket.timer = due
        bucket.save(self.store)
        stats = None if bucket.session is None else bucket.session.stats
        counters = {
            "events": output.events,
            "runs": 0 if stats is None else stats.runs,
            "state_bytes": bucket.size,
            "matches": 0,
            "withdrawn": 0,
            "late": output.late,
        }
        place = number if self.fingerprint.buckets > 1 else None
        yield from output_frames(self.worker_query, output, counters, self.event_time, place)
        _CACHE.put(bucket, number, bucket.size + (0 if stats is None else stats.state_bytes))


def output_frames(
    worker_query: WorkerQuery,
    output: BucketOutput,
    counters: dict[str, int],
    event_time: EventTime | None,
    bucket: int | None,
) -> Iterator[Any]:
    """Yield pandas DataFrames, as Spark wants them. Matches are packed, because pandas has no nested columns."""
    import pandas as pd

    for table in worker_query.tables(output.matches, bucket=bucket) if output.matches is not None else ():
        if event_time is not None:
            table = event_time.add(worker_query, table, output.passed)
        matches, withdrawn = worker_query.count(table)
        counters |= {"matches": matches, "withdrawn": withdrawn}
        yield pd.DataFrame([{"blob": write(table), **counters}])
        counters = dict.fromkeys(counters, 0)
    if any(counters.values()):
        yield pd.DataFrame([{"blob": None, **counters}])
