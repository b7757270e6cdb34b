"""A session: a query on a stream of batches, as users see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from cepheid.api.changing import Changing
from cepheid.api.events import to_table
from cepheid.api.options import check_limit
from cepheid.api.promised import read_promise
from cepheid.api.readable import check_text, is_checked
from cepheid.api.recent import read_recent
from cepheid.api.row_reader import RowReader
from cepheid.api.shown_session import session_line, session_page, shown_program
from cepheid.api.watch import Watch
from cepheid.builder.columns import Column
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.encoding.times import from_ticks, to_ticks
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.batches import completed
from cepheid.engine.session.opening import AnySession
from cepheid.engine.session.refused_calls import advanced_too_early, check_forward, only_waits
from cepheid.engine.session.stats import Stats
from cepheid.engine.stream.parts import FlatSink, PartSource
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.snapshot import to_bytes
from cepheid.errors import CepheidError, UsageError
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.values.json import Json

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.diagnosis.trace import Trace


class Session(Changing):
    """A query on a stream of batches. The matches do not depend on how the stream is split into batches.

    push: adds events, with any number of keys and in any order, as long as none is before the watermark.
    advance: moves the watermark: all events before this time have arrived. Emits the matches that became certain.
    close: ends the stream and emits the remaining matches.

    >>> from cepheid import Query
    >>> s = Query("PATTERN SEQ(A a, B b) WITHIN 1 second").session()
    >>> s.push([{"ts": 2, "type": "B"}, {"ts": 1, "type": "A"}])
    <0 matches: match_start, match_end, a, b>
    >>> s.advance(3)
    <1 match>
    match_start  match_end  a                 b
    1            2          {ts: 1, type: A}  {ts: 2, type: B}
    """

    def __init__(self, query: Query, engine: AnySession, *, trace: object = None) -> None:
        self.engine = engine
        self._query = query
        self._surprises = query.surprises
        self._watch: Watch | None = Watch(query.surprises)
        self._recent = read_recent(trace)
        self._reader: RowReader | None = None  # of the columns of `_read_schema`
        self._read_schema: Schema | None = None
        self._checked = False  # whether tables of the same columns are read again, since Arrow may not show their text
        self._opened_at, self._events_before = monotonic(), 0  # in this process, and the events by then

    def __repr__(self) -> str:
        session = self.engine
        return session_line(
            shown_program(self._query.compiled),
            closed=session.closed,
            failed=session.failed,
            events=session.events,
            matches=session.matches,
            reached=self._shown_watermark,
        )

    def _repr_html_(self) -> str:
        seconds = max(monotonic() - self._opened_at, 1e-3)  # some clocks stand still for a while
        rate = (self.engine.events - self._events_before) / seconds
        return session_page(repr(self), self.stats, rate, self._shown_watermark)

    @property
    def _shown_watermark(self) -> object:
        watermark = self.engine.clock.watermark
        return None if watermark is None else from_ticks(self.engine.schema, watermark)

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        return self.engine.stats

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the events that arrived after the watermark had passed them; with `op=` they have it."""
        return self.engine.late_events

    def trace(self, limit: int | None = 10_000) -> Trace:
        """What the runs of the query do on the last events, as `q.trace(events)` returns it.

        The session must keep them: `q.session(trace=n)` keeps the last n that were pushed and not late. They are gone
        over as if the stream had begun with the first of them and ended with the last: a run that began before is not
        in it. Queries that were added to the session are not traced.
        """
        from cepheid.api.diagnosing import trace  # seldom needed

        if self._recent is None:
            raise UsageError("CEP606", "the session keeps no events to trace", "open it with q.session(trace=1000)")
        check_limit(limit)
        recent, session = self._recent, self.engine
        table, before = recent.events(session.roles) if recent else (self._query.empty_table(), recent.before)
        query = session.history.own.now(make_schema(table.schema, session.roles), session.right_from)
        return replace(trace(query, table, limit), before=before)

    def push(self, events: object) -> Matches:
        """Add events. With `lateness` the watermark follows them; otherwise only `advance` moves it."""
        session = self.engine
        if session.closed or session.failed:
            session.check_usable()
        matches: Matches = self._push(self._read(events), None)
        return matches

    def _push(self, rows: Events, signs: np.ndarray | None) -> Any:
        session = self.engine
        if isinstance(rows, pa.Table):  # the session would be lost if it were found later
            check_text(rows)
        arrival = arrival_of(session.schema, rows)
        if self._watch is not None and not self._watch.see(session.schema, arrival):
            self._watch = None
        try:
            return session.accept(arrival, signs, None if self._recent is None else self._recent.see_signed)
        except CepheidError:
            if self._watch is not None:
                self._watch.forget(arrival)
            raise

    def advance(self, watermark: object) -> Matches:
        """Move the watermark: all events before it have arrived. Returns the matches that became certain."""
        session = self.engine
        session.check_usable()
        if not session.is_open:
            raise advanced_too_early()
        to = to_ticks(session.schema, watermark)
        check_forward(to, session.clock.watermark, watermark)
        return cast("Matches", session.reach(to))

    def close(self) -> Matches:
        """End the stream. Returns the remaining matches."""
        session = self.engine
        session.check_usable()
        if not session.is_open:
            self._fitted(self._query.empty_table(), listed=False)
        if self._watch is not None:
            self._watch.end(session.schema)
        return cast("Matches", session.end())

    def retract(self, rows: object) -> Any:
        """Take events back, in a session with `speculate` or `op`."""
        raise only_waits("retract")

    def revise(self, old: object, new: object) -> Any:
        """Take events back and put others in their place, in a session with `speculate` or `op`."""
        raise only_waits("revise")

    def punctuate(self, before: object, where: Mapping[str, object] | str | Column) -> Any:
        """Promise that no event to come that satisfies a condition is before a time. Returns what `push` returns.

        where: columns and their values, `{"symbol": "A"}`, or a condition on the event `e`, as text or of the builder.
        An event that breaks a promise is late. Where a promise is about all events that could still matter, matches are
        given earlier, and what they needed is let go of.

        >>> from cepheid import Query
        >>> s = Query("PATTERN SEQ(A a, !(N n), B b) WHERE [id] RETURN a.id AS id").session()
        >>> s.push([{"ts": t, "type": k, "id": i} for t, k, i in [(1, "A", 7), (2, "A", 8), (3, "B", 7), (4, "B", 8)]])
        <0 matches: match_start, match_end, id>
        >>> s.punctuate(4, {"id": 7})
        <1 match>
        match_start  match_end  id
        1            3          7
        """
        session = self.engine
        session.check_usable()
        if not session.is_open or not session.begun:
            remedy = "push events first: they define the columns that a promise is about"
            raise UsageError("CEP606", "punctuate was called before the first event", remedy)
        time = to_ticks(session.schema, before)
        return session.promise(time, *read_promise(where, session.schema.columns))

    def snapshot(self) -> bytes:
        """The state as bytes: `q.restore(blob)` continues from here."""
        self.engine.check_usable()
        flat = FlatSink()
        return to_bytes(self.engine.save(flat), flat)

    def load(self, header: Json, source: PartSource) -> None:
        """Restore what a snapshot has."""
        self._watch = None  # the first events have been
        self.engine.load(header, source)
        self._events_before = self.engine.events
        if self._recent is not None:
            self._recent.before = self.engine.events

    # Events.

    def _read(self, events: object) -> Events:
        """Events of the columns of those before: where a look shows that they are, no column is converted."""
        session, reader = self.engine, self._reader
        if reader is None or self._read_schema is not session.schema:
            reader = self._reader_of_rows()
        if reader is not None:
            if isinstance(events, pa.Table) and events.schema.equals(session.columns) and not self._checked:
                return events
            rows = reader.read(events)
            if rows is not None:
                return rows
        return self._fitted(to_table(events, session.roles.type), listed=not hasattr(events, "columns"))

    def _reader_of_rows(self) -> RowReader | None:
        """What reads rows of the columns of the session, once these are known for good."""
        session = self.engine
        if session.is_open and session.begun:
            self._reader, self._read_schema = RowReader(session.schema), session.schema
            self._checked = any(is_checked(arrow) for arrow in session.columns.types)
        return self._reader

    def _fitted(self, table: pa.Table, *, listed: bool) -> pa.Table:
        """A table with the columns of those before. listed: it is made of dicts, which may lack keys."""
        session = self.engine
        if session.is_open and session.begun and listed:
            table = completed(table, session.columns)
        if not table.num_columns:
            table = empty_table(session.schema.arrow) if session.is_open else self._query.empty_table()
        is_first = not session.is_open or not session.begun
        table = session.conform(table)
        if is_first:
            self._surprises.warn(self._surprises.of_schema(session.schema))
        return table
