"""The metrics of streams for Prometheus: a listener keeps them, and a port serves them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from cepheid.errors import UsageError
from cepheid.spark.progress import metrics, watermark_of

_COUNTERS = {
    "batches": "Micro-batches that were finished.",
    "rows": "Rows that Spark has read.",
    "events": "Events that were taken in, without those that pushdown has dropped.",
    "matches": "Matches that were emitted.",
    "withdrawn": "Matches that were retracted.",
    "late": "Events that arrived after the watermark had passed them.",
    "refused": "Rows of the control stream that were refused.",
}
_GAUGES = {
    "batch": "The number of the last micro-batch.",
    "batch_seconds": "How long the last micro-batch took.",
    "runs": "Runs in the buckets that the last micro-batch has touched.",
    "state_bytes": "Size of the state of the buckets that the last micro-batch has touched.",
    "watermark_seconds": "The watermark, in seconds since 1970.",
    "active": "1 while the stream runs, 0 when it has ended.",
}


class Exporter(StreamingQueryListener):
    """Keeps the metrics of all streams of a session, and serves them on a port until it is closed."""

    def __init__(self, spark: SparkSession, port: int, address: str) -> None:
        try:
            client: Any = import_module("prometheus_client")
        except ModuleNotFoundError:
            remedy = "pip install 'cepheid[prometheus]'"
            raise UsageError("CEP602", "prometheus_client is not installed", remedy) from None
        registry = client.CollectorRegistry()

        def made(kind: Any, texts: Mapping[str, str]) -> dict[str, Any]:
            return {name: kind(f"cepheid_{name}", text, ["query"], registry=registry) for name, text in texts.items()}

        self.counters, self.gauges = made(client.Counter, _COUNTERS), made(client.Gauge, _GAUGES)
        self.names: dict[str, str] = {}
        try:
            self._server, self._thread = client.start_http_server(port, address, registry)
        except OSError as error:
            message = f"can't serve metrics on {address}:{port}: {error.strerror}"
            raise UsageError("CEP603", message, "choose another port") from None
        self.port = int(self._server.server_port)
        self._spark = spark
        spark.streams.addListener(self)

    def close(self) -> None:
        """Stop serving, and listening to Spark."""
        self._spark.streams.removeListener(self)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Spark calls this when a stream starts."""
        self.names[str(event.runId)] = event.name or str(event.id)
        self.gauges["active"].labels(self.names[str(event.runId)]).set(1)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Spark calls this after each micro-batch."""
        progress = event.progress
        name, figures = progress.name or str(progress.id), metrics(progress)
        figures |= {"batches": 1, "rows": progress.numInputRows, "batch": progress.batchId}
        for key, counter in self.counters.items():
            counter.labels(name).inc(figures[key])
        for key in ("batch", "runs", "state_bytes"):
            self.gauges[key].labels(name).set(figures[key])
        self.gauges["batch_seconds"].labels(name).set((progress.batchDuration or 0) / 1000)
        watermark = watermark_of(progress)
        if watermark is not None:
            self.gauges["watermark_seconds"].labels(name).set(datetime.fromisoformat(watermark).timestamp())

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Spark calls this when a stream has nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Spark calls this when a stream has ended."""
        name = self.names.pop(str(event.runId), None)
        if name is not None:
            self.gauges["active"].labels(name).set(0)


def prometheus(spark: SparkSession, port: int = 9464, *, address: str = "0.0.0.0") -> Exporter:
    """Serve the metrics of all streams of a session for Prometheus, from now on.

    port: 0 chooses one that is free; the result has it as `port`. `close()` ends it.
    The label `query` is the name of the stream (`queryName`), or its id.
    """
    return Exporter(spark, port, address)
