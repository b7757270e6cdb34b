"""A session's state: a header for JSON, and parts, which a `Sink` takes and a `Source` gives back.

As bytes it is the header, then the parts one after the other, each eight bytes aligned:

    b"CEPHEID\\n" · format version (2 bytes) · 0 (2) · header length (4) · checksum (8) · header · parts

Arrays are written as they lie in memory, tables as Arrow IPC: reading is one pass over the bytes, and runs no code
that the bytes bring along.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.errors import UsageError
from cepheid.pattern.lanes import Lanes

MAGIC = b"CEPHEID\n"
VERSION = 3
_START = struct.Struct("<8sHHIQ")


class Sink(Protocol):
    """What takes the parts of a state. Each is called by a name, and is found again by what JSON can carry."""

    def add(self, name: str, part: Any) -> Any:
        """Some bytes."""

    def array(self, name: str, array: Any) -> Any:
        """A flat array."""

    def table(self, name: str, table: pa.Table) -> Any:
        """A table."""

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        """A table whose first row is at a position of the stream: what is at a position never changes."""


class Source(Protocol):
    """What gives the parts back, by what the sink had returned."""

    def part(self, found: Any) -> Any:
        """Some bytes."""

    def array(self, found: Any) -> Any:
        """A flat array."""

    def table(self, found: Any) -> pa.Table:
        """A table."""

    def rows(self, found: Any, base: int) -> pa.Table:
        """A table of rows from a position on."""


class FlatSink:
    """Parts one after the other, and where each begins."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.length = 0

    def add(self, name: str, part: Any) -> list[Any]:
        """Some bytes: their place and length."""
        view = memoryview(part).cast("B")
        found = [self.length, len(view)]
        self.parts.append(view)
        padding = -len(view) % 8
        if padding:
            self.parts.append(memoryview(bytes(padding)))
        self.length += len(view) + padding
        return found

    def array(self, name: str, array: Any) -> list[Any]:
        """A flat array, as it lies in memory."""
        return [array.dtype.str, *self.add(name, np.ascontiguousarray(array))]

    def table(self, name: str, table: pa.Table) -> list[Any]:
        """A table as Arrow IPC."""
        return self.add(name, table_bytes(table))

    def rows(self, name: str, table: pa.Table, base: int) -> list[Any]:
        """All rows."""
        return self.table(name, table)


class FlatSource:
    """Parts that lie one after the other."""

    def __init__(self, body: memoryview) -> None:
        self.body = body

    def part(self, found: list[int]) -> memoryview:
        """Some bytes by their place and length."""
        begin, size = found
        if begin + size > len(self.body):
            raise ValueError("the end is missing")
        return self.body[begin : begin + size]

    def array(self, found: list[Any]) -> Any:
        """A flat array."""
        return np.frombuffer(self.part(found[1:]), dtype=found[0])

    def table(self, found: list[int]) -> pa.Table:
        """A table."""
        return pa.ipc.open_stream(self.part(found)).read_all()

    def rows(self, found: list[int], base: int) -> pa.Table:
        """All rows."""
        return self.table(found)


def table_bytes(table: pa.Table) -> pa.Buffer:
    """A table as Arrow IPC."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks() if table.num_rows else table)
    return sink.getvalue()


# The state of a session.


def write_state(facts: dict[str, Any], pipeline: Pipeline | None, late: pa.Table | None, sink: Sink) -> dict[str, Any]:
    """The header of a session's state; its parts go into the sink."""
    header: dict[str, Any] = {"session": facts, "late": None if late is None else sink.table("late", late)}
    if pipeline is not None:
        machines = [query.machine.dump() for query in pipeline.queries]  # which lets go of what is over
        header["streams"] = [
            _write_stream(f"stream.{number}", name, stream, sink)
            for number, (name, stream) in enumerate(pipeline.streams.items())
        ]
        header["queries"] = [
            {
                "kind": query.machine.kind,
                "machine": found,
                "arrays": [sink.array(f"query.{number}.{k}", array) for k, array in enumerate(arrays)],
            }
            for number, (query, (found, arrays)) in enumerate(zip(pipeline.queries, machines, strict=True))
        ]
    return header


def _write_stream(place: str, name: str | None, stream: InputStream, sink: Sink) -> dict[str, Any]:
    lanes = []
    for k, (split, numbers) in enumerate(stream.codes.keys.items()):
        keys, array = numbers.dump()
        saved = sink.array(f"{place}.lanes.{k}", array)
        lanes.append([list(split.columns), list(split.agreed), split.one_key, keys, saved])
    return {
        "name": name,
        "schema": sink.add(f"{place}.schema", stream.schema.arrow.serialize()),
        "kept": sink.rows(f"{place}.kept", stream.kept, stream.base),
        "waiting": sink.table(f"{place}.waiting", stream.arrivals.table),
        "base": stream.base,
        "events": stream.events,
        "strings": list(stream.codes.strings.codes),
        "lanes": lanes,
    }


Read = tuple[dict[str, Any], pa.Schema | None, Callable[[Pipeline], None], pa.Table | None]


def read_state(header: dict[str, Any], source: Source, fingerprint: str) -> Read:
    """The facts of a session, its schema, how to fill its pipeline, and its late events."""
    with _told():
        facts = header["session"]
        if facts["fingerprint"] != fingerprint:
            message = "the snapshot is of another query, other parameters or other roles of the columns"
            raise UsageError("CEP607", message, "restore it with the query that it was taken from")

        def schema(found: Any) -> pa.Schema:
            return pa.ipc.read_schema(pa.py_buffer(source.part(found)))

        def load(pipeline: Pipeline) -> None:
            with _told():
                for saved in header["streams"]:
                    if saved["name"] is not None:
                        pipeline.replace_stream(saved["name"], schema(saved["schema"]))
                    _read_stream(saved, pipeline.streams[saved["name"]], source)
                for number, saved in enumerate(header["queries"]):
                    stream = pipeline.queries[number].stream
                    query = pipeline.queries[number] = pipeline.query(number, stream, saved["kind"])
                    if saved["machine"]:  # nothing before the first event
                        arrays = [source.array(found) for found in saved["arrays"]]
                        query.machine.load(saved["machine"], arrays, stream)

        found = schema(header["streams"][0]["schema"]) if "streams" in header else None
        late = source.table(header["late"]) if header["late"] is not None else None
        return facts, found, load, late


def _read_stream(saved: dict[str, Any], stream: InputStream, source: Source) -> None:
    stream.restore(source.rows(saved["kept"], saved["base"]), saved["base"], saved["events"])
    stream.arrivals.add(source.table(saved["waiting"]))
    stream.codes.strings.codes = {text: code for code, text in enumerate(saved["strings"])}
    for columns, agreed, one_key, keys, array in saved["lanes"]:
        split = Lanes(tuple(columns), tuple(agreed), one_key)
        stream.codes.lanes(split).load(keys, source.array(array))
    stream.postpone()


_REMEDY = "pass the bytes that snapshot() gave"


@contextmanager
def _told() -> Iterator[None]:
    """Whatever is wrong with bytes that were damaged."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, pa.ArrowInvalid, OSError) as error:
        raise UsageError("CEP607", f"the snapshot is damaged: {error}", _REMEDY) from None


# The same as bytes.


def to_bytes(header: dict[str, Any], flat: FlatSink) -> bytes:
    """A header and parts as bytes."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    total = checksum([memoryview(text), *flat.parts])
    return b"".join([_START.pack(MAGIC, VERSION, 0, len(text), total), text, *flat.parts])


def from_bytes(blob: object) -> tuple[dict[str, Any], FlatSource]:
    """The header and the parts."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise UsageError("CEP607", f"a {type(blob).__name__} is no snapshot", _REMEDY)
    view = memoryview(blob).cast("B")
    if len(view) < _START.size or bytes(view[: len(MAGIC)]) != MAGIC:
        raise UsageError("CEP607", "these bytes are no snapshot", _REMEDY)
    _, version, reserved, length, total = _START.unpack(view[: _START.size])
    if version != VERSION:
        message = f"the snapshot has format {version}, this release reads {VERSION}"
        raise UsageError("CEP607", message, "restore it with the release that wrote it, or run the stream anew")
    if reserved or checksum([view[_START.size :]]) != total:
        raise UsageError("CEP607", "the snapshot is damaged: its bytes are not those that were written", _REMEDY)
    body = _START.size + length
    with _told():
        return json.loads(bytes(view[_START.size : body])), FlatSource(view[body:])


def checksum(body: Sequence[memoryview]) -> int:
    """A sum over all words: as fast as memory, and enough to see that bytes were changed."""
    total = 0
    for part in body:
        whole = len(part) // 8 * 8
        words = np.frombuffer(part[:whole], np.uint64)
        # The last few bytes of a part are padded with zeros, which add nothing.
        total += int(np.add.reduce(words, dtype=np.uint64)) + int.from_bytes(part[whole:], "little") + len(part)
    return total % 2**64
