"""Queries that change while a session runs (S17): when changes hold, and what they do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cepheid.builder.changes import add_arc, remove_arc
from cepheid.builder.columns import Column
from cepheid.engine.encoding.times import time_value
from cepheid.engine.program import QueryCache
from cepheid.engine.session.change_times import in_ticks, shown
from cepheid.engine.session.history import EVER, AnyChange, History, Life, ticks_in
from cepheid.engine.session.query_changes import (
    ReplaceQuery,
    add_query,
    remove_query,
    replace_query,
    with_queries,
)
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.turn import Turn
from cepheid.engine.stream.conversion import check_again, fitting
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.errors import UsageError
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.pattern.binding.schema import Schema, make_schema

if TYPE_CHECKING:
    from cepheid.api.query import Query
    from cepheid.engine.planning.compiled_query import CompiledQuery

MOST_SHAPES = 8
"""How many queries of a session are remembered for their code."""


class Together:
    """Changes that are made as one. result: what the call gives."""

    def __init__(self) -> None:
        self.changes: list[AnyChange] = []
        self.result: Any = None

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> None:
        """Add an arc; the arguments are those of `cep.add_arc`."""
        self.changes.append(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> None:
        """Remove an arc."""
        self.changes.append(remove_arc(name, at=at))

    def add(self, name: str, query: Any, /, at: object = None, until: object = None) -> None:
        """Add a query."""
        self.changes.append(add_query(name, query, at=at, until=until))

    def remove(self, name: str, /, at: object = None) -> None:
        """Remove a query."""
        self.changes.append(remove_query(name, at=at))

    def replace(self, name: str, query: Any, /, at: object = None) -> None:
        """Give a query other conditions, or other arcs."""
        self.changes.append(replace_query(name, query, at=at))


class Changing(ABC):
    """What a session does when its queries change."""

    _pipeline: Pipeline | None
    _watermark: int | None
    _certain: int | None  # how far the session is by promises, where that is ahead of the watermark
    _promised: int | None  # until when promises hold that the session goes by
    _latest: int | None  # the greatest time of an event that was accepted
    _history: History
    _shapes: list[CompiledQuery]  # queries that ran, whose code may be of use again
    _log: list[AnyChange]  # how the queries have changed, with times in ticks

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse to go on with a session that is closed."""

    @abstractmethod
    def _companion(self, life: Life) -> Any:
        """A session of a query that is added, which has had no event."""

    @abstractmethod
    def _take_turns(self, own: Turn | None, turns: dict[str, Turn], begun: dict[str, Any]) -> Any:
        """Go on with what the queries are now, from the same state. Nothing can be wrong any more."""

    def change(self, *changes: AnyChange) -> Any:
        """Change what runs: several changes as one. One that is refused alters nothing.

        A change holds for events after its `at`: by default after the greatest time so far, or the watermark.
        """
        self._check_open()
        if self._pipeline is None:
            message = "the query can't change before the first push"
            raise UsageError("CEP606", message, "push first, if only an empty table, to define the columns")
        schema, present = self._pipeline.schema, self._present
        fresh = in_ticks(changes, schema, EVER if present is None else present)
        for one in fresh:
            self._check_change(ticks_in(one.at), schema)
            if isinstance(one, ReplaceQuery) and self._promised is not None:
                message = "a query can't be replaced before the watermark has passed promises, of which one is until "
                remedy = "let the watermark move first, or add another query"
                raise UsageError("CEP608", f"{message}{time_value(schema, self._promised)}", remedy)
        return self.make(fresh)

    def make(self, changes: Sequence[AnyChange]) -> Any:
        """Like `change`, for whoever keeps many sessions: times are in ticks, and it was checked that they can be."""
        assert self._pipeline is not None
        schema = self._pipeline.schema
        added = {name: life.query for name, life in self._history.added.items()}
        fresh = with_queries(changes, self._history.own.query, added)
        history = self._history.after(self._judged(fresh), schema)
        own = self._turn(self._history.own, history.own)
        turns: dict[str, Turn] = {}
        begun: dict[str, Any] = {}
        for name, life in history.added.items():
            if name not in self._history.added:
                self._learn(life.query)
                begun[name] = self._companion(life)
            elif name in self._companions:
                turn = self._companions[name]._turn(self._history.added[name], life)
                turns |= {} if turn is None else {name: turn}
        found = self._take_turns(own, turns, begun)
        self._history = history
        self._log += fresh
        return found

    @property
    @abstractmethod
    def _companions(self) -> dict[str, Any]:
        """The sessions of queries that were added."""

    def _turn(self, before: Life, after: Life) -> Turn | None:
        """What changes of a query, all that can be wrong with it being checked; None: nothing."""
        if before == after:
            return None
        assert self._pipeline is not None
        if before.changes == after.changes:
            return Turn(after, first=ticks_in(after.lifetime.until))
        schema, settled = self._pipeline.schema, self._settled
        fresh = after.changes[len(before.changes) :]
        first = min(ticks_in(change.at) + 1 for change in fresh)
        if after.lifetime != before.lifetime:
            first = min(first, ticks_in(after.lifetime.until))
        if after.lifetime == before.lifetime and (cache := self._retimed(fresh, after)) is not None:
            return Turn(after, cache=cache, settled=settled, first=first)
        query = after.now(schema, settled)
        self._learn(query)
        fits = self._fitting(query)
        if not all(fits):
            # Events before are gone over again: by the conditions that held for them.
            window = self._pipeline.window
            settled = None if settled is None or window is None else settled - window
            query = after.now(schema, settled)
            self._learn(query)
            fits = self._fitting(query)
        self._check_turn(query, fits)
        return Turn(after, query, None, settled, fits, first)

    def _learn(self, query: SessionQuery) -> None:
        """Another constant makes no other code: take that of a query which this session runs or has run."""
        assert self._pipeline is not None
        schema = self._pipeline.schema
        if len(query.compiled.queries) != 1:
            return
        if len(self._pipeline.program.queries) == 1:
            self._note_shape(self._pipeline.cache.query(0, schema))
        own = make_schema(schema.arrow, query.compiled.roles)  # one that is added may have another type=
        query.cache.learn(own, reversed(self._shapes))
        self._note_shape(query.cache.query(0, own))

    def _note_shape(self, compiled: CompiledQuery) -> None:
        if compiled not in self._shapes:
            self._shapes = [*self._shapes[1 - MOST_SHAPES :], compiled]

    def _retimed(self, fresh: Sequence[AnyChange], after: Life) -> QueryCache | None:
        """What runs the query where changes are data that its code reads; None where they are not, or are refused."""
        pipeline, settled = self._pipeline, self._settled
        arcs = [change for change in fresh if isinstance(change, AddArc | RemoveArc)]
        if pipeline is None or len(arcs) < len(fresh) or not after.query.is_automaton:
            return None
        from cepheid.engine.stream.retiming import retimed  # kernels are not needed before

        schema = pipeline.schema
        found = retimed(pipeline, arcs, settled, after.query.bind_arc)
        return None if found is None else pipeline.cache.of(found, schema, lambda: after.now(schema, settled).cache)

    def _fitting(self, query: Query) -> Sequence[bool]:
        """Of which queries the state is one of another query too."""
        assert self._pipeline is not None
        return fitting(self._pipeline, query.cache)

    def _check_turn(self, query: Query, fits: Sequence[bool]) -> None:
        """Refuse a query that can't go on from the state of the one that runs."""
        assert self._pipeline is not None
        bound = query.bind(self._pipeline.schema)
        for one, known, name in zip(bound, fits, query.compiled.names, strict=True):
            if not known:
                check_again(one, name)

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> Any:
        """Add an arc to an automaton that runs; the arguments are those of `cep.add_arc`."""
        return self.change(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> Any:
        """Remove an arc of an automaton that runs: it does not hold for events after `at`."""
        return self.change(remove_arc(name, at=at))

    def add(self, name: str, query: Any, /, at: object = None, until: object = None) -> Any:
        """Run one more query, on the events after `at` and up to `until`; its matches are in `outputs[name]`.

        query: a `Query`, or its text, or a pattern of the builder; these get the parameters, functions and roles of
        columns of the session's own query.

        >>> from cepheid import Query
        >>> s = Query("PATTERN SEQ(A a, B b) WITHIN 1 second").session(lateness=0)
        >>> len(s.push([{"ts": 1, "type": "A"}]))
        0
        >>> len(s.add("again", "PATTERN SEQ(A a, A b) WITHIN 1 second"))
        0
        >>> [len(m) for m in s.push([{"ts": t, "type": "A"} for t in (2, 3, 4)]).outputs.values()]
        [0, 1]
        """
        return self.change(add_query(name, query, at=at, until=until))

    def remove(self, name: str, /, at: object = None) -> Any:
        """Remove a query: it gives the matches that end at or before `at`, and whose absences were decided by then."""
        return self.change(remove_query(name, at=at))

    def replace(self, name: str, query: Any, /, at: object = None) -> Any:
        """Give a query other conditions in WHERE, or an automaton other arcs; what it has begun goes on.

        The name is that of INTO, "query 1" for a query without one, or that of `add`. Text gets the parameters,
        functions and roles of columns of the query that it replaces.
        """
        return self.change(replace_query(name, query, at=at))

    @contextmanager
    def changing(self) -> Iterator[Together]:
        """Several changes as one: they are made when the block is left without an error. `result` has what that gives.

        >>> from cepheid import Query
        >>> s = Query("AUTOMATON a -> b ARC up: a -> b WHEN e.x > 5", type=None).session(lateness=0, speculate="all")
        >>> len(s.push([{"ts": 1, "x": 3}]))
        0
        >>> with s.changing() as change:
        ...     change.remove_arc("up")
        ...     change.add_arc("a", "b", "e.x > 2", name="up")
        >>> len(s.push([{"ts": 2, "x": 3}]))
        1
        """
        together = Together()
        yield together
        together.result = self.change(*together.changes)

    @property
    def changes(self) -> list[AnyChange]:
        """How the queries have changed so far; `match(events, changes=…)` gives what this session does."""
        return shown(self._log, self._pipeline.schema) if self._pipeline is not None else []

    @property
    def history(self) -> History:
        """What runs at which time."""
        return self._history

    @property
    def log(self) -> list[AnyChange]:
        """The same with times in ticks."""
        return list(self._log)

    @property
    def _present(self) -> int | None:
        """The greatest time that was accepted, or the watermark or what is promised if that is later."""
        times = self._latest, self._watermark, self._promised
        return max((time for time in times if time is not None), default=None)

    @property
    def _settled(self) -> int | None:
        """A time before which no event is gone over any more."""
        return self._watermark if self._certain is None else self._certain

    @property
    def _corrects(self) -> bool:
        """Whether what was given can be taken back."""
        return False

    def _judged(self, changes: Sequence[AnyChange]) -> Sequence[AnyChange]:
        """Changes with the queries as this session runs them."""
        return changes

    def _check_change(self, at: int, schema: Schema) -> None:
        for reached, what in ((self._watermark, "the watermark"), (self._promised, "the time of a promise,")):
            if reached is not None and at < reached:
                message = f"the change at {time_value(schema, at)} is before {what} {time_value(schema, reached)}"
                raise UsageError("CEP608", message, "let it hold from a later time on: at=…, or leave out at=")
        if self._latest is not None and at < self._latest and not self._corrects:
            message = f"the change at {time_value(schema, at)} is before events that have come"
            remedy = "let it hold from a later time on, or open the session with speculate=, which takes matches back"
            raise UsageError("CEP608", message, remedy)
