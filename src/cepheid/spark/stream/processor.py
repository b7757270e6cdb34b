"""The stateful processor that Spark calls for each bucket in each micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from cepheid.engine.session.written_changes import write_changes
from cepheid.spark.net_changes import net_changes
from cepheid.spark.packing import PackedEvents, write
from cepheid.spark.progress import COUNTERS
from cepheid.spark.state.bucket import BucketOutput
from cepheid.spark.state.cache import BucketCache
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.control import claim_checkpoint, write_control_header
from cepheid.spark.state.decisions import NOTHING, Control, read_log
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.stream.buckets import CONTROL
from cepheid.spark.stream.control_rows import read_control_rows
from cepheid.spark.stream.event_time import EventTime
from cepheid.spark.stream.handle_store import HandleStore
from cepheid.spark.worker import WorkerQuery

if TYPE_CHECKING:
    import pandas as pd

    Frames = Iterator[pd.DataFrame]

OUTPUT = pa.schema([("blob", pa.binary()), *((name, pa.int64()) for name in COUNTERS)])
"""What a call returns: matches in blobs, and what the metrics count."""

BUCKETS = BucketCache(room=256 << 20)
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
        delay: int,
        chained: bool,
        migrate: bool,
        by_shape: bool,
    ) -> None:
        self.worker_query = worker_query
        self.fingerprint = fingerprint
        self.late = late
        self.event_time = event_time
        self.delay = delay
        self.chained = chained
        self.migrate = migrate
        self.by_shape = by_shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this before the first bucket of a task."""
        self.handle = handle
        self.store = HandleStore(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Frames,
        timerValues: TimerValues,  # noqa: N803
    ) -> Frames:
        """Spark calls this for a bucket that has new events."""
        with_blobs = [row for frame in rows for row in frame.itertuples() if row.blob is not None]
        blobs = [row.blob for row in with_blobs if not row.rows]  # of no events: rows of the control stream
        control = self.read_control(blobs) if blobs else NOTHING
        if key[0] == CONTROL:
            yield from self.keep(control, timerValues)
            return
        arrived = [PackedEvents(row.blob, int(row.low), int(row.high), int(row.rows)) for row in with_blobs if row.rows]
        yield from self.run(key[0], arrived, timerValues, control)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: tuple[int],
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Frames:
        """Spark calls this for a bucket without new events when the watermark has passed its timer."""
        yield from self.run(key[0], [], timerValues)

    def close(self) -> None:
        """Spark calls this after the last bucket of a task."""

    def read_control(self, blobs: list[bytes]) -> Any:
        """Return the rows of the control stream."""
        return Control(tuple(read_control_rows(blobs)), self.delay)

    def bucket(self, number: int) -> tuple[Any, int]:
        """Return a bucket with its state, and its place among those that are kept in memory."""
        bucket = BUCKETS.take(self.worker_query, self.fingerprint, number, self.store, by_shape=self.by_shape)
        return bucket, number

    def frames(self, bucket: Any, number: int, output: Any, counters: dict[str, int]) -> Frames:
        """Yield what a bucket has given."""
        place = number if self.fingerprint.buckets > 1 else None
        return output_frames(self.worker_query, output, counters, self.event_time, place)

    def keep(self, control: Any, times: TimerValues) -> Frames:
        """Keep what becomes of the rows of the control stream: the whole log, and what was refused."""
        import pandas as pd

        known = claim_checkpoint(self.store, self.fingerprint, self.worker_query.event_schema, migrate=self.migrate)
        slot = open_bucket(self.worker_query, self.fingerprint, log=read_log(known.log, self.worker_query.query))
        made = slot.decide(control, watermark_of(times))
        if not made.changes and not made.refused:
            return
        log = [*known.log, *write_changes(made.changes, self.worker_query.query)]
        refused = [*known.refused, *made.refused]
        write_control_header(self.store, replace(known, log=log, refused=refused))
        counters = dict.fromkeys(COUNTERS, 0) | {"refused": len(made.refused)}
        yield pd.DataFrame([{"blob": None, **counters}])

    def run(self, number: int, arrived: list[PackedEvents], times: TimerValues, control: Any = NOTHING) -> Frames:
        """Process one bucket up to the watermark, save its state, and set its timer."""
        known = watermark_of(times)
        watermark = known or 0
        bucket, place = self.bucket(number)
        output = bucket.take(arrived, known, self.late, chained=self.chained, control=control)
        due = bucket.due()
        if due != bucket.timer:
            if bucket.timer is not None and (arrived or control.rows or bucket.timer > watermark):
                self.handle.deleteTimer(bucket.timer)
            if due is not None:
                self.handle.registerTimer(due)
            bucket.timer = due
        bucket.save(self.store)
        runs, memory = bucket.held
        counters = {
            "events": output.events,
            "runs": runs,
            "state_bytes": bucket.size,
            "matches": 0,
            "withdrawn": 0,
            "late": output.late,
            "refused": 0,
        }
        yield from self.frames(bucket, number, output, counters)
        BUCKETS.put(bucket, place, bucket.size + memory)


def watermark_of(times: TimerValues) -> int | None:
    """Return the watermark. Spark says 0 before the first one, so events before 1970 wait until later ones arrive."""
    watermark = int(times.getCurrentWatermarkInMs())
    return watermark if watermark > 0 else None


def output_frames(
    worker_query: WorkerQuery,
    output: BucketOutput,
    counters: dict[str, int],
    event_time: EventTime | None,
    bucket: int | None,
) -> Frames:
    """Yield pandas DataFrames, as Spark wants them. Matches are packed, because pandas has no nested columns."""

    def tables() -> Iterator[tuple[pa.Table, int, int]]:
        for table in _tables(worker_query, output, bucket):
            if event_time is not None:
                table = event_time.add(worker_query, table, output.passed)
            yield table, *worker_query.count(table)

    return frames_of(tables(), counters)


def frames_of(tables: Iterable[tuple[pa.Table, int, int]], counters: dict[str, int]) -> Frames:
    """Yield the same of tables, each with how many matches it has, and how many it retracts."""
    import pandas as pd

    for table, matches, withdrawn in tables:
        counters |= {"matches": matches, "withdrawn": withdrawn}
        yield pd.DataFrame([{"blob": write(table), **counters}])
        counters = dict.fromkeys(counters, 0)
    if any(counters.values()):
        yield pd.DataFrame([{"blob": None, **counters}])


def _tables(worker_query: WorkerQuery, output: BucketOutput, bucket: int | None) -> Iterator[pa.Table]:
    """Yield what a bucket emits. A match has one change at most, also where the query has changed first."""
    emitted = [matches for matches in (output.before, output.matches) if matches is not None]
    tables = (table for matches in emitted for table in worker_query.tables(matches, bucket=bucket))
    return net_changes(tables) if output.before is not None else tables
