"""What becomes of the control rows of a micro-batch: every slot decides it for itself, and all decide the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.api import Query
from cepheid.engine.encoding.times import from_ticks
from cepheid.engine.session.control import ControlDecision, ControlRow, decide
from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.opening import AnySession
from cepheid.engine.session.query_changes import AddQuery, ReplaceQuery
from cepheid.engine.session.written_changes import read_changes, write_changes
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.whole_queries import check_replaced, check_whole
from cepheid.spark.worker import WorkerQuery, cached_query

Opened = Callable[[Sequence[AnyChange]], AnySession]
"""Opens a session without events, after some changes."""


@dataclass(frozen=True, slots=True)
class Control:
    """The control rows of a micro-batch, and how long the watermark waits, in milliseconds."""

    rows: tuple[ControlRow, ...] = ()
    delay: int = 0

    def decide(
        self,
        worker_query: WorkerQuery,
        fingerprint: StreamFingerprint,
        log: Sequence[AnyChange],
        watermark: int | None,
        opened: Opened,
    ) -> ControlDecision:
        """Decide about the rows. watermark: in milliseconds; before the first one, a row holds from the beginning.

        A row without a time holds after all events of earlier micro-batches, of which the watermark knows. A session
        without events tries the changes: what a bucket has of events decides nothing.
        """
        if not self.rows:
            return ControlDecision()
        written = json.dumps(write_changes(log, worker_query.query))
        key = fingerprint, self, watermark, written
        if key in _DECIDED:
            return _DECIDED[key]
        schema = worker_query.schema
        ticks = 1_000_000 // schema.tick
        watermark_ticks = None if watermark is None else watermark * ticks
        present = present_of(watermark, self.delay) * ticks
        trial = opened(log)
        if watermark_ticks is not None:
            trial.reach(watermark_ticks)

        def make(changes: Sequence[AnyChange]) -> None:
            for change in changes:
                if isinstance(change, AddQuery):
                    check_whole(worker_query, change.query)
                if isinstance(change, ReplaceQuery):
                    check_replaced(worker_query, change)
            trial.make(changes)

        made = decide(
            self.rows,
            log,
            worker_query.query,
            watermark=watermark_ticks,
            present=present,
            whole=None if worker_query.changes else present,
            shown=lambda time: from_ticks(schema, time),
            make=make,
        )
        if not worker_query.query.compiled.functions:  # else others may have the same names
            if len(_DECIDED) >= _ROOM:
                _DECIDED.clear()
            _DECIDED[key] = made
        return made


NOTHING = Control()

_BEGINNING = -61_851_600_000_000
"""A time before all events that still is a date in every zone: the year 10, in milliseconds."""


def present_of(watermark: int | None, delay: int) -> int:
    """A time after all events of earlier micro-batches, in milliseconds; before the first one, before all events."""
    return _BEGINNING if watermark is None else watermark + delay + 1  # Spark cuts off microseconds


_ROOM = 8
_DECIDED: dict[tuple[StreamFingerprint, Control, int | None, str], ControlDecision] = {}
"""What this worker has decided for other buckets of the same micro-batch."""


def read_log(saved: Sequence[dict[str, object]], query: Query) -> list[AnyChange]:
    """Read the changes of a query; what is compiled for queries that were added is shared by all buckets."""
    return read_changes(saved, lambda text, **options: cached_query(Query(text, **options)), query)
