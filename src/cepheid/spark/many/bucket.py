"""One bucket of a stream of many queries: a session of its rules, whose state is written without those at the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.api import Queries
from cepheid.api.hosting import ManySession, Rereading, only
from cepheid.engine.encoding.times import from_ticks
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.many.stream import ManyStream
from cepheid.engine.stream.parts import FlatSink, FlatSource
from cepheid.engine.stream.rows import Arrival
from cepheid.pattern.binding.schema import Schema
from cepheid.spark.many.book import Book, InitialRules, read_book
from cepheid.spark.many.changes import Added, Decided, ManyControl, Rulings
from cepheid.spark.many.shipped import Shipped
from cepheid.spark.many.split import RuleSplit
from cepheid.spark.many.worker import ManyWorker
from cepheid.spark.packing import PackedEvents
from cepheid.spark.state.bucket import due_after, explaining_the_watermark
from cepheid.spark.state.decisions import present_of
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import Inventory, StateReader, StateWriter, read_header
from cepheid.spark.state.rows import packed
from cepheid.spark.state.store import StateStore, reporting_damage
from cepheid.spark.stream.buckets import slot
from cepheid.values.json import Json


@dataclass(frozen=True)
class ManyBuckets:
    """A stream of many queries, as it is shipped to the workers.

    count: of buckets. delay: how long the watermark waits, in milliseconds.
    before: where the stream goes on with other rules, those that its checkpoint has.
    """

    worker: ManyWorker
    fingerprint: StreamFingerprint
    reading: Rereading
    count: int
    delay: int
    before: Shipped | None = None

    @property
    def schema(self) -> Schema:
        """The event columns with their roles."""
        return self.worker.schema

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The bucket of each slot."""
        return {slot(bucket): bucket for bucket in range(self.count)}

    def way_of(self, bucket: int) -> RuleSplit:
        """The way that a bucket is of."""
        _, ways = self.worker.shipped.load()
        return next(way for way in ways if way.first <= bucket < way.first + way.buckets)

    def place(self, bucket: int) -> int:
        """Where a bucket is kept in memory: those that have the same rules share what finds these."""
        way = self.way_of(bucket)
        return bucket if way.places is not None else way.first

    def open(self, bucket: int, stale: ManyBucket | None = None) -> ManyBucket:
        """A bucket without state. stale: one with the same rules, which is not needed any more."""
        return ManyBucket(self, bucket, None if stale is None else stale.spare())

    def queries(self, bucket: int, *, before: bool = False) -> Queries:
        """The queries that run in a bucket at the start."""
        worker = self.worker if not before or self.before is None else replace(self.worker, shipped=self.before)
        numbers = np.concatenate([some.numbers for some in worker.rules_of(bucket).rules] or [np.zeros(0, np.int64)])
        rules, _ = worker.shipped.load()
        return Queries.of(only(rules, numbers), self.reading)

    def rulings(self) -> Rulings:
        """What rows of the control stream are decided by; a worker makes it once."""
        known = self.fingerprint, self.worker.own, self.worker.shipped.digest
        if known not in _RULINGS or self.worker.shipped.functions:
            rules, ways = self.worker.shipped.load()
            every = np.concatenate([some.numbers for some in rules.rules] or [np.zeros(0, np.int64)])
            _RULINGS.clear()
            reading = self.reading
            queries, base = Queries.of(rules, reading), InitialRules(rules.ids, every)
            columns = self.worker.match_schema if self.worker.own else None
            _RULINGS[known] = Rulings(queries, base, ways, self.schema, reading.id, reading.listed, columns)
        return _RULINGS[known]

    def decide(self, control: ManyControl, book: Book, watermark: int | None) -> Decided:
        """Decide about rows of the control stream. watermark: in milliseconds."""
        shipped = self.worker.shipped.digest
        key = self.fingerprint, self.worker.own, shipped, control.mark, control.delay, watermark, book.mark
        if key not in _DECIDED:
            schema = self.schema
            ticks = 1_000_000 // schema.tick
            _DECIDED.clear()  # what other buckets of this micro-batch ask too
            _DECIDED[key] = self.rulings().decide(
                control,
                book,
                watermark=None if watermark is None else watermark * ticks,
                present=present_of(watermark, control.delay) * ticks,
                shown=lambda time: from_ticks(schema, time),
                stream=repr(self.fingerprint),
            )
        return _DECIDED[key]


_RULINGS: dict[tuple[StreamFingerprint, bool, str], Rulings] = {}
_DECIDED: dict[tuple[object, ...], Decided] = {}


@dataclass(frozen=True)
class ManyOutput:
    """What a bucket did in a micro-batch: the new matches, the events that it took in, and those that were late."""

    matches: list[RuleMatches]
    rules: RuleSet
    events: int
    late: int


@dataclass(frozen=True, eq=False)
class Spare:
    """What has run the rules of a bucket, and can run them with another state.

    mark: of the rules; empty: its state without events, where the rules have lived from the beginning.
    """

    stream: ManyStream
    mark: str
    empty: tuple[Json, FlatSource] | None


class ManyBucket:
    """The events of some keys, or for some rules.

    spare: what has run the same rules before, if that is at hand: what finds the rules is made once in a worker.
    """

    def __init__(self, many: ManyBuckets, number: int, spare: Spare | None = None) -> None:
        self.many = many
        self.number = number
        self.fingerprint = many.fingerprint
        self.ticks_per_ms = 1_000_000 // many.schema.tick
        self.book = Book()
        self.whole = False  # the state has all rules, since they are not those at the start
        self.watermark: int | None = None
        self.timer: int | None = None
        self.stored = Inventory()
        self.reader: StateReader | None = None
        self.nonce = b""
        self.size = 0
        self.outdated = many.before is not None  # the rules are still those of the checkpoint
        self._spare = spare
        self._session: ManySession | None = None
        self._known = 0  # how many rules are not written
        self._empty: tuple[Json, FlatSource] | None = None

    @property
    def functions(self) -> bool:
        """Whether it runs functions of the user."""
        return self.many.worker.shipped.functions

    @property
    def session(self) -> ManySession:
        """The session; one without events if there is none yet."""
        if self._session is None:
            session = self._new_session()
            spare = self._fitting_spare()
            if spare is None or spare.empty is None:
                session.open(self.many.schema)
                self._session = session
                self._note_empty()
            else:
                spare.stream.reload(*spare.empty)
                session.open(self.many.schema, spare.stream)
                self._session, self._empty = session, spare.empty
        return self._session

    def _fitting_spare(self) -> Spare | None:
        """What runs the rules that there are, if it is at hand; it is given out once."""
        spare, self._spare = self._spare, None
        return spare if spare is not None and spare.mark == self._mark else None

    def _new_session(self) -> ManySession:
        queries = self.many.queries(self.number, before=self.outdated)
        self._known = len(queries.ids)
        return ManySession(queries, self.many.worker.engine)

    def _note_empty(self) -> None:
        """Note what the state is without events, with which others can begin."""
        assert self._session is not None
        stream = self._session.stream
        if stream is not None and stream.reloads:
            flat = FlatSink()
            header = stream.save(flat)
            self._empty = header, FlatSource(memoryview(b"".join(flat.parts)))

    @property
    def _mark(self) -> str:
        """Identifies the rules that there are."""
        return f"{self.fingerprint.query} {self.outdated} {self.whole} {self.book.mark}"

    def spare(self) -> Spare | None:
        """Give away what runs the rules; this bucket is of no use then."""
        session, self.nonce = self._session, b""
        if session is None or session.stream is None or not session.stream.reloads or self.functions:
            return None
        return Spare(session.stream, self._mark, self._empty)

    # Events.

    def take(
        self,
        arrived: Iterable[PackedEvents],
        watermark: int | None,
        late: str,
        *,
        chained: bool = False,
        control: object = None,
    ) -> ManyOutput:
        """Match what the watermark, in milliseconds, has passed since the last call, and take in the new events.

        chained: the events come out of another stateful operator, with times up to the watermark, so that they are
            taken in first.
        control: which rules come and go. That changes nothing before the watermark, and so no match that was given.
        """
        watermark_ticks = None if watermark is None else watermark * self.ticks_per_ms
        matches: list[RuleMatches] = []
        counts = self._take_in(arrived, late) if chained else (0, 0)
        session = self.session
        if watermark_ticks is not None and watermark_ticks != self.watermark:
            self.watermark = watermark_ticks
            matches = session.reach(watermark_ticks)
        rules_then = session.rules
        if self.outdated:
            self._update(present_of(watermark, self.many.delay) * self.ticks_per_ms)
        if isinstance(control, ManyControl):
            self._change(self.many.decide(control, self.book, watermark))
        if not chained:
            counts = self._take_in(arrived, late)
        events, rows = counts
        return ManyOutput(matches, rules_then, events, rows - events)

    def _take_in(self, arrived: Iterable[PackedEvents], late: str) -> tuple[int, int]:
        """Take in events; return how many of them are not late, and how many there are."""
        events = rows = 0
        with explaining_the_watermark():
            for blob, low, high, count in arrived:
                events += self.session.take(Arrival(packed(blob), count, low, high), late)
                rows += count
        return events, rows

    def _update(self, at: int) -> None:
        """Go on with other rules from a time on."""
        self.session.update(self.many.queries(self.number).rules, at)
        self.outdated, self.whole, self._known = False, True, 0

    def _change(self, decided: Decided) -> None:
        """Let rules come and go."""
        session = self.session
        for step in decided.steps:
            if step.gone:
                session.end(pa.array(step.gone, session.rules.ids.type), step.at)
            parts: dict[int, tuple[Added, list[int]]] = {}
            for added, number in step.come.values():
                parts.setdefault(id(added), (added, []))[1].append(number)
            for added, numbers in parts.values():
                come = added.of(self.number, numbers)
                if come is not None:
                    session.begin(come.after(session.rules.templates), step.at)
        self.book = decided.book
        self._empty = None  # there were events before these rules

    def close(self) -> ManyOutput:
        """The matches that there would be if the stream ended here."""
        return ManyOutput(self.session.reach(None), self.session.rules, 0, 0)

    def tables(self, output: ManyOutput) -> Iterator[pa.Table]:
        """Yield the matches as rows, for the worker to send."""
        return self.many.worker.rows(output.rules, output.matches)

    def due(self) -> int | None:
        """The time, in milliseconds, after which a watermark has something to do even if no event arrives."""
        stream = self.session.stream
        assert stream is not None
        return due_after(list(stream.deadlines()), self.watermark, self.ticks_per_ms)

    @property
    def held(self) -> tuple[int, int]:
        """How many runs there are, and how many bytes they take in memory, with what finds the rules."""
        counters = self.session.stats.counters
        return counters.get("runs", 0), counters.get("state_bytes", 0)

    # The store.

    def save(self, store: StateStore) -> None:
        """Write what has changed since the state was loaded or saved."""
        writer = StateWriter(store, self.stored)
        ids = self.many.worker.match_schema.field(0).type
        header = {
            "stream": asdict(self.fingerprint),
            "watermark": self.watermark,
            "timer": self.timer,
            "whole": self.whole,
            "book": self.book.save(ids, writer),
            "session": self.session.save(writer, self._known),
        }
        self.nonce = writer.close(header)
        self.stored = writer.written
        self.size = writer.size

    def load(self, store: StateStore, blob: bytes | None = None) -> None:
        """Load the state that a store has, if any. blob: the header, if it has been read already."""
        blob = store.header() if blob is None else blob
        if blob is None:
            return
        header, flat = read_header(blob)
        self.fingerprint.check(header["stream"], by_shape=self.many.before is not None)
        with reporting_damage():
            self.reader = StateReader(store, header, flat)
            self.stored = self.reader.stored
            self.watermark, self.timer, self.whole = header["watermark"], header["timer"], header["whole"]
            self.book = read_book(header["book"], self.reader)
            self.outdated = header["stream"]["query"] != self.fingerprint.query
            session = self._new_session()
            spare = self._fitting_spare()
            session.load(header["session"], self.reader, None if spare is None else spare.stream)
            self._session = session
            self._empty = None if spare is None else spare.empty
            if self.whole:
                self._known = 0

    def use_store(self, store: StateStore) -> None:
        """Read parts from the store of the running task; the one that they were loaded from was another task's."""
        if self.reader is not None:
            self.reader.store = store
