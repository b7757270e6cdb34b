"""What each query of a program reads: the events, the composite events of queries before it, or several of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from cepheid.errors import BindError, PatternError, did_you_mean
from cepheid.pattern.algebra.flow import MERGED_TYPE, sources_of
from cepheid.pattern.algebra.tree import algebra_of
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.tree.nodes import EventPattern, FromStream, Language, Program, QueryTree
from cepheid.pattern.tree.walk import walk

StreamSource = tuple[str | None, ...]
"""The streams that a query reads: the name of an INTO, or None for the events themselves."""

EVENTS: StreamSource = (None,)


@dataclass(slots=True)
class _Flow:
    """What is known of the queries before one. base: what FROM calls the events."""

    program: Program
    made: dict[str, QueryTree] = field(default_factory=dict)
    base: str | None = None


def check_flow(program: Program) -> tuple[StreamSource, ...]:
    """What each query reads (S13, S25)."""
    flow = _Flow(program)
    sources: list[StreamSource] = []
    for number, query in enumerate(program.queries):
        sources.append(_READINGS[query.language].sources(query, number, flow))
        _note_made(query, flow.made)
    return tuple(sources)


def _sources_of_from(query: QueryTree, number: int, flow: _Flow) -> StreamSource:
    source: list[str | None] = []
    for stream in query.streams:
        if stream.name not in flow.made:
            _check_name_of_events(stream, flow.program, flow.base, alone=number > 0 and len(query.streams) == 1)
            flow.base = stream.name
        if stream.name in [other.name for other in query.streams[: len(source)]]:
            remedy = f"name it once, with all of its types: FROM {stream.name}(A, B)"
            raise PatternError("CEP214", f"FROM names {stream.name} twice", remedy, stream.span)
        source.append(stream.name if stream.name in flow.made else None)
    _check_reads(query, tuple(source) or EVENTS, flow.program)
    return tuple(source) or EVENTS


def _note_made(query: QueryTree, made: dict[str, QueryTree]) -> None:
    if query.into is not None:
        if query.into in made:
            remedy = "give each INTO, and each LET that other queries read, a different name"
            raise PatternError("CEP214", f"two queries make the stream {query.into}", remedy, query.span)
        made[query.into] = query


def _check_name_of_events(stream: FromStream, program: Program, base: str | None, *, alone: bool) -> None:
    """The first name that no INTO writes is that of the events; another one is a mistake.

    alone: after the first query, and the only name of its FROM, which is then more likely to be misspelt.
    """
    later = [q.into for q in program.queries if q.into is not None]
    close = did_you_mean(stream.name, later, "streams")
    if stream.name in later:
        remedy = f"move the query with INTO {stream.name} before this one"
        raise PatternError("CEP214", f"'{stream.name}' is read before the query that writes it", remedy, stream.span)
    if stream.name != base and (base is not None or alone or close.startswith("did")):
        message = f"no query of the program writes INTO {stream.name}"
        remedy = close if later or base is None else f"the input events are named '{base}'"
        raise PatternError("CEP214", message, remedy, stream.span)


def _check_reads(query: QueryTree, source: StreamSource, program: Program) -> None:
    """All composite events have the type that INTO names, and only FROM reads them."""
    made = {q.into for q in program.queries if q.into is not None}
    for stream, name in zip(query.streams, source, strict=False):
        if name is not None and not {*stream.types} <= {name}:
            remedy = f"all events of {name} have the type {name}"
            other = next(other for other in stream.types if other != name)
            raise BindError("CEP302", f"unknown type '{other}'", remedy, stream.span)
    read = ", ".join(str(name) for name in source)
    for event in (node for node in walk(query.pattern) if isinstance(node, EventPattern)):
        if None not in source and not {*event.types} <= {*source}:
            remedy = f"all events of FROM {read} have the type {read}"
            if len(source) > 1:
                remedy = f"the types of the events of FROM {read} are {read}"
            raise BindError("CEP302", f"unknown type '{', '.join(event.types)}'", remedy, event.span)
        name = next((name for name in event.types if name in made and name not in source), None)
        if name is not None:
            remedy = (
                f"read it with FROM {name}" if name != query.into else "give INTO a name that the pattern does not use"
            )
            raise PatternError("CEP214", f"'{name}' is the output of INTO, not an event type", remedy, event.span)


def roles_in(source: StreamSource, roles: Roles, query: QueryTree) -> Roles:
    """The roles that a query is checked with: composite events have a type, and one that nobody declares."""
    if source == EVENTS:
        return roles
    if None not in source:
        return replace(roles, types=None, type=roles.type or "type" if len(source) > 1 else roles.type)
    if roles.type is None and _READINGS[query.language].merges_untyped:
        return replace(roles, type=MERGED_TYPE)
    if roles.type is None:
        raise BindError(
            "CEP302",
            "type=None means that events have no types, so that those of several streams can't be told apart",
            "name the type column with type=",
            query.streams[0].span,
        )
    declared: Mapping[str, tuple[str, ...]] | None = roles.types
    if declared is not None:
        declared = {**declared, **{name: () for name in source if name is not None}}
    return replace(roles, types=declared)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How one language names what a query reads. merges_untyped: it tells streams apart where events have no types."""

    sources: Callable[[QueryTree, int, _Flow], StreamSource]
    merges_untyped: bool = False


_READINGS: Mapping[Language, _Reading] = {
    Language.PATTERN: _Reading(_sources_of_from),
    Language.AUTOMATON: _Reading(_sources_of_from),
    Language.CESAR: _Reading(lambda query, *_: sources_of(algebra_of(query)), merges_untyped=True),
}
