"""The metrics of a micro-batch, read from the progress that Spark reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cepheid.errors import UsageError

OBSERVATION = "cepheid"
"""The beginning of the names under which Spark reports the counters of a stream: one for each query in it."""

_ABSENT = object()

COUNTERS = ("events", "runs", "state_bytes", "matches", "withdrawn", "late", "refused")


def metrics(progress: object) -> dict[str, int]:
    """Return the metrics of one micro-batch from `query.lastProgress`, or from the event of a StreamingQueryListener.

    events: how many events the micro-batch took in. matches: how many matches it returned.
    withdrawn: how many matches it retracted, in a stream with `speculate`.
    late: how many events arrived after the watermark had passed them.
    refused: how many rows of the control stream were refused.
    runs, state_bytes: what the buckets hold that the micro-batch updated.
    All are 0 if Spark reports nothing. If a stream has several queries, such as two that are joined, they are added up.
    """
    totals = dict.fromkeys(COUNTERS, 0)
    for values in _observed(progress):
        for name in COUNTERS:
            totals[name] += int(values[name] or 0)
    return totals


def _observed(progress: object) -> Iterator[Mapping[str, Any]]:
    """Yield the counters of each query in a stream."""
    if progress is None:
        remedy = "wait until query.lastProgress is not None, or read the event of a StreamingQueryListener"
        raise UsageError("CEP603", "there are no metrics yet: the stream has not finished a micro-batch", remedy)
    progress = getattr(progress, "progress", progress)  # an event of a listener has it inside
    observed: Any = _ABSENT
    if isinstance(progress, Mapping):
        observed = progress.get("observedMetrics", None if "batchId" in progress else _ABSENT)
    else:
        observed = getattr(progress, "observedMetrics", _ABSENT)
    if observed is _ABSENT:
        remedy = "pass query.lastProgress, or the event of a StreamingQueryListener"
        raise UsageError("CEP603", f"metrics can't read a {type(progress).__name__}", remedy)
    for name, row in (observed or {}).items():
        if not name.startswith(OBSERVATION):
            continue
        values = row if isinstance(row, Mapping) else row.asDict()
        if "schema" in values and "values" in values:  # the form that Spark Connect uses
            values = dict(zip((field["name"] for field in values["schema"]["fields"]), values["values"], strict=True))
        yield values


def watermark_of(progress: Any) -> str | None:
    """Return the watermark of a micro-batch as Spark writes it, or None before there is one."""
    times: Any = progress["eventTime"] if isinstance(progress, Mapping) else progress.eventTime
    watermark = dict(times or {}).get("watermark")
    return None if watermark is None or str(watermark).startswith("1970-01-01T00:00:00") else str(watermark)
