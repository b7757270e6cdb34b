"""The state of one bucket of keys: rows that wait for the watermark, and a session, in parts of which few change.

In the store there is a header, and parts by name. Rows never change once they are there: they are written as segments,
and small segments become larger ones now and then. All else is one body, cut into chunks where its content says, and
only those chunks are written that are new. What is small is in the header itself: a small state is one read and one
write. Parts are compressed, since each byte costs more on its way through Spark than that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b, sha256
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.api import Matches, Session
from cepheid.engine.generated import Generated
from cepheid.engine.snapshot import FlatSink, FlatSource, from_bytes, to_bytes
from cepheid.engine.stage import Stage
from cepheid.engine.times import tick, ticks
from cepheid.errors import CepheidError, InputError, UsageError
from cepheid.pattern.schema import Schema, make_schema
from cepheid.spark.packing import CODEC, unpack, write
from cepheid.spark.worker import WorkerQuery, cached_query

FORMAT = 1
"""Of the state in a checkpoint; another one is refused."""
SMALL, CHUNK, SEGMENT = 16_384, 65_536, 1 << 20
"""Bytes of what goes into the header, of a chunk in the middle, and of a segment that grows no more."""
FAN = 8
"""So many segments of a size become one."""
NATIVE = 5_000
"""Events from which on a bucket's session is compiled at once when it is restored."""

_NONCE = 16
_ANEW = "start the stream anew with another checkpoint location, or go back to what the checkpoint was made with"


class Store(Protocol):
    """Where a bucket's state is: a header, and parts by their names."""

    def header(self) -> bytes | None:
        """The header, if there is one."""

    def put_header(self, header: bytes) -> None:
        """Another header."""

    def part(self, name: str, digest: str) -> bytes | None:
        """A part; the digest is that of what was put."""

    def put(self, name: str, part: bytes, digest: str) -> None:
        """A part, in place of the one of that name."""

    def drop(self, name: str, digest: str) -> None:
        """Remove a part."""


@dataclass(frozen=True)
class StreamFingerprint:
    """What a checkpoint must agree with."""

    query: str
    columns: str
    buckets: int
    format: int = FORMAT

    def check(self, found: dict[str, Any]) -> None:
        """Refuse the state of another stream."""
        if found["format"] != self.format:
            message = f"the checkpoint's state has format {found['format']}, this release reads {self.format}"
            raise UsageError("CEP905", message, "go on with the release that wrote it, or start the stream anew")
        told = {
            "query": "the checkpoint is of another query, other parameters or other roles of the columns",
            "columns": "the checkpoint is of other columns, other types or another time zone of the session",
            "buckets": f"the checkpoint has {found['buckets']} buckets, the stream has {self.buckets}",
        }
        for name, message in told.items():
            if found[name] != getattr(self, name):
                remedy = f"pass buckets={found['buckets']}, or {_ANEW}" if name == "buckets" else _ANEW
                raise UsageError("CEP905", message, remedy)


def stream_fingerprint(worker_query: WorkerQuery, buckets: int) -> StreamFingerprint:
    """Of a stream."""
    columns = sha256(worker_query.event_schema.remove_metadata().serialize().to_pybytes()).hexdigest()
    return StreamFingerprint(worker_query.query._fingerprint(), columns, buckets)


def introduced(blob: bytes) -> tuple[StreamFingerprint, pa.Schema]:
    """What the stream of a control bucket's header is of, and its columns."""
    with _damage_told():
        header, flat = from_bytes(blob[_NONCE:])
    return StreamFingerprint(**header["stream"]), pa.ipc.read_schema(pa.py_buffer(flat.part(header["columns"])))


# Parts in a store.


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except CepheidError as error:
        if error.code != "CEP607":
            raise
        raise damaged(error.message.removeprefix("the snapshot is damaged: ")) from None


def damaged(what: str) -> UsageError:
    """The error of a state that is not as it was written."""
    remedy = "restore the checkpoint's files from a copy, or start the stream anew with another checkpoint location"
    return UsageError("CEP906", f"the state in the checkpoint is damaged: {what}", remedy)


def _digest(part: Any) -> str:
    return blake2b(part, digest_size=16).hexdigest()


class Parts:
    """What a store has: the digests of the parts by their names, and the positions of rows in segments."""

    def __init__(self, digests: dict[str, str] | None = None, rows: dict[str, list[list[int]]] | None = None) -> None:
        self.digests = digests or {}
        self.rows = rows or {}


class PartsSink(FlatSink):
    """Takes the parts of a state; writes what the store does not have."""

    def __init__(self, store: Store, known: Parts) -> None:
        super().__init__()
        self.store = store
        self.known = known
        self.now = Parts()
        self.size = 0  # of header, chunks and segments, in bytes

    def put(self, name: str, part: bytes) -> None:
        """Rows that are new."""
        digest = _digest(part)
        self.store.put(name, part, digest)
        self.now.digests[name] = digest

    def keep(self, name: str) -> None:
        """Rows that the store has."""
        self.now.digests[name] = self.known.digests[name]

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        """Rows by their positions: those that the store has are not written again."""
        if table.nbytes <= SMALL:
            return {"rows": self.table(name, table)}
        end = base + table.num_rows
        segments = [segment for segment in self.known.rows.get(name, []) if segment[1] > base]
        if not segments or segments[0][0] > base or segments[-1][1] > end:
            segments = []
        at = segments[-1][1] if segments else base
        if at < end:
            segments = [*segments, [at, end, 0, 0]]
        size = table.nbytes // max(table.num_rows, 1)
        while _crowded([segment[2] for segment in segments]):
            begin, end = max(segments[-FAN][0], base), segments[-1][1]
            if (end - begin) * size > SEGMENT:
                break
            segments = [*segments[:-FAN], [begin, end, segments[-1][2] + 1, 0]]
        for segment in segments:
            begin, end, _, size = segment
            part = f"{name}@{begin}-{end}"
            if size:
                self.keep(part)
            else:
                first = max(begin, base)
                blob = write(table.slice(first - base, end - first).combine_chunks(), dense=True)
                segment[3] = len(blob)
                self.put(part, blob)
        self.now.rows[name] = segments
        return {"segments": name}

    def close(self, header: dict[str, Any]) -> bytes:
        """Write the header; parts that are in it no more go. Gives the nonce by which this state is known."""
        chunks: list[tuple[str, int]] = []
        body, inner = self.parts, FlatSink()
        if self.length > SMALL:
            for chunk in cut(b"".join(body)):
                digest = _digest(chunk)
                if digest not in self.known.digests and digest not in self.now.digests:
                    self.store.put(digest, CODEC.compress(chunk, asbytes=True), digest)
                self.now.digests[digest] = digest
                chunks.append((digest, len(chunk)))
        else:
            inner = self
        whole = {**header, "chunks": chunks, "parts": self.now.digests, "rows": self.now.rows}
        nonce = os.urandom(_NONCE)
        text = nonce + to_bytes(whole, inner)
        self.store.put_header(text)
        self.size = len(text) + sum(size for _, size in chunks)
        self.size += sum(segment[3] for segments in self.now.rows.values() for segment in segments)
        for name, digest in self.known.digests.items():
            if name not in self.now.digests:
                self.store.drop(name, digest)
        return nonce


def _crowded(levels: Sequence[int]) -> bool:
    """Whether enough segments of a size are at the end."""
    return len(levels) >= FAN and len(set(levels[-FAN:])) == 1


def cut(body: bytes) -> Iterator[memoryview]:
    """A body in chunks whose ends are where its content says: what has only moved is cut as it was before.

    Arrays lose entries at their beginning and get others at their end, so that most of them has moved.
    """
    view = memoryview(body)
    begin = 0
    for end in _ends(np.frombuffer(body, np.uint32, len(body) // 4)):
        while end - begin > 4 * CHUNK:
            yield view[begin : begin + 4 * CHUNK]
            begin += 4 * CHUNK
        if end - begin >= CHUNK // 4:
            yield view[begin:end]
            begin = end
    for at in range(begin, len(body), 4 * CHUNK):
        yield view[at : at + 4 * CHUNK]


def _ends(words: Any) -> Iterator[int]:
    """Where chunks may end: after some words whose mixture with those before is small, as one in very many is."""
    for at in range(0, len(words), _BLOCK):  # which stays in the processor's cache
        some = words[at : at + _BLOCK + 2]
        mixed = some[2:] * np.uint32(0x9E3779B1)
        mixed += some[1:-1] * np.uint32(0x85EBCA77)
        mixed += some[: len(some) - 2] * np.uint32(0xC2B2AE3D)
        for place in np.flatnonzero(mixed < np.uint32(2**32 // (CHUNK // 4))).tolist():
            yield 4 * (at + place + 3)


_BLOCK = 32_768


class PartsSource(FlatSource):
    """Gives the parts of a state back."""

    def __init__(self, store: Store, known: Parts, chunks: list[list[Any]], flat: FlatSource) -> None:
        self.store = store
        self.known = known
        super().__init__(memoryview(b"".join(self.chunk(*chunk) for chunk in chunks)) if chunks else flat.body)

    def chunk(self, digest: str, size: int) -> bytes:
        """A chunk of the body."""
        with _damage_told():
            part = CODEC.decompress(self.fetch(digest, digested=False), size, asbytes=True)
        if _digest(part) != digest:
            raise damaged(f"{digest} is not as it was written")
        return bytes(part)

    def fetch(self, name: str, *, digested: bool = True) -> bytes:
        """A part on its own, which is as it was written."""
        digest = self.known.digests[name]
        part = self.store.part(name, digest)
        if part is None:
            raise damaged(f"{name} is missing")
        if digested and _digest(part) != digest:
            raise damaged(f"{name} is not as it was written")
        return part

    def rows(self, found: Any, base: int) -> pa.Table:
        """Rows from a position on."""
        if "rows" in found:
            return self.table(found["rows"])
        name = found["segments"]
        tables = []
        for begin, end, *_ in self.known.rows[name]:
            table = unpack(self.fetch(f"{name}@{begin}-{end}"))
            tables.append(table.slice(table.num_rows - (end - max(begin, base))))
        return pa.concat_tables(tables)


# A bucket.


@dataclass(frozen=True)
class Waiting:
    """Rows that came together and are not all before the watermark yet."""

    name: str
    low: int  # the first time that is not before the watermark
    high: int
    size: int  # in bytes
    level: int = 0
    blob: bytes | None = None  # where it was read or written here

    def facts(self) -> list[Any]:
        """For the header."""
        return [self.name, self.low, self.high, self.size, self.level]


@dataclass(frozen=True)
class Given:
    """What a call gave."""

    matches: Matches | None
    events: int
    late: int


Packed = tuple[bytes, int, int, int]
"""A blob of events, the first and the last time in it, and how many they are."""


class Bucket:
    """Events of some keys: what waits, and the session of what does not."""

    def __init__(self, worker_query: WorkerQuery, own: StreamFingerprint) -> None:
        self.worker_query = worker_query
        self.own = own
        self.schema: Schema = make_schema(worker_query.event_schema, worker_query.query._roles)
        self.milliseconds = 1_000_000 // tick(self.schema)  # in ticks
        self.session: Session | None = None
        self.watermark: int | None = None  # in ticks, of the last call
        self.waiting: list[Waiting] = []
        self.last: int | None = None  # the last event that the session has
        self.cleared = 0  # the watermark when all was cleared that could go
        self.count = 0  # of segments that ever waited
        self.timer: int | None = None  # in milliseconds
        self.parts = Parts()
        self.source: PartsSource | None = None
        self.nonce = b""
        self.size = 0  # in the store, in bytes

    # Events.

    def take(self, packed: Iterable[Packed], watermark: int | None, late: str) -> Given:
        """New events, and the watermark of the micro-batch in milliseconds."""
        now = None if watermark is None else watermark * self.milliseconds
        matches = self.release(now) if now is not None and now != self.watermark else None
        self.watermark = now if now is not None else self.watermark
        self.forget()
        events = dropped = 0
        for blob, low, high, rows in packed:
            if self.watermark is None or low >= self.watermark:
                self.wait(blob, low, high)
                events += rows
                continue
            table = unpack(blob).cast(self.worker_query.event_schema)
            times = ticks(self.schema, table)
            on_time = times >= self.watermark
            if late == "error":
                raise self.too_late(table, ~on_time)
            dropped += int((~on_time).sum())
            if on_time.any():
                times = times[on_time]
                events += len(times)
                kept = write(table.filter(pa.array(on_time)), dense=True)
                self.wait(kept, int(times.min()), int(times.max()))
        return Given(matches, events, dropped)

    def wait(self, blob: bytes, low: int, high: int, level: int = 0) -> None:
        """Some rows wait."""
        self.count += 1
        self.waiting.append(Waiting(f"w{self.count}", low, high, len(blob), level, blob))

    def release(self, now: int) -> Matches | None:
        """Hand the events before a time to the session."""
        ready: list[pa.Table] = []
        kept: list[Waiting] = []
        for segment in self.waiting:
            if segment.low >= now:
                kept.append(segment)
                continue
            table = self.rows(segment)
            times = ticks(self.schema, table)
            chosen = times < now
            if self.watermark is not None:
                chosen &= times >= self.watermark
            ready.append(table if chosen.all() else table.filter(pa.array(chosen)))
            self.last = max([int(times[chosen].max()), *([] if self.last is None else [self.last])])
            if segment.high >= now:
                kept.append(replace(segment, low=int(times[times >= now].min())))
        self.waiting = kept
        if self.session is None and not ready:
            return None
        if self.session is None:
            self.session = self.worker_query.session()
        if ready:
            self.session.push(pa.concat_tables(ready))
        _make_room(self.session, sum(table.num_rows for table in ready))
        windows = _windows(self.session)
        if windows is not None and now - self.cleared >= max(windows) // 2:
            _clear(self.session)
            self.cleared = now
        return self.session.reach(now)

    def rows(self, segment: Waiting) -> pa.Table:
        """Rows that wait, as they came."""
        blob = segment.blob
        if blob is None:
            assert self.source is not None
            blob = self.source.fetch(segment.name)
        return unpack(blob).cast(self.worker_query.event_schema)

    def too_late(self, table: pa.Table, late: Any) -> InputError:
        """The error under late="error"."""
        row = int(np.flatnonzero(late)[0])
        value = table.column(self.schema.roles.time)[row].as_py()
        message = f"{int(late.sum())} of {table.num_rows} events are before the watermark, the first at {value}"
        return InputError("CEP408", message, 'give withWatermark a longer delay, or use late="drop"')

    def close(self) -> Matches:
        """What there would be if the stream ended here."""
        session = self.session or self.worker_query.session()
        for segment in self.waiting:
            table = self.rows(segment)
            if self.watermark is not None:
                table = table.filter(pa.array(ticks(self.schema, table) >= self.watermark))
            session.push(table)
        return session.close()

    # Time.

    def due(self) -> int | None:
        """The first millisecond of the watermark at which this bucket has something to do, if no event comes."""
        moments = [segment.low + 1 for segment in self.waiting]
        if self.session is not None:
            moments += _moments(self.session)
        over = self.over()
        if over is not None:
            moments.append(over)
        if not moments:
            return None
        due = -(-min(moments) // self.milliseconds)
        now = 0 if self.watermark is None else self.watermark // self.milliseconds
        return max(due, now + 1)

    def over(self) -> int | None:
        """The time from which on no event so far can be in a match: then it is as if there had been none."""
        windows = None if self.session is None or self.last is None else _windows(self.session)
        return None if windows is None or self.last is None else self.last + max(windows)

    def forget(self) -> None:
        """Give up a session that has nothing left."""
        over = self.over()
        if self.session is None or over is None or self.watermark is None:
            return
        if over <= self.watermark and not _is_open(self.session):
            self.session = None
            self.parts.rows = {}

    # The store.

    def save(self, store: Store) -> None:
        """Write what has changed."""
        sink = PartsSink(store, self.parts)
        self.merge()
        for segment in self.waiting:
            if segment.name in self.parts.digests:
                sink.keep(segment.name)
            else:
                assert segment.blob is not None
                sink.put(segment.name, segment.blob)
        header = {
            "stream": asdict(self.own),
            "watermark": self.watermark,
            "timer": self.timer,
            "last": self.last,
            "cleared": self.cleared,
            "count": self.count,
            "waiting": [segment.facts() for segment in self.waiting],
            "state": None if self.session is None else self.session._save(sink),
        }
        self.nonce = sink.close(header)
        self.parts = sink.now
        self.size = sink.size + sum(segment.size for segment in self.waiting)

    def merge(self) -> None:
        """Small segments become larger ones, so that there are never many."""
        while _crowded([segment.level for segment in self.waiting]):
            last = self.waiting[-FAN:]
            if sum(segment.size for segment in last) > SEGMENT:
                return
            tables = [self.rows(segment) for segment in last]
            del self.waiting[-FAN:]
            low, high = min(segment.low for segment in last), max(segment.high for segment in last)
            self.wait(write(pa.concat_tables(tables).combine_chunks(), dense=True), low, high, last[0].level + 1)

    def introduce(self, store: Store) -> None:
        """Tell a store of a stream without events what it is of."""
        flat = FlatSink()
        columns = flat.add("columns", self.worker_query.event_schema.serialize())
        store.put_header(bytes(_NONCE) + to_bytes({"stream": asdict(self.own), "columns": columns}, flat))

    def load(self, store: Store, blob: bytes | None = None) -> bool:
        """Take up the state that a store has, if it has one; its header may have been read already."""
        blob = store.header() if blob is None else blob
        if blob is None:
            return False
        with _damage_told():
            header, flat = from_bytes(blob[_NONCE:])
            self.own.check(header["stream"])
            if "columns" in header:
                return True
            self.parts = Parts(header["parts"], header["rows"])
            self.source = PartsSource(store, self.parts, header["chunks"], flat)
            self.watermark, self.timer, self.count = header["watermark"], header["timer"], header["count"]
            self.last, self.cleared = header["last"], header["cleared"]
            self.waiting = [Waiting(*facts) for facts in header["waiting"]]
            if header["state"] is not None:
                worker_query = self.worker_query
                if worker_query.engine == "auto" and header["state"]["session"]["events"] >= NATIVE:
                    worker_query = replace(worker_query, engine="compiled")
                self.session = cached_query(worker_query.query).session(
                    engine=worker_query.engine, plan=worker_query.plan
                )
                self.session._load(header["state"], self.source)
                _rest(self.session)
        return True


class BucketCache:
    """Buckets as a worker left them, which it need not read again if nobody has written them since.

    The store decides: it has the nonce of the state that was committed last. A task that failed, or ran elsewhere too,
    has left another one here, and then all is read from the store.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.buckets: dict[tuple[StreamFingerprint, int], tuple[Bucket, int]] = {}

    def take(self, worker_query: WorkerQuery, own: StreamFingerprint, number: int, store: Store) -> Bucket:
        """The bucket at hand. It is put back when all has gone well."""
        header = store.header()
        found = self.buckets.pop((own, number), None)
        if found is not None and header is not None and header[:_NONCE] == found[0].nonce:
            bucket = found[0]
            if bucket.source is not None:
                bucket.source.store = store  # the one that it was read from was another task's
            return bucket
        bucket = Bucket(worker_query, own)
        if header is not None:
            bucket.load(store, header)
        return bucket

    def put(self, bucket: Bucket, number: int, size: int) -> None:
        """Keep a bucket; those that were used longest ago go."""
        if bucket.worker_query.query._functions:  # which may be others of the same names when the stream starts again
            return
        self.buckets[bucket.own, number] = bucket, size
        used = sum(size for _, size in self.buckets.values())
        for key in list(self.buckets):
            if used <= self.room:
                break
            used -= self.buckets.pop(key)[1]


def _windows(session: Session) -> list[int] | None:
    """The windows of a program's queries in ticks; None where one has no end in time."""
    found = []
    for stage in session._opened.stages:
        within = stage.query.within
        if within is None or within.nanoseconds is None:
            return None
        found.append(-(-within.nanoseconds // tick(stage.schema)))
    return found


def _moments(session: Session) -> Iterator[int]:
    """When an absence may become certain though no event comes."""
    for stage in session._opened.stages:
        within = stage.query.within
        if not stage.kept.num_rows or within is None or within.nanoseconds is None:
            continue
        end = stage.machine.unsettled()
        if end is not None:
            first, last = (int(ticks(stage.schema, stage.kept.slice(at, 1))[0]) for at in (0, end - stage.base))
            yield max(first - (-within.nanoseconds // tick(stage.schema)), last + 1)


def _machine(stage: Stage) -> Any:
    return getattr(stage.machine, "inner", None) or stage.machine


def _clear(session: Session) -> None:
    """Have all be cleared at the next step that can go, and not only once it is much: it would be written each time."""
    for stage in session._opened.stages:
        stage.enough = 0
        machine = _machine(stage)
        if hasattr(machine, "enough"):
            machine.enough = 0


def _make_room(session: Session, events: int) -> None:
    """For the events at hand: a machine stops where it is full, and has only the room that it was saved with."""
    for stage in session._opened.stages:
        machine = _machine(stage)
        if isinstance(machine, Generated):
            for name in ("nodes", "matches"):
                machine.room[name] = max(machine.room[name], min(2 * events, _ROOM))


_ROOM = 65_536


def _rest(session: Session) -> None:
    """What was restored need not be cleared before it has grown: as if that had just been done."""
    for stage in session._opened.stages:
        stage.enough = 2 * stage.kept.num_rows + 256
        machine = _machine(stage)
        if isinstance(machine, Generated):
            machine.enough = 2 * len(machine.lanes) + 16


def _is_open(session: Session) -> bool:
    """Whether something is not decided that has ended already."""
    return any(stage.arrivals.tables or stage.machine.unsettled() is not None for stage in session._opened.stages)
