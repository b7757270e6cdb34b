"""A session's state: a header for JSON, and parts, which a `Sink` takes and a `PartSource` gives back.

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
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.parts import FlatSink, FlatSource, PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.errors import UsageError
from cepheid.pattern.tree.flow import EVENTS, StreamSource
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.json import Json

MAGIC = b"CEPHEID\n"
VERSION = 3
_START = struct.Struct("<8sHHIQ")


class OtherFormatError(UsageError):
    """A snapshot that another release wrote, which this one can't read."""


# The state of a session.


def write_state(facts: Json, pipeline: Pipeline | None, late: pa.Table | None, sink: Sink) -> Json:
    """The header of a session's state; its parts go into the sink."""
    header: Json = {"session": facts, "late": None if late is None else sink.table("late", late)}
    return header if pipeline is None else header | write_pipeline(pipeline, sink)


def write_pipeline(pipeline: Pipeline, sink: Sink, events: Json | None = None) -> Json:
    """The streams and the machines of a pipeline. events: the stream of events, if it is written already."""
    machines = [query.dump() for query in pipeline.queries]  # which drops what is over
    streams = [
        events
        if events is not None and stream is pipeline.events
        else write_stream(f"stream.{number}", source, stream, sink) | _reader(pipeline, source, stream)
        for number, (source, stream) in enumerate(pipeline.every_stream())
    ]
    queries = [
        {
            "kind": query.kind,
            "machine": machine,
            "arrays": [sink.array(f"query.{number}.{k}", array) for k, array in enumerate(arrays)],
        }
        for number, (query, (machine, arrays)) in enumerate(zip(pipeline.queries, machines, strict=True))
    ]
    return {"streams": streams, "queries": queries}


def write_stream(place: str, source: StreamSource, stream: InputStream, sink: Sink) -> Json:
    """A stream: what waits, what is kept, and its codes."""
    partitions = []
    for k, (split, numbers) in enumerate(stream.codes.keys.items()):
        keys, array = numbers.dump()
        saved = sink.array(f"{place}.partitions.{k}", array)
        partitions.append([list(split.columns), list(split.agreed), split.one_key, keys, saved])
    return {
        "name": list(source) if len(source) > 1 else source[0],
        "schema": sink.add(f"{place}.schema", stream.schema.arrow.serialize()),
        "kept": sink.rows(f"{place}.kept", stream.kept, stream.base),
        "waiting": stream.arrivals.save(f"{place}.waiting", sink),
        "base": stream.base,
        "events": stream.events,
        "last": stream.last,
        **({"mixed": stream.mixed} if stream.is_mixed else {}),
        "strings": list(stream.codes.strings.codes),
        "lanes": partitions,
    }


def _reader(pipeline: Pipeline, source: StreamSource, stream: InputStream) -> dict[str, int]:
    """How what queries see of a stream is found again: by the number of the first one that reads it."""
    if stream is pipeline.streams[source]:
        return {}
    return {"reader": next(number for number, query in enumerate(pipeline.queries) if query.stream is stream)}


def saved_source(saved: Json) -> StreamSource:
    """The streams that a saved one is made of."""
    return tuple(saved["name"]) if isinstance(saved["name"], list) else (saved["name"],)


Read = tuple[Json, pa.Schema | None, Callable[[Pipeline], None], pa.Table | None]


def read_state(header: Json, source: PartSource, fingerprint: str) -> Read:
    """The facts of a session, its schema, how to fill its pipeline, and its late events."""
    with telling_damage():
        facts = header["session"]
        check_fingerprint(facts["fingerprint"], fingerprint)

        def load(pipeline: Pipeline) -> None:
            with telling_damage():
                load_pipeline(header, source, pipeline)

        schema = _schema(header["streams"][0]["schema"], source) if "streams" in header else None
        late = source.table(header["late"]) if header["late"] is not None else None
        return facts, schema, load, late


def check_fingerprint(fingerprint: str, wanted: str) -> None:
    """Refuse the state of another query."""
    if fingerprint != wanted:
        message = "the snapshot is of another query, other parameters or other roles of the columns"
        raise UsageError("CEP607", message, "restore it with the query that it was taken from")


def _schema(entry: Any, source: PartSource) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(source.part(entry)))


def load_pipeline(
    header: Json,
    source: PartSource,
    pipeline: Pipeline,
    fits: Sequence[bool] | None = None,
    *,
    has_events: bool = False,
) -> None:
    """Fill a new pipeline with what `write_pipeline` has written.

    fits: of which queries machines can read their state; None: of all. The others are as before the first event.
    has_events: whether its stream of events is filled already, by another pipeline that shares it.
    """
    for saved in header["streams"]:
        name = saved_source(saved)
        if has_events and name == EVENTS and "reader" not in saved:
            continue
        if "reader" in saved:
            read_stream(saved, pipeline.queries[saved["reader"]].stream, source)
            continue
        if name != EVENTS:
            pipeline.replace_stream(name, _schema(saved["schema"], source))
        read_stream(saved, pipeline.streams[name], source)
        if not any("reader" in other for other in header["streams"]):
            # Once, a query with a filter in FROM had the positions of the whole stream.
            alone = {**saved, "waiting": [], "strings": [], "lanes": []}
            for view in pipeline.views_of(name):
                read_stream(alone, view.stream, source)
    for number, saved in enumerate(header["queries"]):
        if fits is not None and not fits[number]:
            pipeline.queries[number] = pipeline.query(number)  # of the stream as it is now
            continue
        query = pipeline.queries[number] = pipeline.query(number, saved["kind"])
        query.begun = query.stream.events > 0
        if saved["machine"]:  # nothing before the first event
            arrays = [source.array(entry) for entry in saved["arrays"]]
            query.load(saved["machine"], arrays)


def read_stream(saved: Json, stream: InputStream, source: PartSource) -> None:
    """Fill a new stream with what `write_stream` has written."""
    stream.restore(source.rows(saved["kept"], saved["base"]), saved["base"], saved["events"], saved["last"])
    stream.mixed = saved.get("mixed", 0)
    stream.arrivals.load(saved["waiting"], source)
    stream.codes.strings.codes = {text: code for code, text in enumerate(saved["strings"])}
    for columns, agreed, one_key, keys, array in saved["lanes"]:
        split = Partitioning(tuple(columns), tuple(agreed), one_key)
        stream.codes.partitions(split).load(keys, source.array(array))
    stream.postpone()


_REMEDY = "pass the bytes that snapshot() gave"


@contextmanager
def telling_damage() -> Iterator[None]:
    """Whatever is wrong with bytes that were damaged."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, pa.ArrowInvalid, OSError) as error:
        raise UsageError("CEP607", f"the snapshot is damaged: {error}", _REMEDY) from None


# The same as bytes.


def to_bytes(header: Json, flat: FlatSink) -> bytes:
    """A header and parts as bytes."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    total = checksum([memoryview(text), *flat.parts])
    return b"".join([_START.pack(MAGIC, VERSION, 0, len(text), total), text, *flat.parts])


def from_bytes(blob: object) -> tuple[Json, FlatSource]:
    """The header and the parts."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise UsageError("CEP607", f"a {type(blob).__name__} is no snapshot", _REMEDY)
    view = memoryview(blob).cast("B")
    if len(view) < _START.size or bytes(view[: len(MAGIC)]) != MAGIC:
        raise UsageError("CEP607", "these bytes are no snapshot", _REMEDY)
    _, version, reserved, length, total = _START.unpack(view[: _START.size])
    if version != VERSION:
        message = f"the snapshot has format {version}, this release reads {VERSION}"
        raise OtherFormatError("CEP607", message, "restore it with the release that wrote it, or run the stream anew")
    if reserved or checksum([view[_START.size :]]) != total:
        raise UsageError("CEP607", "the snapshot is damaged: its bytes are not those that were written", _REMEDY)
    body = _START.size + length
    with telling_damage():
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
