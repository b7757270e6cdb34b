"""Whole queries that come, go and change while a session runs (S17), as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cepheid.engine.session.session_query import SessionQuery
from cepheid.errors import UsageError


@dataclass(frozen=True, slots=True)
class AddQuery:
    """A query on the events after the time `at`, and up to the time `until`; no `until`: for good.

    query: a `Query`, or what makes one: its text, or a pattern of the builder.
    """

    name: str
    query: Any
    at: object = None
    until: object = None


@dataclass(frozen=True, slots=True)
class RemoveQuery:
    """A query gives the matches that end at or before the time `at`, and no others."""

    name: str
    at: object = None


@dataclass(frozen=True, slots=True)
class ReplaceQuery:
    """The WHERE of a query, or the arcs of an automaton, are others for events after the time `at`."""

    name: str
    query: Any
    at: object = None


def add_query(name: str, query: Any, /, at: object = None, until: object = None) -> AddQuery:
    """A query that runs on the events after the time `at`, and up to the time `until`.

    >>> add_query("thefts", "PATTERN SEQ(Shelf a, Exit b) WITHIN 1 hour", at=1_000).at
    1000
    """
    return AddQuery(check_query_name(name), query, at, until)


def remove_query(name: str, /, at: object = None) -> RemoveQuery:
    """A query that gives the matches which end up to the time `at`, and no others.

    >>> remove_query("thefts", at=2_000)
    RemoveQuery(name='thefts', at=2000)
    """
    return RemoveQuery(check_query_name(name), at)


def replace_query(name: str, query: Any, /, at: object = None) -> ReplaceQuery:
    """A query with other conditions for events after the time `at`; what it has begun goes on.

    >>> replace_query("thefts", "PATTERN SEQ(Shelf a, Exit b) WHERE b.door > 1 WITHIN 1 hour", at=2_000).name
    'thefts'
    """
    return ReplaceQuery(check_query_name(name), query, at)


def check_query_name(name: object) -> str:
    """Refuse what can't be the name of a query."""
    if not isinstance(name, str) or not name:
        raise UsageError("CEP603", f"{name!r} can't be the name of a query", "write a text: add('thefts', …)")
    return name


Whole = AddQuery | RemoveQuery | ReplaceQuery


def with_queries(
    changes: Sequence[Any], main: SessionQuery, added: Mapping[str, SessionQuery] | None = None
) -> list[Any]:
    """Changes with queries: text gets the parameters, functions and roles of columns of the query that it replaces.

    That of a query which is added gets those of the session's own.
    """
    known, changed = dict(added or {}), list[Any]()
    for change in changes:
        if isinstance(change, AddQuery):
            known[change.name] = query = main.alike(change.query)
            change = replace(change, query=query)
        elif isinstance(change, ReplaceQuery):
            change = replace(change, query=known.get(change.name, main).alike(change.query))
        changed.append(change)
    return changed


def sequenced_queries(changes: Sequence[Any], column: str | None) -> list[Any]:
    """Changes with queries that go over no gap in the numbers of a column."""
    return [
        replace(change, query=change.query.sequenced(column)) if isinstance(change, AddQuery | ReplaceQuery) else change
        for change in changes
    ]
