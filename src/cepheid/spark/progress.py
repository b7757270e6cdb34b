"""What a micro-batch did, out of the progress that Spark tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "cepheid"
COUNTERS = ("events", "runs", "state_bytes", "matches", "late")


def metrics(progress: Any) -> dict[str, int]:
    """The figures of one micro-batch: `query.lastProgress`, or the progress of a StreamingQueryListener's event.

    events: taken in. matches: given. late: events that came after the watermark had passed them.
    runs, state_bytes: what the buckets hold that the micro-batch has touched.
    All are 0 where there is nothing to tell.
    """
    found: Any = progress["observedMetrics"] if isinstance(progress, Mapping) else progress.observedMetrics
    row = found.get(NAME) if found else None
    if row is None:
        return dict.fromkeys(COUNTERS, 0)
    values = row if isinstance(row, Mapping) else row.asDict()
    if "schema" in values and "values" in values:  # as Spark Connect's own progress has it
        values = dict(zip((field["name"] for field in values["schema"]["fields"]), values["values"], strict=True))
    return {name: int(values[name] or 0) for name in COUNTERS}
