"""Queries that change while a session runs (S17), as users write it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cepheid.builder.changes import add_arc, remove_arc
from cepheid.builder.columns import Column
from cepheid.engine.encoding.times import time_value
from cepheid.engine.session.change_times import in_ticks, shown
from cepheid.engine.session.history import EVER, AnyChange, ticks_in
from cepheid.engine.session.opening import AnySession
from cepheid.engine.session.query_changes import ReplaceQuery, add_query, remove_query, replace_query
from cepheid.errors import UsageError


class Together:
    """Changes that are made as one. result: what the call gives."""

    def __init__(self) -> None:
        self.changes: list[AnyChange] = []
        self.result: Any = None

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> None:
        """Add an arc; the arguments are those of `cep.add_arc`."""
        self.changes.append(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> None:
        """Remove an arc, at a time (None: now), as one with the other changes of the block."""
        self.changes.append(remove_arc(name, at=at))

    def add(self, name: str, query: object, /, at: object = None, until: object = None) -> None:
        """Add a query from a time on (None: now), for good or until another time."""
        self.changes.append(add_query(name, query, at=at, until=until))

    def remove(self, name: str, /, at: object = None) -> None:
        """Remove a query that was added, at a time (None: now)."""
        self.changes.append(remove_query(name, at=at))

    def replace(self, name: str, query: object, /, at: object = None) -> None:
        """Give a query other conditions, or other arcs."""
        self.changes.append(replace_query(name, query, at=at))


class Changing:
    """The calls that change a session. engine: what runs it."""

    engine: AnySession

    def change(self, *changes: AnyChange) -> Any:
        """Change what runs: several changes as one. One that is refused alters nothing.

        A change holds for events after its `at`: by default after the greatest time so far, or the watermark.
        """
        session = self.engine
        session.check_usable()
        if not session.is_open:
            message = "the query can't change before the first push"
            raise UsageError("CEP606", message, "push first, if only an empty table, to define the columns")
        promised = session.promises.latest
        present = session.clock.present(promised)
        fresh = in_ticks(changes, session.schema, EVER if present is None else present)
        for change in fresh:
            _check_time(session, ticks_in(change.at))
            if isinstance(change, ReplaceQuery) and promised is not None:
                message = "a query can't be replaced before the watermark has passed promises, of which one is until "
                remedy = "let the watermark move first, or add another query"
                raise UsageError("CEP608", f"{message}{time_value(session.schema, promised)}", remedy)
        return session.make(fresh)

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> Any:
        """Add an arc to an automaton that runs; the arguments are those of `cep.add_arc`."""
        return self.change(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> Any:
        """Remove an arc of an automaton that runs: it does not hold for events after `at`."""
        return self.change(remove_arc(name, at=at))

    def add(self, name: str, query: object, /, at: object = None, until: object = None) -> Any:
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

    def replace(self, name: str, query: object, /, at: object = None) -> Any:
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
        return shown(self.engine.log, self.engine.schema) if self.engine.is_open else []


def _check_time(session: AnySession, at: int) -> None:
    """Refuse a change at a time that the session has passed."""
    schema, clock = session.schema, session.clock
    passed = (clock.watermark, "the watermark"), (session.promises.latest, "the time of a promise,")
    for reached, what in passed:
        if reached is not None and at < reached:
            message = f"the change at {time_value(schema, at)} is before {what} {time_value(schema, reached)}"
            raise UsageError("CEP608", message, "let it hold from a later time on: at=…, or leave out at=")
    if clock.latest is not None and at < clock.latest and not session.corrects:
        message = f"the change at {time_value(schema, at)} is before events that have come"
        remedy = "let it hold from a later time on, or open the session with speculate=, which takes matches back"
        raise UsageError("CEP608", message, remedy)
