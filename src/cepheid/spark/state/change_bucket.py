"""A bucket whose events and matches can be retracted: what a micro-batch brings is one change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from cepheid.api import Changes, Matches
from cepheid.engine.encoding.times import ticks
from cepheid.engine.session.ahead_session import AheadSession
from cepheid.engine.session.history import AnyChange
from cepheid.engine.stream.arrivals import Timed
from cepheid.spark.packing import PackedEvents, unpack
from cepheid.spark.signs import joined_signs, without_signs
from cepheid.spark.state.bucket import Bucket, BucketOutput, explaining_the_watermark
from cepheid.spark.state.decisions import NOTHING, Control
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.worker import WorkerQuery

_EVER = -(2**63)
"""A time before which there is no event."""


def open_bucket(
    worker_query: WorkerQuery,
    fingerprint: StreamFingerprint,
    *,
    by_shape: bool = False,
    log: Sequence[AnyChange] = (),
) -> Bucket:
    """Make a bucket without events. log: how the query has changed before."""
    kind = ChangeBucket if worker_query.changes else Bucket
    return kind(worker_query, fingerprint, by_shape=by_shape, log=log)


class ChangeBucket(Bucket):
    """The events of some keys, with insertions and retractions, in a session that speculates or not.

    A match has at most one change in a micro-batch: the session gets its watermark and all its rows in one call.
    """

    def take(
        self,
        arrived: Iterable[PackedEvents],
        watermark: int | None,
        late: str,
        *,
        chained: bool = False,
        control: Control = NOTHING,
    ) -> BucketOutput:
        """Take in the new rows and the watermark, and return what that changes."""
        watermark_ticks = None if watermark is None else watermark * self.ticks_per_ms
        passed, before = self._passed(watermark_ticks), self.watermark
        if watermark_ticks is not None:
            self.watermark = watermark_ticks
        events, signs = self._read(arrived)
        times = events[1]
        changed = self._change(self.decide(control, watermark).changes)
        if self.session is None and not len(times):
            return BucketOutput(None, 0, 0, passed)
        session = self._opened()
        known = session.late_count
        limit = (_EVER if before is None else before) if chained else watermark_ticks
        session.treat_late(late)
        with explaining_the_watermark():
            changes = session.update(events, signs, watermark_ticks, late_before=limit)
        taken = len(times) if limit is None else int((times >= limit).sum())
        if watermark_ticks is not None:
            self._drop_if_over(watermark_ticks)
        corrected = changed if isinstance(changed, Changes) and len(changed) else None
        return BucketOutput(changes, taken, session.late_count - known, passed, corrected)

    def _read(self, arrived: Iterable[PackedEvents]) -> tuple[Timed, np.ndarray | None]:
        """Return the rows of a micro-batch with their times, and which of them are inserted and retracted."""
        parts = [without_signs(unpack(packed.blob)) for packed in arrived]
        if not parts:
            return (self.worker_query.event_schema.empty_table(), np.zeros(0, np.int64)), None
        events = pa.concat_tables([events for events, _ in parts])
        return (events, ticks(self.worker_query.schema, events)), joined_signs(parts)

    def _opened(self) -> AheadSession:
        """Return the session, or a new one; the call that follows passes it the watermark."""
        session = self.session
        if session is None:
            self.session = session = self._new_session()
            session.conform(self.worker_query.event_schema.empty_table())
            if self._log:
                session.make(self._log)
        assert isinstance(session, AheadSession)
        return session

    def _new_session(self) -> AheadSession:
        return self.worker_query.change_session()

    def close(self) -> Matches | Changes:
        """Return what would change if the stream ended here. Retractions without an event are ignored."""
        session = self._opened()
        session.treat_late("drop")
        changed: Matches | Changes = session.end()
        return changed
