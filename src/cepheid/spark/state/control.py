"""The control header: it says which stream a checkpoint belongs to, before there is any bucket with events."""

from __future__ import annotations

from dataclasses import asdict

import pyarrow as pa

from cepheid.engine.stream.parts import FlatSink
from cepheid.engine.stream.snapshot import to_bytes
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import NONCE, read_header
from cepheid.spark.state.store import StateStore

COLUMNS = "columns"
"""The field that only a control header has: the Arrow schema of the events."""


def claim_checkpoint(store: StateStore, fingerprint: StreamFingerprint, event_schema: pa.Schema) -> None:
    """Refuse the checkpoint of another stream, and write the control header of a new one."""
    blob = store.header()
    if blob is not None:
        header, _ = read_header(blob)
        fingerprint.check(header["stream"])
        return
    flat = FlatSink()
    columns = flat.add(COLUMNS, event_schema.serialize())
    store.put_header(bytes(NONCE) + to_bytes({"stream": asdict(fingerprint), COLUMNS: columns}, flat))


def read_control_header(blob: bytes) -> tuple[StreamFingerprint, pa.Schema]:
    """Return the fingerprint of the stream that wrote a control header, and the columns of its events."""
    header, flat = read_header(blob)
    return StreamFingerprint(**header["stream"]), pa.ipc.read_schema(pa.py_buffer(flat.part(header[COLUMNS])))
