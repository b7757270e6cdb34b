"""One bucket of keys in a micro-batch: events are buffered until the watermark has passed them, then matched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cepheid.api import Matches, Session
from cepheid.engine.encoding.times import ticks
from cepheid.errors import InputError
from cepheid.spark.packing import unpack, write
from cepheid.spark.state.buffer import BufferedSegment, EventBuffer
from cepheid.spark.state.control import COLUMNS
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import Inventory, StateReader, StateWriter, read_header
from cepheid.spark.state.store import StateStore, reporting_damage
from cepheid.spark.worker import WorkerQuery, cached_query


class PackedEvents(NamedTuple):
    """A blob of events with their first and last time, in ticks, and their number."""

    blob: bytes
    low: int
    high: int
    rows: int


@dataclass(frozen=True)
class BucketOutput:
    """What a bucket did in a micro-batch: the new matches, and how many events it took in and dropped as late."""

    matches: Matches | None
    events: int
    late: int


class Bucket:
    """The events of some keys: a buffer of those that wait for the watermark, and a session that has the others."""

    def __init__(self, worker_query: WorkerQuery, fingerprint: StreamFingerprint) -> None:
        self.worker_query = worker_query
        self.fingerprint = fingerprint
        self.schema = worker_query.schema
        self.ticks_per_ms = 1_000_000 // self.schema.tick
        self.buffer = EventBuffer(self.schema, worker_query.event_schema)
        self.session: Session | None = None
        self.watermark: int | None = None  # in ticks, of the last micro-batch
        self.last_event: int | None = None  # the time of the last event that the session has
        self.cleared = 0  # the watermark when the session was last made to discard what it can
        self.timer: int | None = None  # in milliseconds
        self.stored = Inventory()
        self.nonce = b""
        self.size = 0  # in the store, in bytes

    # Events.

    def take(self, arrived: Iterable[PackedEvents], watermark: int | None, late: str) -> BucketOutput:
        """Match what the watermark, in milliseconds, has passed since the last call, and buffer the new events."""
        now = None if watermark is None else watermark * self.ticks_per_ms
        matches = self._release(now) if now is not None and now != self.watermark else None
        self.watermark = now if now is not None else self.watermark
        self._drop_finished_session()
        events = dropped = 0
        for blob, low, high, rows in arrived:
            if self.watermark is None or low >= self.watermark:
                self.buffer.add(blob, low, high)
                events += rows
                continue
            table = unpack(blob).cast(self.worker_query.event_schema)
            times = ticks(self.schema, table)
            on_time = times >= self.watermark
            if late == "error":
                raise self._too_late(table, ~on_time)
            dropped += int((~on_time).sum())
            if on_time.any():
                times = times[on_time]
                events += len(times)
                kept = write(table.filter(pa.array(on_time)), dense=True)
                self.buffer.add(kept, int(times.min()), int(times.max()))
        return BucketOutput(matches, events, dropped)

    def _release(self, now: int) -> Matches | None:
        """Hand the events before a time to the session, and return the matches that became certain."""
        ready, last = self.buffer.release(self.watermark, now)
        if last is not None:
            self.last_event = last if self.last_event is None else max(last, self.last_event)
        if self.session is None and not ready:
            return None
        if self.session is None:
            self.session = self.worker_query.session()
        if ready:
            self.session.push(pa.concat_tables(ready))
        self.session.reserve(sum(table.num_rows for table in ready))
        matches = self.session.reach(now)
        windows = self.session.windows
        if windows is not None and now - self.cleared >= max(windows) // 2:
            self.session.compact()  # else what could go would be written in every micro-batch
            self.cleared = now
        return matches

    def _too_late(self, table: pa.Table, late: Any) -> InputError:
        row = int(np.flatnonzero(late)[0])
        value = table.column(self.schema.roles.time)[row].as_py()
        message = f"{int(late.sum())} of {table.num_rows} events are before the watermark, the first at {value}"
        return InputError("CEP408", message, 'pass a longer delay to withWatermark, or use late="drop"')

    def close(self) -> Matches:
        """Return the matches that there would be if the stream ended here."""
        session = self.session or self.worker_query.session()
        for table in self.buffer.remaining(self.watermark):
            session.push(table)
        return session.close()

    # Time.

    def due(self) -> int | None:
        """Return the first watermark, in milliseconds, at which there is something to do even if no event arrives."""
        moments = [segment.low + 1 for segment in self.buffer.segments]
        if self.session is not None:
            moments += self.session.deadlines()
        finished = self._finished_at()
        if finished is not None:
            moments.append(finished)
        if not moments:
            return None
        due = -(-min(moments) // self.ticks_per_ms)
        now = 0 if self.watermark is None else self.watermark // self.ticks_per_ms
        return max(due, now + 1)

    def _finished_at(self) -> int | None:
        """Return the time from which on no event of the session can be in a new match."""
        windows = None if self.session is None or self.last_event is None else self.session.windows
        return None if windows is None or self.last_event is None else self.last_event + max(windows)

    def _drop_finished_session(self) -> None:
        """Drop a session that can give no more matches: a new one would give the same."""
        finished = self._finished_at()
        if self.session is None or finished is None or self.watermark is None:
            return
        if finished <= self.watermark and not self.session.undecided:
            self.session = None
            self.stored.segments = {}

    # The store.

    def save(self, store: StateStore) -> None:
        """Write what has changed since the state was loaded or saved."""
        writer = StateWriter(store, self.stored)
        self.buffer.save(writer)
        header = {
            "stream": asdict(self.fingerprint),
            "watermark": self.watermark,
            "timer": self.timer,
            "last": self.last_event,
            "cleared": self.cleared,
            "count": self.buffer.count,
            "waiting": [segment.facts() for segment in self.buffer.segments],
            "state": None if self.session is None else self.session.save(writer),
        }
        self.nonce = writer.close(header)
        self.stored = writer.written
        self.size = writer.size + self.buffer.size

    def load(self, store: StateStore, blob: bytes | None = None) -> None:
        """Load the state that a store has, if any.

        blob: the header, if it has been read already.
        """
        blob = store.header() if blob is None else blob
        if blob is None:
            return
        header, flat = read_header(blob)
        self.fingerprint.check(header["stream"])
        if COLUMNS in header:  # the control header, of a slot that never has events
            return
        with reporting_damage():
            reader = StateReader(store, header, flat)
            self.stored = reader.stored
            self.watermark, self.timer = header["watermark"], header["timer"]
            self.last_event, self.cleared = header["last"], header["cleared"]
            self.buffer.reader, self.buffer.count = reader, header["count"]
            self.buffer.segments = [BufferedSegment(*facts) for facts in header["waiting"]]
            if header["state"] is not None:
                self.session = self._restored(header["state"], reader)

    def _restored(self, saved: dict[str, Any], reader: StateReader) -> Session:
        query = self.worker_query
        session = cached_query(query.query).session(engine=query.engine, plan=query.plan)
        session.load(saved, reader)
        return session

    def use_store(self, store: StateStore) -> None:
        """Read segments from the store of the running task; the one they were loaded from was another task's."""
        if self.buffer.reader is not None:
            self.buffer.reader.store = store
