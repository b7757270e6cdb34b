"""What a task sees of its events, for warnings on the driver. Workers import this: it is light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps

import numpy as np
import pyarrow as pa

from cepheid.api.hosting import ENOUGH, TINY, smallest_distance
from cepheid.engine.encoding.times import ticks
from cepheid.pattern.binding.schema import Schema
from cepheid.spark.reports import Channel, TaskReport
from cepheid.spark.worker import Batches

KEPT = "__cepheid_kept"
"""The column that is FALSE for rows which are there to be looked at only."""

MOST_TIMES = 256
"""The times that a task reports, if none of them are close: those of other tasks may be in between."""

_MOST_TYPES = 64  # that a task reports


@dataclass(frozen=True)
class Tap:
    """Looks at the events of a task.

    named: the types that queries name. number: that of the type column, if there is one.
    time: the number of the time column. tests: those of the columns of `[attr]`, by name.
    window: the shortest window in ticks, if there is one.
    """

    channel: Channel
    schema: Schema
    named: frozenset[str]
    number: int | None
    time: int
    tests: Mapping[str, int]
    window: int | None

    def on(self, function: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
        """Wrap a function of a task."""

        @wraps(function)
        def tapped(batches: Batches) -> Batches:
            return function(self._looked_at(batches))

        return tapped

    def _looked_at(self, batches: Batches) -> Batches:
        look = _Look(self)
        for batch in batches:
            look.at(batch)
            kept = _without_marked(batch)
            if kept.num_rows:
                yield kept
        self.channel.send(look.seen())


@dataclass
class _Look:
    """What one task has seen so far. Nearly all of it is known after the first batch."""

    tap: Tap
    rows: int = 0
    types: set[str] = field(default_factory=set)
    valued: set[str] = field(default_factory=set)
    times: list[np.ndarray] = field(default_factory=list)

    def at(self, batch: pa.RecordBatch) -> None:
        tap = self.tap
        if tap.number is not None and not tap.named <= self.types and len(self.types) < _MOST_TYPES:
            self.types |= {value for value in batch.column(tap.number).unique().to_pylist() if value is not None}
        for name in tap.tests.keys() - self.valued:
            if batch.column(tap.tests[name]).null_count < batch.num_rows:
                self.valued.add(name)
        if self.rows < ENOUGH:
            column = batch.column(tap.time).slice(0, ENOUGH - self.rows).drop_null()
            self.times.append(ticks(tap.schema, pa.table([column], [tap.schema.roles.time])))
        self.rows += batch.num_rows

    def seen(self) -> TaskReport:
        times = np.concatenate([*self.times, np.zeros(0, np.int64)])
        window, known = self.tap.window, len(times) > 0
        distance = None if window is None else smallest_distance(times)
        close = window is None or (distance is not None and distance <= TINY * window)
        return TaskReport(
            self.rows,
            frozenset(self.types),
            frozenset(self.valued),
            int(times.min()) if known else None,
            int(times.max()) if known else None,
            None if close else tuple(np.unique(times)[:MOST_TIMES].tolist()),
        )


def _without_marked(batch: pa.RecordBatch) -> pa.RecordBatch:
    if KEPT not in batch.schema.names:
        return batch
    kept = batch.column(KEPT)
    batch = batch.drop_columns([KEPT])
    return batch if kept.true_count == len(kept) else batch.filter(kept)
