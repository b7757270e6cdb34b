"""What runs at which time (S17): the queries of a session, how each has changed, and from when to when it lives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from cepheid.engine.encoding.times import time_value
from cepheid.engine.session.query_changes import AddQuery, RemoveQuery, ReplaceQuery, Whole
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.stream.lifetime import FOR_GOOD, Lifetime
from cepheid.errors import PatternError, UsageError, did_you_mean
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.pattern.binding.schema import Schema

AnyChange = AddArc | RemoveArc | Whole

EVER = -(2**62)
"""A time before all events."""


@dataclass(frozen=True, slots=True)
class Life:
    """A query, when it takes part, and how it has changed: its arcs and conditions."""

    query: SessionQuery
    lifetime: Lifetime = FOR_GOOD
    changes: tuple[AddArc | RemoveArc | ReplaceQuery, ...] = ()

    def now(self, schema: Schema, settled: int | None = None) -> Any:
        """The query after its changes, for events from a time on."""
        return self.query.changed(self.changes, schema, settled)

    def ended(self, at: int, name: str, schema: Schema) -> Life:
        """The same up to a time."""
        since, until = self.lifetime.since, self.lifetime.until
        if until is not None and until <= at:
            raise _refused(f"the query '{name}' is over at that time", "remove it at an earlier time, or not at all")
        if since is not None and at < since:
            begins = time_value(schema, since)
            raise _refused(f"the query '{name}' begins at {begins}, and would end before", "remove it at a later time")
        return replace(self, lifetime=Lifetime(since, at))

    def changed(self, changes: Iterable[AddArc | RemoveArc | ReplaceQuery], name: str) -> Life:
        """The same after some more changes."""
        more, until = tuple(changes), self.lifetime.until
        if until is not None and any(until <= ticks_in(change.at) for change in more):
            raise _refused(
                f"the query '{name}' is over at that time",
                "change it at an earlier time, or add it anew under another name",
            )
        return replace(self, changes=self.changes + more)


@dataclass(frozen=True, slots=True)
class History:
    """The query of a session and those that were added."""

    own: Life
    added: Mapping[str, Life] = field(default_factory=dict)

    def after(self, changes: Sequence[AnyChange], schema: Schema) -> History:
        """What there is after some changes, with times in ticks and queries; one that can't be is an error."""
        history = self
        for _, some in groupby(changes, _is_of_arcs):  # of which there may be thousands
            group = list(some)
            arcs = [change for change in group if isinstance(change, AddArc | RemoveArc)]
            if arcs:
                history = replace(history, own=history.own.changed(arcs, history._own_names[-1]))
            for change in group:
                if not isinstance(change, AddArc | RemoveArc):
                    history = history._after(change, schema)
        return history

    def _after(self, change: Whole, schema: Schema) -> History:
        match change:
            case AddQuery(name=name):
                return replace(self, added={**self.added, name: self._begun(change)})
            case RemoveQuery(name=name, at=at):
                life = self._life(name).ended(ticks_in(at), name, schema)
                if name in self._own_names and len(self._own_names) > 1:
                    message = f"'{name}' is a query of a program, and can't be removed alone"
                    raise _refused(message, "begin with the queries that stay, and add the others")
                return self._with(name, life)
            case ReplaceQuery(name=name):
                return self._with(name, self._life(name).changed([change], name))

    @property
    def _own_names(self) -> tuple[str, ...]:
        return self.own.query.compiled.names

    def _life(self, name: str) -> Life:
        if name in self._own_names:
            return self.own
        if name not in self.added:
            raise _refused(
                f"there is no query '{name}'", did_you_mean(name, [*self._own_names, *self.added], "queries")
            )
        return self.added[name]

    def _with(self, name: str, life: Life) -> History:
        if name in self._own_names:
            return replace(self, own=life)
        return replace(self, added={**self.added, name: life})

    def _check_streams(self, change: AddQuery) -> None:
        """A query that is added reads the events, and no composite events of others."""
        read = {stream.name for query in change.query.parsed.queries for stream in query.streams} - _made(change.query)
        for name in sorted(read & _made(self.own.query)):
            message = f"the query '{change.name}' reads '{name}', which the session's own query writes"
            raise _refused(message, f"add a program that makes '{name}' itself: queries that are added read the events")

    def _begun(self, change: AddQuery) -> Life:
        name, at = change.name, ticks_in(change.at)
        if name in self._own_names or name in self.added:
            remedy = f"use replace({name!r}, …) for other conditions, or another name"
            raise _refused(f"there is, or was, a query '{name}'", remedy)
        until = None if change.until is None else ticks_in(change.until)
        if until is not None and until <= at:
            raise _refused("the query would end before it begins", "pass an until= that is after at=")
        self._check_streams(change)
        roles, other = self.own.query.compiled.roles, change.query.compiled.roles
        if (roles.time, roles.unit) != (other.time, other.unit):
            message = f"the query '{name}' has time='{other.time}', unit='{other.unit}', and the session has others"
            raise _refused(message, f"pass time='{roles.time}', unit='{roles.unit}' to the Query")
        return Life(change.query, Lifetime(at, until))


def _made(query: SessionQuery) -> set[str]:
    """The streams that the queries of a program write."""
    return {query_part.into for query_part in query.parsed.queries if query_part.into is not None}


def _is_of_arcs(change: AnyChange) -> bool:
    return isinstance(change, AddArc | RemoveArc)


def ticks_in(time: object) -> int:
    """A time of a change, which is in ticks by now."""
    assert isinstance(time, int)
    return time


def _refused(message: str, remedy: str) -> PatternError:
    return PatternError("CEP229", message, remedy)


def check_is_change(change: object) -> None:
    """Refuse what is no change of a query."""
    if not isinstance(change, AddArc | RemoveArc | AddQuery | RemoveQuery | ReplaceQuery):
        remedy = "pass cep.add_arc(…), cep.remove_arc(…), cep.add_query(…), cep.remove_query(…), cep.replace_query(…), "
        raise UsageError("CEP603", f"{change!r} is not a change", f"{remedy}or session.changes")
