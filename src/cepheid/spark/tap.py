"""Event types that a task sees, for warnings about misspelt ones. Workers import this: it is light."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import pyarrow as pa

from cepheid.spark.reports import Channel
from cepheid.spark.worker import Batches

KEPT = "__cepheid_kept"
"""The column that is FALSE for rows which are there to be looked at only."""

_MOST_TYPES = 64  # that a task reports


@dataclass(frozen=True)
class Tap:
    """Looks at the types of the events of a task. number: that of the type column."""

    channel: Channel
    named: frozenset[str]
    number: int

    def on(self, function: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
        """Wrap a function of a task."""

        @wraps(function)
        def tapped(batches: Batches) -> Batches:
            return function(self._looked_at(batches))

        return tapped

    def _looked_at(self, batches: Batches) -> Batches:
        seen: set[str] = set()
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            if not self.named <= seen and len(seen) < _MOST_TYPES:
                seen |= {value for value in batch.column(self.number).unique().to_pylist() if value is not None}
            kept = _without_marked(batch)
            if kept.num_rows:
                yield kept
        self.channel.send(rows, frozenset(seen))


def _without_marked(batch: pa.RecordBatch) -> pa.RecordBatch:
    if KEPT not in batch.schema.names:
        return batch
    kept = batch.column(KEPT)
    batch = batch.drop_columns([KEPT])
    return batch if kept.true_count == len(kept) else batch.filter(kept)
