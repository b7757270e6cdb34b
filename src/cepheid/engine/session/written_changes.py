"""Changes of queries that run (S17), as the header of a snapshot has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.query_changes import AddQuery, RemoveQuery, ReplaceQuery
from cepheid.engine.session.session_query import SessionQuery
from cepheid.errors import UsageError
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.language import parse, print_arc
from cepheid.pattern.tree.nodes import ArcClause
from cepheid.pattern.tree.walk import arcs_in
from cepheid.values.json import Json
from cepheid.values.value import Value


def write_changes(changes: Sequence[AnyChange], like: SessionQuery) -> list[Json]:
    """Changes as the header of a snapshot has them; their times are in ticks. like: the query of the session."""
    return [_written(change, like) for change in changes]


def _written(change: AnyChange, like: SessionQuery) -> Json:
    match change:
        case RemoveArc(name=name, at=at):
            return {"remove": name, "at": at}
        case AddArc(arc=arc, at=at, until=until):
            return {"add": print_arc(arc), "at": at, "until": until}
        case RemoveQuery(name=name, at=at):
            return {"remove_query": name, "at": at}
        case ReplaceQuery(name=name, at=at):
            return {"replace_query": name, "at": at, **_query(like.alike(change.query))}
        case AddQuery(name=name, at=at, until=until):
            return {"add_query": name, "at": at, "until": until, **_query(like.alike(change.query))}


def _query(query: SessionQuery) -> Json:
    roles = query.compiled.roles
    facts = {"time": roles.time, "type": roles.type, "order_by": list(roles.order_by), "unit": roles.unit}
    types = None if roles.types is None else {name: list(allowed) for name, allowed in roles.types.items()}
    params = {name: _value(value) for name, value in query.params.items()}
    return {"text": query.text, "params": params, "roles": facts | {"types": types}}


def read_changes(saved: Sequence[Json], make: Callable[..., SessionQuery], like: SessionQuery) -> list[AnyChange]:
    """Changes that were written. make: makes a query. like: the session's, whose functions others may call."""

    def query(written: Json) -> SessionQuery:
        params = {name: _read_value(value) for name, value in written["params"].items()}
        return make(written["text"], params=params, functions=like.compiled.functions, **written["roles"])

    changes: list[AnyChange] = []
    for written in saved:
        if "remove" in written:
            changes.append(RemoveArc(written["remove"], written["at"]))
        elif "add" in written:
            changes.append(AddArc(_arc(written["add"]), written["at"], written["until"]))
        elif "remove_query" in written:
            changes.append(RemoveQuery(written["remove_query"], written["at"]))
        elif "replace_query" in written:
            changes.append(ReplaceQuery(written["replace_query"], query(written), written["at"]))
        else:
            changes.append(AddQuery(written["add_query"], query(written), written["at"], written["until"]))
    return changes


def _arc(text: str) -> ArcClause:
    return arcs_in(parse(f"AUTOMATON a -> b\n{text}").queries[0])[0]


# Values of parameters. A snapshot runs no code that it brings along, so that they are written as text.

_TEXTS: dict[type, tuple[str, Callable[[Value], Value], Callable[[Value], Value]]] = {
    datetime: ("datetime", datetime.isoformat, datetime.fromisoformat),
    date: ("date", date.isoformat, date.fromisoformat),
    timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    Decimal: ("decimal", str, Decimal),
    float: ("float", float.hex, float.fromhex),
}


def _value(value: object) -> Value:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return ["list", [_value(item) for item in value]]
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return _value(value.item())
    for kind, (name, write, _) in _TEXTS.items():
        if isinstance(value, kind):
            return [name, write(value)]
    message = f"a snapshot can't hold the parameter {value!r} of a query that was added"
    raise UsageError("CEP607", message, "pass a number, a text, a date, a datetime, a timedelta, a Decimal or a list")


def _read_value(value: Value) -> Value:
    if not isinstance(value, list):
        return value
    name, written = value
    if name == "list":
        return [_read_value(item) for item in written]
    return next(read for known, _, read in _TEXTS.values() if known == name)(written)
