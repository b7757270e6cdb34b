"""What identifies the stream that a checkpoint belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cepheid.errors import UsageError
from cepheid.spark.state.store import other_format
from cepheid.spark.worker import WorkerQuery

FORMAT = 2
"""The format of the state in a checkpoint. A checkpoint of another format is refused."""

_START_AGAIN = "start the stream with a new checkpoint location, or restore what the checkpoint was created with"


@dataclass(frozen=True)
class StreamFingerprint:
    """The facts that a stream and its checkpoint must agree on. Every header in the state store has them.

    query: a digest of the query's text, parameters, function names and column roles.
    columns: a digest of the names and types of the event columns.
    buckets: the number of buckets that the keys are divided among.
    """

    query: str
    columns: str
    buckets: int
    format: int = FORMAT

    def check(self, stored: dict[str, Any]) -> None:
        """Raise CEP905 if the state was written by another stream."""
        if stored["format"] != self.format:
            raise other_format(f"has format {stored['format']}, this release reads {self.format}")
        messages = {
            "query": "the checkpoint belongs to another query, or to other parameters or column roles",
            "columns": "the checkpoint belongs to other columns or types, or to another time zone of the session",
            "buckets": f"the checkpoint has {stored['buckets']} buckets, the stream has {self.buckets}",
        }
        for name, message in messages.items():
            if stored[name] != getattr(self, name):
                remedy = f"pass buckets={stored['buckets']}, or {_START_AGAIN}" if name == "buckets" else _START_AGAIN
                raise UsageError("CEP905", message, remedy)


def stream_fingerprint(worker_query: WorkerQuery, buckets: int) -> StreamFingerprint:
    """Return the fingerprint of a stream that runs a query in some number of buckets."""
    columns = sha256(worker_query.event_schema.remove_metadata().serialize().to_pybytes()).hexdigest()
    return StreamFingerprint(worker_query.query.compiled.fingerprint, columns, buckets)
