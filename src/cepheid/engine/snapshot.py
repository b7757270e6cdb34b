"""A session's state as bytes: a header in JSON, then flat parts, each eight bytes aligned.

    b"CEPHEID\\n" · format version (2 bytes) · 0 (2) · header length (4) · checksum (8) · header · parts

Arrays are written as they lie in memory, tables as Arrow IPC: reading is one pass over the bytes, and runs no code
that the bytes bring along.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.pipeline import Pipeline, composite_schema
from cepheid.errors import UsageError

MAGIC = b"CEPHEID\n"
VERSION = 1
_START = struct.Struct("<8sHHIQ")


class _Parts:
    """Flat parts and where each begins."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.length = 0

    def add(self, part: Any) -> list[Any]:
        view = memoryview(part).cast("B")
        found = [self.length, len(view)]
        self.parts.append(view)
        padding = -len(view) % 8
        if padding:
            self.parts.append(memoryview(bytes(padding)))
        self.length += len(view) + padding
        return found

    def array(self, array: Any) -> list[Any]:
        return [array.dtype.str, *self.add(np.ascontiguousarray(array))]

    def table(self, table: pa.Table) -> list[Any]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks() if table.num_rows else table)
        return self.add(sink.getvalue())


def write_snapshot(facts: dict[str, Any], pipeline: Pipeline | None, late: pa.Table | None) -> bytes:
    """The bytes of a session."""
    parts = _Parts()
    header: dict[str, Any] = {"session": facts, "late": None if late is None else parts.table(late)}
    if pipeline is not None:
        header["schema"] = parts.add(pipeline.schema.arrow.serialize())
        header["stages"] = []
        for stage in pipeline.stages:
            machine, arrays = stage.machine.dump()
            header["stages"].append(
                {
                    "schema": parts.add(stage.schema.arrow.serialize()),
                    "kept": parts.table(stage.kept),
                    "waiting": parts.table(stage.arrivals.waiting),
                    "base": stage.base,
                    "events": stage.events,
                    "kind": stage.machine.kind,
                    "machine": machine,
                    "arrays": [parts.array(array) for array in arrays],
                }
            )
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    checksum = _checksum([memoryview(text), *parts.parts])
    return b"".join([_START.pack(MAGIC, VERSION, 0, len(text), checksum), text, *parts.parts])


def _checksum(body: Sequence[memoryview]) -> int:
    """A sum over all words: as fast as memory, and enough to see that bytes were changed."""
    total = 0
    for part in body:
        whole = len(part) // 8 * 8
        words = np.frombuffer(part[:whole], np.uint64)
        # The last few bytes of a part are padded with zeros, which add nothing.
        total += int(np.add.reduce(words, dtype=np.uint64)) + int.from_bytes(part[whole:], "little") + len(part)
    return total % 2**64


Read = tuple[dict[str, Any], pa.Schema | None, Callable[[Pipeline], None], pa.Table | None]


def read_snapshot(blob: bytes, fingerprint: str) -> Read:
    """The facts of a session, its schema, how to fill its pipeline, and its late events."""
    remedy = "pass the bytes that snapshot() gave"
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise UsageError("CEP607", f"a {type(blob).__name__} is no snapshot", remedy)
    view = memoryview(blob).cast("B")
    if len(view) < _START.size or bytes(view[: len(MAGIC)]) != MAGIC:
        raise UsageError("CEP607", "these bytes are no snapshot", remedy)
    _, version, reserved, length, checksum = _START.unpack(view[: _START.size])
    if version != VERSION:
        message = f"the snapshot has format {version}, this release reads {VERSION}"
        raise UsageError("CEP607", message, "restore it with the release that wrote it, or run the stream anew")
    if reserved or _checksum([view[_START.size :]]) != checksum:
        raise UsageError("CEP607", "the snapshot is damaged: its bytes are not those that were written", remedy)
    body = _START.size + length
    try:
        header = json.loads(bytes(view[_START.size : body]))
        facts = header["session"]
        if facts["fingerprint"] != fingerprint:
            message = "the snapshot is of another query, other parameters or other roles of the columns"
            raise UsageError("CEP607", message, "restore it with the query that it was taken from")

        def part(place: list[int]) -> memoryview:
            begin, size = place
            if body + begin + size > len(view):
                raise ValueError("the end is missing")
            return view[body + begin : body + begin + size]

        def table(place: list[int]) -> pa.Table:
            return pa.ipc.open_stream(part(place)).read_all()

        def schema(place: list[int]) -> pa.Schema:
            return pa.ipc.read_schema(pa.py_buffer(part(place)))

        def array(found: list[Any]) -> Any:
            return np.frombuffer(part(found[1:]), dtype=found[0])

        def load(pipeline: Pipeline) -> None:
            try:
                for number, saved in enumerate(header["stages"]):
                    own = schema(saved["schema"])
                    composite = pipeline.plan.sources[number] is not None
                    made = composite_schema(own.empty_table(), pipeline.schema.roles) if composite else pipeline.schema
                    stage = pipeline.stage(pipeline.plan.queries[number], made, saved["kind"])
                    pipeline.stages[number] = stage
                    stage.kept = table(saved["kept"])
                    stage.arrivals.add(table(saved["waiting"]))
                    stage.base, stage.events = saved["base"], saved["events"]
                    if saved["machine"]:  # nothing before the first event
                        arrays = [array(a) for a in saved["arrays"]]
                        stage.machine.load(saved["machine"], arrays, stage.kept, stage.base)
            except (ValueError, KeyError, TypeError, IndexError, pa.ArrowInvalid, OSError) as error:
                raise UsageError("CEP607", f"the snapshot is damaged: {error}", remedy) from None

        found = schema(header["schema"]) if "schema" in header else None
        late = table(header["late"]) if header["late"] is not None else None
        return facts, found, load, late
    except (ValueError, KeyError, TypeError, IndexError, pa.ArrowInvalid, OSError) as error:
        raise UsageError("CEP607", f"the snapshot is damaged: {error}", remedy) from None
