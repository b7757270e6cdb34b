"""Changes of a query that runs (S17): when they hold, and how a snapshot has them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cepheid.builder.changes import add_arc, remove_arc
from cepheid.builder.columns import Column
from cepheid.engine.encoding.times import time_value, to_ticks
from cepheid.engine.program import QueryCache
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.errors import UsageError
from cepheid.language import parse, print_arc
from cepheid.pattern.schema import Schema
from cepheid.pattern.timeline import AddArc, Change, RemoveArc
from cepheid.pattern.tree import Automaton, Fires, Program

EVER = -(2**62)
"""A time before all events."""


Variant = Callable[[Sequence[Change], int | None], tuple[QueryCache, Any]]
"""What runs a query after some changes, on events from a time on (None: on all); how to find its matches by the
reference."""


class Together:
    """Changes that are made as one. result: what the call gives."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.result: Any = None

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> None:
        """Add an arc; the arguments are those of `cep.add_arc`."""
        self.changes.append(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> None:
        """Remove an arc."""
        self.changes.append(remove_arc(name, at=at))


class Changing(ABC):
    """What a session does when its query changes."""

    _pipeline: Pipeline | None
    _watermark: int | None
    _latest: int | None  # the greatest time of an event that was accepted
    _variant: Variant | None
    _log: list[Change]  # how the query has changed, with times in ticks

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse to go on with a session that is closed."""

    @abstractmethod
    def _use(self, cache: QueryCache, match: Any) -> None:
        """Take what is made of the query as it is now. match: finds all of its matches by the reference."""

    @abstractmethod
    def _rebuild(self, cache: QueryCache, match: Any, first: int) -> Any:
        """Go on with the query as it is now, from the same state. first: the first time at which it is another one."""

    def change(self, *changes: Change) -> Any:
        """Change an automaton while it runs: several changes as one. One that is refused alters nothing.

        A change holds for events after its `at`: by default after the greatest time so far, or the watermark.
        """
        self._check_open()
        if self._pipeline is None or self._variant is None:
            message = "the query can't change before the first push"
            raise UsageError("CEP606", message, "push first, if only an empty table, to define the columns")
        schema, present = self._pipeline.schema, self._present
        fresh = in_ticks(changes, schema, EVER if present is None else present)
        for at in (int(str(one.at)) for one in fresh):
            self._check_change(at, schema)
        return self.make(fresh)

    # For whoever keeps many sessions, as Spark's state store does.

    def make(self, fresh: Sequence[Change]) -> Any:
        """Like `change`, of changes that were checked. Their times are in ticks, none before the watermark."""
        assert self._variant is not None
        cache, match = self._variant([*self._log, *fresh], self._settled)
        found = self._rebuild(cache, match, min((int(str(one.at)) + 1 for one in fresh), default=EVER))
        self._log += fresh
        return found

    @property
    def log(self) -> list[Change]:
        """How the query has changed so far, with times in ticks."""
        return list(self._log)

    def begin_with(self, log: Sequence[Change]) -> None:
        """Begin a new session with changes that were made before it."""
        if log and self._variant is not None:
            self._log = list(log)
            self._use(*self._variant(self._log, None))

    # What users call.

    def add_arc(self, source: str, target: str, /, condition: Column | str | None = None, **options: Any) -> Any:
        """Add an arc to an automaton that runs; the arguments are those of `cep.add_arc`."""
        return self.change(add_arc(source, target, condition, **options))

    def remove_arc(self, name: str, /, at: object = None) -> Any:
        """Remove an arc of an automaton that runs: it does not hold for events after `at`."""
        return self.change(remove_arc(name, at=at))

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
    def changes(self) -> list[Change]:
        """How the query has changed so far; `match(events, changes=…)` gives what this session does."""
        return shown(self._log, self._pipeline.schema) if self._pipeline is not None else []

    @property
    def _present(self) -> int | None:
        """The greatest time that was accepted, or the watermark if that is later."""
        return max((time for time in (self._latest, self._watermark) if time is not None), default=None)

    @property
    def _settled(self) -> int | None:
        """A time before which no event is gone over any more."""
        return self._watermark

    @property
    def _corrects(self) -> bool:
        """Whether what was given can be taken back."""
        return False

    def _check_change(self, at: int, schema: Schema) -> None:
        if self._watermark is not None and at < self._watermark:
            told, reached = time_value(schema, at), time_value(schema, self._watermark)
            message = f"the change at {told} is before the watermark {reached}"
            raise UsageError("CEP608", message, "let it hold from a later time on: at=…, or leave out at=")
        if self._latest is not None and at < self._latest and not self._corrects:
            message = f"the change at {time_value(schema, at)} is before events that have come"
            remedy = "let it hold from a later time on, or open the session with speculate=, which takes matches back"
            raise UsageError("CEP608", message, remedy)


def without_past(program: Program, since: int | None) -> Program:
    """The program without arcs whose lifetime is over, but for the first of each shape.

    So it does not grow with each change, and its kernel stays the one that it is.
    """
    if since is None:
        return program
    query = program.queries[0]
    automaton = query.pattern
    assert isinstance(automaton, Automaton)
    kept, shapes = [], set()
    for arc in automaton.arcs:
        shape = _CONSTANT.sub("?", print_arc(replace(arc, name=None)))
        over = arc.until is not None and arc.until < since and arc.fires is not Fires.END
        if not over or shape not in shapes:
            kept.append(arc)
        shapes.add(shape)
    return Program((replace(query, pattern=replace(automaton, arcs=tuple(kept))),))


_CONSTANT = re.compile(r"'(?:[^']|'')*'|-?\b\d[\w.]*")


def in_ticks(changes: Sequence[object], schema: Schema, present: int | None) -> list[Change]:
    """Changes with their times in ticks. present: when they hold from that do not say it; None: they must."""
    return [_in_ticks(change, schema, present) for change in changes]


def _in_ticks(change: object, schema: Schema, present: int | None) -> Change:
    if not isinstance(change, AddArc | RemoveArc):
        remedy = "pass cep.add_arc(…) and cep.remove_arc(…), or session.changes"
        raise UsageError("CEP603", f"{change!r} is not a change", remedy)
    if change.at is None and present is None:
        raise UsageError("CEP603", "a change needs a time here", "say from when on it holds: at=…")
    at = present if change.at is None else EVER if change.at == EVER else to_ticks(schema, change.at)
    if isinstance(change, RemoveArc):
        return replace(change, at=at)
    return replace(change, at=at, until=None if change.until is None else to_ticks(schema, change.until))


def shown(changes: Sequence[Change], schema: Schema) -> list[Change]:
    """The same as `match(changes=…)` takes them: with times as the time column has them."""
    return [
        replace(change, at=_shown(change.at, schema))
        if isinstance(change, RemoveArc)
        else replace(change, at=_shown(change.at, schema), until=_shown(change.until, schema))
        for change in changes
    ]


def _shown(time: object, schema: Schema) -> object:
    return time if not isinstance(time, int) or time <= EVER else time_value(schema, time)


def written_changes(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Changes as the header of a snapshot has them."""
    return [
        {"remove": change.name, "at": change.at}
        if isinstance(change, RemoveArc)
        else {"add": print_arc(change.arc), "at": change.at, "until": change.until}
        for change in changes
    ]


def read_changes(saved: Sequence[dict[str, Any]]) -> list[Change]:
    """Changes that were written."""
    return [
        RemoveArc(one["remove"], one["at"]) if "remove" in one else AddArc(_arc(one["add"]), one["at"], one["until"])
        for one in saved
    ]


def _arc(text: str) -> Any:
    pattern = parse(f"AUTOMATON a -> b\n{text}").queries[0].pattern
    assert isinstance(pattern, Automaton)
    return pattern.arcs[0]
