"""What identifies the stream that a checkpoint belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import pyarrow as pa

from cepheid.engine.state_shape import differences, state_shape
from cepheid.errors import UsageError
from cepheid.spark.state.store import other_format
from cepheid.spark.worker import WorkerQuery
from cepheid.values.json import Json

FORMAT = 2
"""The format of the state in a checkpoint. A checkpoint of another format is refused."""

_START_AGAIN = "start the stream with a new checkpoint location, or restore what the checkpoint was created with"
_MIGRATE = "its state fits this query: pass migrate=True (cepheid run --migrate) to go on with it"
_MIGRATE_RULES = "pass migrate=True and checkpoint=… to go on: rules are compared by id, others come and go"
_CAN_CHANGE = "only RETURN and the constants of conditions can change; start the stream with a new checkpoint location"


@dataclass(frozen=True)
class StreamFingerprint:
    """The facts that a stream and its checkpoint must agree on. Every header in the state store has them.

    query: a digest of the query's text, parameters, function names and column roles.
    columns: a digest of the names and types of the event columns.
    buckets: the number of buckets that the keys are divided among.
    shape: digests of the clauses that the state depends on; empty if an earlier release wrote it.
    op, speculate, sequence: as the options of the stream.
    control: whether a control stream changes the query.
    many: the stream is of many queries; `query` is a digest of their rules, `shape` how events are divided for them.
    """

    query: str
    columns: str
    buckets: int
    format: int = FORMAT
    shape: Mapping[str, str] = field(default_factory=dict, hash=False)
    op: str | None = None
    speculate: str | None = None
    sequence: str | None = None
    control: bool = False
    many: bool = False

    def check(self, stored: Json, *, by_shape: bool = False) -> None:
        """Raise CEP905 if the state was written by another stream.

        by_shape: state of another query is accepted if it has the same shape.
        """
        if stored["format"] != self.format:
            raise other_format(f"has format {stored['format']}, this release reads {self.format}")
        shape: Mapping[str, str] = stored.get("shape") or {}
        others = differences(self.shape, shape)
        same_query = stored["query"] == self.query
        if stored.get("many", False) != self.many:
            kinds = ("one query", "many queries")
            message = (
                f"the checkpoint belongs to a stream of {kinds[not self.many]}, and this one is of {kinds[self.many]}"
            )
            raise UsageError("CEP905", message, _START_AGAIN)
        if self.many and not same_query:
            self._check_rules(others, migrate=by_shape)
        elif not same_query and by_shape and others:
            why = f"{', '.join(others)} changed" if shape else "an earlier release wrote it"
            raise UsageError("CEP905", f"the state in the checkpoint does not fit the new query: {why}", _CAN_CHANGE)
        elif not same_query and not by_shape:
            message = "the checkpoint belongs to another query, or to other parameters or column roles"
            fits = not others and (stored["columns"], stored["buckets"]) == (self.columns, self.buckets)
            raise UsageError("CEP905", message, f"{_MIGRATE}, or {_START_AGAIN}" if fits else _START_AGAIN)
        if stored["columns"] != self.columns:
            message = "the checkpoint belongs to other columns or types, or to another time zone of the session"
            if not same_query:
                message = "the new query reads other columns of the events than the state in the checkpoint has"
            raise UsageError("CEP905", message, _START_AGAIN if same_query else _CAN_CHANGE)
        if stored["buckets"] != self.buckets:
            message = f"the checkpoint has {stored['buckets']} buckets, the stream has {self.buckets}"
            raise UsageError("CEP905", message, f"pass buckets={stored['buckets']}, or {_START_AGAIN}")
        if stored.get("control", False) != self.control:
            message = "the checkpoint belongs to a stream with control=, and this one has none"
            if self.control:
                message = "the checkpoint belongs to a stream without control=, and this one has it"
            remedy = f"{'leave out' if self.control else 'pass'} control=, or {_START_AGAIN}"
            raise UsageError("CEP905", message, remedy)
        for name in ("op", "speculate", "sequence"):
            was, is_ = stored.get(name), getattr(self, name)
            if was != is_:
                message = f"the checkpoint belongs to a stream with {name}={was!r}, and this one has {name}={is_!r}"
                raise UsageError("CEP905", message, f"pass {name}={was!r}, or {_START_AGAIN}")

    def _check_rules(self, others: list[str], *, migrate: bool) -> None:
        if others:
            message = f"the checkpoint belongs to other rules, and {' and '.join(others)} changed with them"
            raise UsageError("CEP905", message, _START_AGAIN)
        if not migrate:
            message = "the checkpoint belongs to other rules, or to other column roles"
            raise UsageError("CEP905", message, f"{_MIGRATE_RULES}, or {_START_AGAIN}")


def columns_digest(events: pa.Schema) -> str:
    """Return a digest of the names and types of columns."""
    return sha256(events.remove_metadata().serialize().to_pybytes()).hexdigest()


def stream_fingerprint(worker_query: WorkerQuery, buckets: int) -> StreamFingerprint:
    """Return the fingerprint of a stream that runs a query in some number of buckets."""
    query = worker_query.query
    return StreamFingerprint(
        query.compiled.fingerprint,
        columns_digest(worker_query.event_schema),
        buckets,
        shape=state_shape(query.compiled),
        op=worker_query.op,
        speculate=worker_query.speculate,
        sequence=worker_query.sequence,
        control=worker_query.control,
    )
