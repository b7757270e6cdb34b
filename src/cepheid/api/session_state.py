"""What a session of either kind knows: its columns, its queries, how far it is; and that in a snapshot."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.api.batches import completed, with_columns_of, with_types_of
from cepheid.api.changing import Changing
from cepheid.api.events import to_table
from cepheid.api.options import check_limit
from cepheid.api.punctuating import Punctuating
from cepheid.api.readable import is_checked
from cepheid.api.recent import read_recent
from cepheid.api.row_reader import RowReader
from cepheid.api.shown_session import session_line, session_page, shown_program
from cepheid.api.stats import Stats, stats_of
from cepheid.api.watch import Watch
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.encoding.times import from_ticks
from cepheid.engine.session.delays import read_delay
from cepheid.engine.session.facts import SessionFacts, read_facts
from cepheid.engine.session.history import History, Life
from cepheid.engine.session.outputs import Outputs
from cepheid.engine.session.refused_calls import check_policy, check_usable
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import FlatSink, PartSource, Prefixed, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.retyped import as_types, retype, typed_like
from cepheid.engine.stream.snapshot import read_state, to_bytes, write_state
from cepheid.errors import InputError, UsageError
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.expressions.types import is_untyped

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.diagnosis.trace import Trace
    from cepheid.engine.machines.factory import MachineFactory


class SessionState(Changing, Punctuating):
    """The columns, the queries and the counters of a session, as they are and as a snapshot has them."""

    _others: dict[str, Any]  # sessions of queries that were added, while they live

    def __init__(
        self,
        query: Query,
        factory: MachineFactory,
        *,
        lateness: object = None,
        late: str = "error",
        trace: object = None,
    ) -> None:
        check_policy(late)
        self._history = History(Life(query))
        self._cache = query.lasting.cache
        self._program = query.compiled
        self._roles = query.compiled.roles
        self._factory = factory
        self._surprises = query.surprises
        self._watch: Watch | None = Watch(query.surprises)
        self._lateness = None if lateness is None else read_delay("lateness", lateness, self._roles.unit)
        self._late = LateFilter(late)
        self._recent = read_recent(trace)
        self._outputs = Outputs(query.compiled.names)
        self._pipeline: Pipeline | None = None
        self._columns = pa.schema([])
        self._lateness_ticks = 0
        self._watermark: int | None = None
        self._closed = False
        self._failed = False
        self._events = 0
        self._matches = 0
        self._opened_at, self._events_before = monotonic(), 0  # in this process, and the events by then
        self._latest = None
        self._log, self._shapes = [], []
        self._others = {}
        self._over = False  # the query was removed, and has given all that it gives
        self._right_from: int | None = None  # the time from which on the query that runs is right (S17)

    def __repr__(self) -> str:
        return session_line(
            shown_program(self._program),
            closed=self._closed,
            failed=self._failed,
            events=self._events,
            matches=self._matches,
            reached=self._shown_watermark,
        )

    def _repr_html_(self) -> str:
        seconds = max(monotonic() - self._opened_at, 1e-3)  # some clocks stand still for a while
        rate = (self._events - self._events_before) / seconds
        return session_page(repr(self), self.stats, rate, self._shown_watermark)

    @property
    def _shown_watermark(self) -> object:
        return None if self._watermark is None else from_ticks(self._opened.schema, self._watermark)

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        pipelines = [one._pipeline for one in self._every if one._pipeline is not None]
        return stats_of(pipelines, events=self._events, matches=self._matches, late=self._late.count)

    @property
    def _every(self) -> tuple[SessionState, ...]:
        """This session, and those of queries that were added."""
        return (self, *self._others.values())

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the events that arrived after the watermark had passed them."""
        if not self._late.set_aside:
            return empty_table(self._pipeline.schema.arrow) if self._pipeline is not None else pa.table({})
        return pa.concat_tables(self._late.set_aside)

    @property
    def late_count(self) -> int:
        """How many events came late."""
        return self._late.count

    def treat_late(self, policy: str) -> None:
        """Another policy for late events from now on."""
        self._late.policy = policy

    def trace(self, limit: int | None = 10_000) -> Trace:
        """What the runs of the query do on the last events, as `q.trace(events)` tells it.

        The session must keep them: `q.session(trace=n)` keeps the last n that were pushed and not late. They are gone
        over as if the stream had begun with the first of them and ended with the last: a run that began before is not
        in it. Queries that were added to the session are not traced.
        """
        from cepheid.api.diagnosing import trace  # seldom needed

        if self._recent is None:
            raise UsageError("CEP606", "the session keeps no events to trace", "open it with q.session(trace=1000)")
        check_limit(limit)
        recent = self._recent
        table, before = recent.events(self._roles) if recent else (self._no_table(), recent.before)
        query = self._history.own.now(make_schema(table.schema, self._roles), self._right_from)
        return replace(trace(query, table, limit), before=before)

    def _check_open(self) -> None:
        check_usable("q", closed=self._closed, failed=self._failed)

    # Columns.

    @property
    def _begun(self) -> bool:
        """Whether the columns are known for good."""
        return self._events > 0

    def _read(self, events: object) -> Events:
        """Events of the columns of those before: where a look shows that they are, no column is converted."""
        if self._begun:
            if isinstance(events, pa.Table) and events.schema.equals(self._columns) and not self._checked:
                return events
            rows = self._rows.read(events)
            if rows is not None:
                return rows
        return self._fitted(to_table(events, self._roles.type), listed=not hasattr(events, "columns"))

    def _fitted(self, table: pa.Table, *, listed: bool) -> pa.Table:
        """A table with the columns of those before. listed: it is made of dicts, which may lack keys."""
        if self._pipeline is not None and self._begun and listed:
            table = completed(table, self._columns)
        return self._conform(table)

    def _no_table(self) -> pa.Table:
        """No events, where nobody has said which columns they have."""
        return self._history.own.query.empty_table()

    def _conform(self, table: pa.Table) -> pa.Table:
        """The first batch defines the columns; later ones must have the same."""
        if not table.num_columns:
            table = self._no_table() if self._pipeline is None else empty_table(self._pipeline.schema.arrow)
        if self._pipeline is None or not self._begun:  # before the first event, the columns may still change
            for one in self._every:
                one._begin(table.schema)
            assert self._pipeline is not None
            self._surprises.warn(self._surprises.of_schema(self._pipeline.schema))
            return table
        if table.schema.equals(self._columns):
            return table
        table = with_columns_of(table, self._columns)
        if any(map(is_untyped, self._columns.types)):
            self._learn_types(table.schema)
        return with_types_of(as_types(table, typed_like(table.schema, self._columns)), self._columns)

    def _learn_types(self, given: pa.Schema) -> None:
        """Columns that had only NULL so far get the types that a batch has for them."""
        wanted = typed_like(self._columns, given)
        if wanted.equals(self._columns):
            return
        queries = [query for one in self._every for query in one._opened.queries]
        if any(query.query.untyped and query.kind != "interpreted" for query in queries):
            message = "a column that the query reads had only NULL when the snapshot was taken, by an earlier release"
            raise InputError("CEP409", message, "run the stream anew")
        for one in self._every:
            one._retype(wanted)

    def _retype(self, columns: pa.Schema) -> None:
        """Go on with other types of columns."""
        flat = FlatSink()
        header = self.save(flat)
        pipeline = self._open(columns)
        source = retype(header, flat, pipeline)
        _, _, load, late = read_state(header, source, self._program.fingerprint)
        load(pipeline)
        self._pipeline = pipeline
        self._late.set_aside = [late] if late is not None else []

    # What runs.

    @property
    def _opened(self) -> Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    def _open(self, columns: pa.Schema) -> Pipeline:
        schema = make_schema(columns, self._roles)
        pipeline = self._new_pipeline(schema)  # which may not fit the query
        self._columns = schema.arrow
        self._checked = any(is_checked(arrow) for arrow in self._columns.types)
        self._rows = RowReader(schema)
        if self._lateness is not None:
            self._lateness_ticks = -(-self._lateness // schema.tick)
        self._outputs.forget()
        return pipeline

    def _begin(self, columns: pa.Schema) -> None:
        """Begin with events of some columns, with what the queries are after changes that came before the events."""
        if self._history.own.changes:
            self._use(self._history.own.now(make_schema(columns, self._roles), self._right_from))
        self._pipeline = self._open(columns)

    def _new_pipeline(self, schema: Schema) -> Pipeline:
        return Pipeline(self._cache, self._factory, schema, once=False)

    def _use(self, query: Query) -> None:
        """Run the query as it is now."""
        self._cache = query.lasting.cache

    # Snapshots.

    def snapshot(self) -> bytes:
        """The state as bytes: `q.restore(blob)` continues from here."""
        flat = FlatSink()
        return to_bytes(self.save(flat), flat)

    def save(self, sink: Sink) -> dict[str, Any]:
        """The state: a header, and parts that go into a sink."""
        return self._facts(sink, self._pipeline)

    def _facts(self, sink: Sink, pipeline: Pipeline | None) -> dict[str, Any]:
        """The header of a state."""
        self._check_open()
        facts = SessionFacts(
            self._watermark,
            self._lateness,
            self._late.policy,
            self._late.count,
            self._events,
            self._matches,
            self._latest,
            self._log,
            self._over,
            self._right_from,
        )
        told = facts.written(self._history.own.query) | self._written_promises()
        header = write_state(told, pipeline, self.late_events if self._late.set_aside else None, sink)
        others = {name: other.save(Prefixed(sink, f"{name}/")) for name, other in self._others.items()}
        return header | ({"others": others} if others else {})

    def load(self, header: dict[str, Any], source: PartSource) -> None:
        """Take up a state that `save` has written, in a new session of the same query."""
        self._load_facts(header, source)
        _, schema, load, _ = read_state(header, source, self._program.fingerprint)
        if schema is not None:
            self._load_history(schema)
            self._pipeline = self._open(schema)
            load(self._pipeline)
            self._load_others(header, source)
            self._read_promises(header["session"])

    def _load_others(self, header: dict[str, Any], source: PartSource) -> None:
        """Take up the queries that were added."""
        for name, saved in header.get("others", {}).items():
            life = self._history.added[name]
            saved["session"]["fingerprint"] = life.query.compiled.fingerprint
            self._others[name] = other = self._companion(life)
            other.load(saved, source)
            other._history = History(life)

    def _load_facts(self, header: dict[str, Any], source: PartSource) -> dict[str, Any]:
        """What a header has besides streams and machines."""
        self._watch = None  # the first events have been
        facts, _, _, late = read_state(header, source, self._program.fingerprint)
        told = read_facts(facts, self._history.own.query)
        self._watermark, self._lateness, self._latest = told.watermark, told.lateness, told.latest
        self._late.policy, self._late.count = told.policy, told.late
        self._late.set_aside = [late] if late is not None else []
        self._events, self._matches = told.events, told.matches
        self._events_before = told.events
        if self._recent is not None:
            self._recent.before = told.events
        self._log, self._over, self._right_from = told.log, told.over, told.right_from
        return facts

    def _load_history(self, columns: pa.Schema) -> None:
        """What the log of changes has made of the queries."""
        schema = make_schema(columns, self._roles)
        self._history = self._history.after(self._judged(self._log), schema)
        self._use(self._history.own.now(schema, self._right_from))
