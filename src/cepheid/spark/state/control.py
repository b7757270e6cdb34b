"""The control header: it says which stream a checkpoint belongs to, before there is any bucket with events."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pyarrow as pa

from cepheid.engine.stream.parts import FlatSink
from cepheid.engine.stream.snapshot import to_bytes
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import NONCE, read_header
from cepheid.spark.state.store import StateStore

COLUMNS = "columns"
"""The field that only a control header has: the Arrow schema of the events."""


MIGRATED = "migrated"
"""The field that says that other queries of the same shape had the checkpoint before."""


@dataclass(frozen=True)
class Control:
    """What a control header says: the stream, the columns of its events, and whether other queries had it before."""

    fingerprint: StreamFingerprint
    event_schema: pa.Schema
    migrated: bool


def claim_checkpoint(
    store: StateStore, fingerprint: StreamFingerprint, event_schema: pa.Schema, *, migrate: bool = False
) -> None:
    """Refuse the checkpoint of another stream, and write the control header of a new one.

    migrate: take over the checkpoint of another query of the same shape.
    """
    blob = store.header()
    migrated = False
    if blob is not None:
        header, _ = read_header(blob)
        fingerprint.check(header["stream"], by_shape=migrate)
        if header["stream"]["query"] == fingerprint.query:
            return
        migrated = True
    flat = FlatSink()
    columns = flat.add(COLUMNS, event_schema.serialize())
    facts = {"stream": asdict(fingerprint), COLUMNS: columns, MIGRATED: migrated}
    store.put_header(bytes(NONCE) + to_bytes(facts, flat))


def read_control_header(blob: bytes) -> Control:
    """Read a control header."""
    header, flat = read_header(blob)
    columns = pa.ipc.read_schema(pa.py_buffer(flat.part(header[COLUMNS])))
    return Control(StreamFingerprint(**header["stream"]), columns, header.get(MIGRATED, False))
