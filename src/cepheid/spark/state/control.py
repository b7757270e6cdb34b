"""The control header: it says which stream a checkpoint belongs to, before there is any bucket with events."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, field

import pyarrow as pa

from cepheid.engine.session.control import ControlRow, Refused
from cepheid.engine.stream.parts import FlatSink
from cepheid.engine.stream.snapshot import to_bytes
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import NONCE, read_header
from cepheid.spark.state.store import StateStore
from cepheid.values.json import Json

COLUMNS = "columns"
"""The field that only a control header has: the Arrow schema of the events."""


MIGRATED = "migrated"
"""The field that says that other queries of the same shape had the checkpoint before."""


@dataclass(frozen=True)
class ControlHeader:
    """What a control header says: the stream, the columns of its events, and whether other queries had it before.

    log, refused: what has become of the rows of the control stream; the changes as they are written.
    rules, lives: of many queries, in chunks: the rules at the start, and when those of the control stream live.
    """

    fingerprint: StreamFingerprint
    event_schema: pa.Schema
    migrated: bool = False
    log: list[Json] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    rules: list[tuple[str, int]] = field(default_factory=list)
    lives: list[tuple[str, int]] = field(default_factory=list)


def claim_checkpoint(
    store: StateStore, fingerprint: StreamFingerprint, event_schema: pa.Schema, *, migrate: bool = False
) -> ControlHeader:
    """Refuse the checkpoint of another stream, and write the control header of a new one. Return the header.

    migrate: take over the checkpoint of another query of the same shape.
    """
    blob = store.header()
    migrated = False
    if blob is not None:
        header, _ = read_header(blob)
        fingerprint.check(header["stream"], by_shape=migrate)
        if header["stream"]["query"] == fingerprint.query:
            return read_control_header(blob)
        migrated = True
    control = ControlHeader(fingerprint, event_schema, migrated)
    write_control_header(store, control)
    return control


def write_control_header(store: StateStore, control: ControlHeader) -> None:
    """Write what has been decided about control rows; `read_control_header` reads it."""
    flat = FlatSink()
    columns = flat.add(COLUMNS, control.event_schema.serialize())
    facts = {
        "stream": asdict(control.fingerprint),
        COLUMNS: columns,
        MIGRATED: control.migrated,
        "log": control.log,
        "refused": [[*astuple(refusal.row), refusal.reason] for refusal in control.refused],
        "rules": control.rules,
        "lives": control.lives,
    }
    store.put_header(bytes(NONCE) + to_bytes(facts, flat))


def read_control_header(blob: bytes) -> ControlHeader:
    """Read what `write_control_header` wrote, also in an earlier release."""
    header, flat = read_header(blob)
    columns = pa.ipc.read_schema(pa.py_buffer(flat.part(header[COLUMNS])))
    refused = [Refused(ControlRow(*row), reason) for *row, reason in header.get("refused", ())]
    chunks = ([(digest, size) for digest, size in header.get(name, ())] for name in ("rules", "lives"))
    stream = StreamFingerprint(**header["stream"])
    return ControlHeader(stream, columns, header.get(MIGRATED, False), header.get("log", []), refused, *chunks)
