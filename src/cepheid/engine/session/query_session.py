"""What a session of either kind does: its columns, its changes, and that in a snapshot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.matches.changes import Changes
from cepheid.engine.matches.matches import Matches
from cepheid.engine.session.batches import with_columns_of, with_types_of
from cepheid.engine.session.clock import Clock
from cepheid.engine.session.facts import SessionFacts, read_facts
from cepheid.engine.session.history import AnyChange, History, Life
from cepheid.engine.session.promise_book import PromiseBook, bound_promise
from cepheid.engine.session.query_changes import ReplaceQuery, with_queries
from cepheid.engine.session.refused_calls import check_usable
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.shapes import Shapes
from cepheid.engine.session.signed_rows import Signs
from cepheid.engine.session.stats import Stats, stats_of
from cepheid.engine.session.turn import Changeable, Turn, plan_turn
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import Header, PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.promises import Promise
from cepheid.engine.stream.retyped import as_types, typed_like
from cepheid.engine.stream.rows import Arrival
from cepheid.engine.stream.snapshot import read_state
from cepheid.errors import InputError
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import is_untyped
from cepheid.pattern.tree.flow import EVENTS

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory


QueryT = TypeVar("QueryT", bound=Changeable)

Emitted = Matches | Changes
"""What a call returns."""

OnAccepted = Callable[[Timed, Signs], None]
"""Gets events with their times in ticks, and their signs."""


class QuerySession(ABC, Generic[QueryT]):
    """A query on a stream of batches, and others that come and go.

    Whoever keeps it passes every table through `conform`, the first of which opens it, and then calls what its kind
    has for events and the watermark. Calls that emit matches set `failed` until they have succeeded.

    """

    schema: Schema  # once it is open: the columns with their roles

    def __init__(self, query: SessionQuery, factory: MachineFactory, lateness: int | None, policy: str) -> None:
        self.roles = query.compiled.roles
        self.clock = Clock(lateness)
        self.late = LateFilter(policy)
        self.promises = PromiseBook()
        self.history = History(Life(query))
        self.log: list[AnyChange] = []
        self.columns = pa.schema([])
        self.events = self.matches = 0
        self.is_open = self.closed = self.failed = False
        self._factory = factory
        self._fingerprint = query.compiled.fingerprint
        self._shapes = Shapes()

    # What a kind of session has of its own.

    @property
    @abstractmethod
    def own(self) -> QueryT:
        """The query that the session was made with, which is never removed, only replaced or ended."""

    @property
    @abstractmethod
    def added(self) -> Mapping[str, QueryT]:
        """Queries that were added, while they live."""

    @property
    @abstractmethod
    def corrects(self) -> bool:
        """Whether what was emitted can be retracted."""

    @property
    @abstractmethod
    def begun(self) -> bool:
        """Whether the columns are known for good."""

    @abstractmethod
    def open(self, columns: pa.Schema) -> None:
        """Begin with events of some columns; before the first event, once more where these are others."""

    @abstractmethod
    def accept(self, arrival: Arrival, signs: Signs = None, on_accepted: OnAccepted | None = None) -> Emitted:
        """Take in events that `conform` or its reader has read, and emit what that makes certain, or changes.

        signs: 1 inserts, -1 retracts; None: all insert. on_accepted: gets the rows that are not late.
        """

    @abstractmethod
    def reach(self, watermark: int) -> Emitted:
        """Move the watermark, in ticks: all events before it are in. Emit what that makes certain, or changes."""

    @abstractmethod
    def end(self, horizon: int | None = None) -> Emitted:
        """End the stream, and emit what that makes certain, or changes.

        horizon: until when absences are known, in ticks; None: the end ends them all.
        """

    @abstractmethod
    def keep_promise(self, promise: Promise | None) -> Emitted:
        """Emit what a promise has made certain; None: one that says nothing new."""

    @abstractmethod
    def settled(self, name: str | None) -> int | None:
        """A time before which a query reads no event again; None: the session's own."""

    @property
    @abstractmethod
    def trusts(self) -> bool:
        """Whether more follows from promises than which events are late."""

    @abstractmethod
    def begin(self, life: Life) -> QueryT:
        """A query that is to be added, which has had no event. The session does not have it yet."""

    @abstractmethod
    def take_turns(self, main: Turn | None, turns: Mapping[str, Turn], begun: Mapping[str, QueryT]) -> Emitted:
        """Go on with what the queries are now, from the same state. Nothing can be wrong any more."""

    @abstractmethod
    def retype(self, columns: pa.Schema) -> None:
        """Go on with other types of columns."""

    @abstractmethod
    def save(self, sink: Sink) -> Header:
        """The state: a header, and parts that go into a sink."""

    @abstractmethod
    def load(self, header: Header, source: PartSource) -> None:
        """Restore a state that `save` has written, in a new session of the same query."""

    @property
    def right_from(self) -> int | None:
        """The time from which on the session's own query is right as it runs, after changes."""
        return self.own.right_from

    # Columns.

    @property
    def pipeline(self) -> Pipeline:
        """What runs the session's own query, which also knows the columns."""
        return self.own.pipeline

    @property
    def pipelines(self) -> list[Pipeline]:
        """The pipelines of all queries, that of the session's own query first."""
        return [self.pipeline, *(query.pipeline for query in self.added.values())]

    def check_usable(self) -> None:
        """Refuse to go on with a session that is closed, or has failed."""
        if self.closed or self.failed:
            check_usable("q", closed=self.closed, failed=self.failed)

    def conform(self, table: pa.Table) -> pa.Table:
        """A table with the columns of the first one, which defines them; it may have types that were not known."""
        if not self.is_open or not self.begun:  # before the first event, the columns may still change
            self.open(table.schema)
            return table
        if table.schema.equals(self.columns):
            return table
        table = with_columns_of(table, self.columns)
        if any(map(is_untyped, self.columns.types)):
            self._learn_types(table.schema)
        return with_types_of(as_types(table, typed_like(table.schema, self.columns)), self.columns)

    def _learn_types(self, types: pa.Schema) -> None:
        """Columns that had only NULL so far get the types that a batch has for them."""
        wanted = typed_like(self.columns, types)
        if wanted.equals(self.columns):
            return
        queries = [query for pipeline in self.pipelines for query in pipeline.queries]
        if any(query.query.untyped and query.kind != "interpreted" for query in queries):
            message = "a column that the query reads had only NULL when the snapshot was taken, by an earlier release"
            raise InputError("CEP409", message, "run the stream anew")
        self.retype(wanted)

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        pipelines = self.pipelines if self.is_open else []
        return stats_of(pipelines, events=self.events, matches=self.matches, late=self.late.count)

    @property
    def late_events(self) -> pa.Table:
        """With the policy "collect": the events that arrived after the watermark had passed them."""
        if not self.late.set_aside:
            return empty_table(self.schema.arrow) if self.is_open else pa.table({})
        return pa.concat_tables(self.late.set_aside)

    # Promises.

    def promise(self, before: int, source: ex.Expression, keyed: bool) -> Emitted:
        """No event to come for which a condition on `e` is TRUE is before a time, in ticks."""
        pipeline, watermark = self.pipeline, self.clock.watermark
        promise = bound_promise(before, source, keyed, pipeline.readers(EVENTS)[0].query)
        if watermark is not None and before <= watermark:
            return self.keep_promise(None)
        self.promises.add(promise, pipeline, trusted=self.trusts)
        return self.keep_promise(promise if self.trusts else None)

    # Changes.

    def make(self, changes: Sequence[AnyChange]) -> Emitted:
        """Make changes, with times in ticks and not before the watermark, as one; a refused one alters nothing."""
        added = {name: life.query for name, life in self.history.added.items()}
        fresh = with_queries(changes, self.history.own.query, added)
        history = self.history.after(self.judged(fresh), self.schema)
        main = plan_turn(self.own, history.own, self.settled(None), self._shapes)
        turns: dict[str, Turn] = {}
        begun: Header = {}
        for name, life in history.added.items():
            if name not in self.history.added:
                self._shapes.learn(life.query, self.pipeline)
                begun[name] = self.begin(life)
            elif name in self.added:
                turn = plan_turn(self.added[name], life, self.settled(name), self._shapes)
                turns |= {} if turn is None else {name: turn}
        emitted = self.take_turns(main, turns, begun)
        self.history = history
        self.log += fresh
        return emitted

    @property
    def has_replaced(self) -> bool:
        """Whether a query is another one than in the beginning, of which promises know nothing."""
        return any(isinstance(change, ReplaceQuery) for change in self.log)

    def judged(self, changes: Sequence[AnyChange]) -> Sequence[AnyChange]:
        """Changes with the queries as this session runs them."""
        return changes

    # For Spark's state store.

    @property
    def late_count(self) -> int:
        """How many events came late."""
        return self.late.count

    def treat_late(self, policy: str) -> None:
        """Another policy for late events from now on."""
        self.late.policy = policy

    @property
    @abstractmethod
    def over(self) -> int | None:
        """The watermark, in ticks, from which on nothing so far matters to what is emitted; None: never."""

    @property
    @abstractmethod
    def undecided(self) -> bool:
        """Whether events wait, or a match has ended that is not certain yet."""

    @abstractmethod
    def deadlines(self) -> Iterator[int]:
        """The watermarks, in ticks, at which there is something to do even if no event arrives."""

    # Snapshots.

    def facts(self, *, over: bool, right_from: int | None) -> Header:
        """The facts of the session, with promises, for the header of a snapshot."""
        facts = self._facts(self.log, over=over, right_from=right_from, lateness=self.clock.lateness, late=self.late)
        return facts.written(self.history.own.query) | self.promises.save()

    def facts_of_added(self, query: SessionQuery, *, over: bool, right_from: int | None) -> Header:
        """The same of a query that was added: promises, lateness and changes are the session's."""
        return self._facts([], over=over, right_from=right_from, lateness=None, late=LateFilter("drop")).written(query)

    def _facts(
        self, log: list[AnyChange], *, over: bool, right_from: int | None, lateness: int | None, late: LateFilter
    ) -> SessionFacts:
        return SessionFacts(
            self.clock.watermark,
            lateness,
            late.policy,
            late.count,
            self.events,
            self.matches,
            self.clock.latest,
            log,
            over,
            right_from,
        )

    def load_facts(self, header: Header, source: PartSource) -> tuple[SessionFacts, pa.Schema | None]:
        """Restore what a header has besides streams and machines, and the history; return the columns too, if any."""
        _, columns, _, late = read_state(header, source, self._fingerprint)
        facts = read_facts(header["session"], self.history.own.query)
        self.clock.watermark, self.clock.lateness, self.clock.latest = facts.watermark, facts.lateness, facts.latest
        self.late.policy, self.late.count = facts.policy, facts.late
        self.late.set_aside = [late] if late is not None else []
        self.events, self.matches, self.log = facts.events, facts.matches, facts.log
        if columns is not None:
            self.history = self.history.after(self.judged(self.log), make_schema(columns, self.roles))
        return facts, columns
