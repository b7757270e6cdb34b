"""One bucket of keys in a micro-batch: its session takes in events, and matches those that the watermark has passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from cepheid.api import Changes, Matches
from cepheid.engine.session.control import ControlDecision
from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.opening import AnySession
from cepheid.engine.session.waiting_session import WaitingSession
from cepheid.engine.session.written_changes import write_changes
from cepheid.engine.stream.rows import Arrival
from cepheid.errors import InputError
from cepheid.spark.packing import PackedEvents
from cepheid.spark.state.control import COLUMNS
from cepheid.spark.state.decisions import NOTHING, Control, read_log
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import Inventory, StateReader, StateWriter, read_header
from cepheid.spark.state.rows import packed
from cepheid.spark.state.store import StateStore, reporting_damage
from cepheid.spark.worker import WorkerQuery
from cepheid.values.json import Json


@dataclass(frozen=True)
class BucketOutput:
    """What a bucket did in a micro-batch: the new matches, and how many events it took in and dropped as late.

    matches: or what it changed of them.

    passed: the latest watermark, in ticks, that the stream may have had before this micro-batch; None if it had none.
    """

    matches: Matches | Changes | None
    events: int
    late: int
    passed: int | None
    before: Changes | None = None  # what a change of the query has changed before that


class Bucket:
    """The events of some keys. A session has them; without a session there are none."""

    def __init__(
        self,
        worker_query: WorkerQuery,
        fingerprint: StreamFingerprint,
        *,
        by_shape: bool = False,
        log: Sequence[AnyChange] = (),
    ) -> None:
        self.worker_query = worker_query
        self.fingerprint = fingerprint
        self.by_shape = by_shape  # state of other queries of the same shape is accepted
        self.ticks_per_ms = 1_000_000 // worker_query.schema.tick
        self.session: AnySession | None = None
        self._log: list[AnyChange] = list(log)  # how the query has changed, while there is no session
        self.watermark: int | None = None  # in ticks, of the last micro-batch
        self.cleared = 0  # the watermark when the session was last made to discard what it can
        self.timer: int | None = None  # in milliseconds
        self.stored = Inventory()
        self.reader: StateReader | None = None  # of the store that the session was loaded from
        self.nonce = b""
        self.size = 0  # in the store, in bytes

    @property
    def functions(self) -> bool:
        """Whether the query has functions of the user."""
        return bool(self.worker_query.query.compiled.functions)

    @property
    def log(self) -> list[AnyChange]:
        """How the query has changed so far. All buckets have the same."""
        return self._log if self.session is None else self.session.log

    # Events.

    def take(
        self,
        arrived: Iterable[PackedEvents],
        watermark: int | None,
        late: str,
        *,
        chained: bool = False,
        control: Control = NOTHING,
    ) -> BucketOutput:
        """Match what the watermark, in milliseconds, has passed since the last call, and take in the new events.

        chained: the events come out of another stateful operator, with times up to the watermark, so that they are
            taken in first.
        control: how the query changes. It changes nothing before the watermark, and so no match that was given.
        """
        watermark_ticks = None if watermark is None else watermark * self.ticks_per_ms
        passed = self._passed(watermark_ticks)
        matches, counts = None, (0, 0)
        if chained:
            counts = self._take_in(arrived, late)
        if watermark_ticks is not None and watermark_ticks != self.watermark:
            self.watermark = watermark_ticks
            matches = self._reach(watermark_ticks)
        self._change(self.decide(control, watermark).changes)
        if not chained:
            counts = self._take_in(arrived, late)
        events, rows = counts
        return BucketOutput(matches, events, rows - events, passed)

    def decide(self, control: Control, watermark: int | None) -> ControlDecision:
        """Decide about the rows of the control stream: whatever events the bucket has, all decide the same."""

        def opened(log: Sequence[AnyChange]) -> AnySession:
            return type(self)(self.worker_query, self.fingerprint, log=log)._opened()

        return control.decide(self.worker_query, self.fingerprint, self.log, watermark, opened)

    def _change(self, changes: Sequence[AnyChange]) -> Matches | Changes | None:
        """Change the query; return what that changes of the matches."""
        if self.session is None:
            self._log += changes
            return None
        return self.session.make(changes) if changes else None

    def _take_in(self, arrived: Iterable[PackedEvents], late: str) -> tuple[int, int]:
        """Take in events; return how many of them are not late, and how many there are."""
        events = rows = 0
        with explaining_the_watermark():
            for blob, low, high, count in arrived:
                session = self._opened()
                assert isinstance(session, WaitingSession)
                session.treat_late(late)
                events += session.take(Arrival(packed(blob), count, low, high)).count
                rows += count
        return events, rows

    def _passed(self, ticks: int | None) -> int | None:
        """Return the latest watermark that the stream may have had before: if it was after the timer, Spark called."""
        if self.timer is None or ticks is None:
            return self.watermark
        return min(max(self.watermark or 0, self.timer * self.ticks_per_ms), ticks - 1)

    def _reach(self, ticks: int) -> Matches | None:
        """Move the watermark of the session, and return the matches that became certain."""
        session = self.session
        if not isinstance(session, WaitingSession):
            return None
        session.reserve(ticks)
        matches = session.reach(ticks)
        if session.window is not None and ticks - self.cleared >= session.window // 2:
            session.compact()  # else what could go would be written in every micro-batch
            self.cleared = ticks
        self._drop_if_over(ticks)
        return matches

    def _drop_if_over(self, ticks: int) -> None:
        """Do without the session if a new one would emit the same from now on."""
        session = self.session
        if session is not None and session.over is not None and session.over <= ticks and not session.undecided:
            self._log = session.log
            self.session = None
            self.stored.segments = {}

    def _opened(self) -> AnySession:
        """Return the session, or a new one that knows the watermark."""
        session = self.session
        if session is None:
            self.session = session = self.worker_query.session(self._log)
            if self.watermark is not None:
                session.reach(self.watermark)
        return session

    def close(self) -> Matches | Changes:
        """Return the matches that there would be if the stream ended here."""
        matches: Matches | Changes = self._opened().end()
        return matches

    def due(self) -> int | None:
        """Return the time, in milliseconds, after which a watermark has something to do even if no event arrives."""
        if self.session is None:
            return None
        moments, over = list(self.session.deadlines()), self.session.over
        if over is not None and (self.watermark is None or over > self.watermark):
            moments.append(over)  # then the session may be dropped
        return due_after(moments, self.watermark, self.ticks_per_ms)

    @property
    def held(self) -> tuple[int, int]:
        """How many runs there are, and how many bytes they take in memory."""
        if self.session is None:
            return 0, 0
        stats = self.session.stats
        return stats.runs, stats.state_bytes

    # The store.

    def save(self, store: StateStore) -> None:
        """Write what has changed since the state was loaded or saved."""
        writer = StateWriter(store, self.stored)
        header = {
            "stream": asdict(self.fingerprint),
            "watermark": self.watermark,
            "timer": self.timer,
            "cleared": self.cleared,
            "log": write_changes(self._log, self.worker_query.query) if self.session is None else None,
            "state": None if self.session is None else self.session.save(writer),
        }
        self.nonce = writer.close(header)
        self.stored = writer.written
        self.size = writer.size

    def load(self, store: StateStore, blob: bytes | None = None) -> None:
        """Load the state that a store has, if any.

        blob: the header, if it has been read already.
        """
        blob = store.header() if blob is None else blob
        if blob is None:
            return
        header, flat = read_header(blob)
        self.fingerprint.check(header["stream"], by_shape=self.by_shape)
        if COLUMNS in header:  # the control header, of a slot that never has events
            return
        with reporting_damage():
            self.reader = StateReader(store, header, flat)
            self.stored = self.reader.stored
            self.watermark, self.timer, self.cleared = header["watermark"], header["timer"], header["cleared"]
            self._log = read_log(header.get("log") or (), self.worker_query.query)
            if header["state"] is not None:
                self.session = self._restored(header["state"], self.reader)

    def _restored(self, saved: Json, reader: StateReader) -> AnySession:
        query = self.worker_query
        saved["session"]["fingerprint"] = query.query.compiled.fingerprint  # maybe of another query of the same shape
        session = self._new_session()
        session.load(saved, reader)
        return session

    def _new_session(self) -> AnySession:
        """Open a session that knows no columns yet."""
        return self.worker_query.new_session()

    def use_store(self, store: StateStore) -> None:
        """Read parts from the store of the running task; the one that they were loaded from was another task's."""
        if self.reader is not None:
            self.reader.store = store


def due_after(moments: Sequence[int], watermark: int | None, ticks_per_ms: int) -> int | None:
    """Return the time, in milliseconds, of a timer for the first of some moments, in ticks; None if there is none.

    Spark calls when the watermark is after a timer or, in some versions, at it; and then it deletes the timer. So the
    time is after the watermark: a timer that was due at once would be gone with nothing done.
    """
    if not moments:
        return None
    due = -(-min(moments) // ticks_per_ms)
    watermark_ms = 0 if watermark is None else watermark // ticks_per_ms
    return max(due - 1, watermark_ms + 1)


@contextmanager
def explaining_the_watermark() -> Iterator[None]:
    """Say of late events what a stream's user can do: the watermark is Spark's."""
    try:
        yield
    except InputError as error:
        if error.code != "CEP408":
            raise
        remedy = 'pass a longer delay to withWatermark, or use late="drop"'
        raise InputError("CEP408", error.message, remedy) from None
