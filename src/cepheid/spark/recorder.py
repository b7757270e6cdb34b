"""The metrics of streams beside their checkpoints, for `cepheid studio --checkpoint`: a listener writes them."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from cepheid.spark.progress import metrics, watermark_of
from cepheid.values.json import Json

FOLDER = "_cepheid"
"""Inside the checkpoint; Spark does not look at what it has not written itself."""
KEPT = 60
_SECONDS_BETWEEN_BEATS = 5.0


class Recorder(StreamingQueryListener):
    """Writes what the last micro-batches of a stream did, and whether it is alive, until it is closed."""

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._file = checkpoint / FOLDER / "progress.json"
        self._batches: deque[Json] = deque(maxlen=KEPT)
        self._written = 0.0
        self._status = "none"
        spark.streams.addListener(self)

    def close(self) -> None:
        """Stop listening. What was not said to have ended or failed is then said to have ended."""
        self._spark.streams.removeListener(self)
        if self._status == "running":
            self._write("ended")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Spark calls this when a stream starts."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Spark calls this after each micro-batch."""
        progress = event.progress
        if not self._is_own(progress.id):
            return
        figures = metrics(progress)
        micro_batch = {"number": progress.batchId, "seconds": (progress.batchDuration or 0) / 1000}
        self._batches.append({**micro_batch, **figures, "watermark": watermark_of(progress), "at": time.time()})
        self._write("running")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Spark calls this when a stream has nothing to do."""
        if self._is_own(event.id) and time.time() - self._written >= _SECONDS_BETWEEN_BEATS:
            self._write("running")

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Spark calls this when a stream has ended."""
        if self._is_own(event.id):
            self._write("failed" if event.exception else "ended", event.exception)

    def _is_own(self, stream: object) -> bool:
        """Whether a stream is the one of this checkpoint, which has its id."""
        try:
            metadata = json.loads((self._checkpoint / "metadata").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(metadata.get("id") == str(stream))

    def _write(self, status: str, exception: str | None = None) -> None:
        """Replace the file at once: a reader sees the old one or the new one."""
        self._written, self._status = time.time(), status
        recorded = {"status": status, "exception": exception, "at": self._written, "batches": list(self._batches)}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(recorded), encoding="utf-8")
        os.replace(beside, self._file)


def record(spark: SparkSession, checkpoint: str) -> Recorder:
    """Write the metrics of a stream into its checkpoint, a directory of this machine, from now on.

    `cepheid studio --checkpoint` shows them. `close()` ends it.
    """
    return Recorder(spark, Path(checkpoint))
