"""How the events of a program can be partitioned among tasks: by key, by time, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cepheid.automaton.model import NotNative
from cepheid.front.cesar.linear import attributes_with
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import Path
from cepheid.pattern.tree.flow import StreamSource
from cepheid.pattern.tree.layout import always_bound
from cepheid.pattern.tree.nodes import Language, Output
from cepheid.plan.join import NotJoined, make_join


@dataclass(frozen=True, slots=True)
class SparkPartitioning:
    """How events can be partitioned so that each partition has its own matches.

    key: columns, or fields of structs, on which all events of a match agree, and those of the composite events that it
    is made of.
    window: on how many ticks from its first event on a match depends, if slices of time can be matched separately.
    lookback: on how many ticks before its first event a match depends.
    not_by_time: why slices of time cannot be matched separately; else empty.
    remedy: what to write so that events can be partitioned.
    """

    key: tuple[Path, ...]
    window: int | None = None
    lookback: int = 0
    not_by_time: str = ""
    remedy: str = "add [attr], PARTITION BY or WITHIN"


@dataclass(frozen=True, slots=True)
class _Splitting:
    """What splits the queries of one language. remedy: what to write where nothing does; span: what bounds a match.

    partitions: the columns that partition one query. carried: of its results, the paths that are keys, and those of
    events that they copy.
    """

    partitions: Callable[[Runnable], tuple[str, ...]]
    carried: Callable[[Runnable, Mapping[Path, Path]], dict[Path, Path]]
    span: str = "WITHIN"
    remedy: str = ""


def choose_partitioning(queries: Sequence[Runnable], sources: Sequence[StreamSource]) -> SparkPartitioning:
    """Return how the events of a program can be partitioned.

    sources: the streams that each query reads.
    """
    reason = _why_not_by_time(queries)
    if reason:
        known = SparkPartitioning(_key(queries, sources), not_by_time=reason)
        remedies = filter(None, (_SPLITTINGS[query.language].remedy for query in queries))
        return replace(known, remedy=next(remedies, known.remedy))
    query = queries[-1]
    assert query.span is not None
    absent = [query.periods[number] for number in query.leading]
    lookback = max((query.span if period is None else query.ticks(period) for period in absent), default=0)
    return SparkPartitioning(_key(queries, sources), query.span + query.ahead, lookback)


def _why_not_by_time(queries: Sequence[Runnable]) -> str:
    *others, query = queries
    # A result of CESAR depends on the events from its start to its end alone, also by way of derived streams.
    if not all(is_hidden(other.into) for other in others):
        return "a program of several queries has no single window"
    if query.counted:
        return "its window counts events, not time"
    if query.span is None:
        return f"without {_SPLITTINGS[query.language].span} a match can be of any length"
    if query.output is not Output.ALL:
        return f"under {query.output.value} each match depends on those before it"
    return ""


def _key(queries: Sequence[Runnable], sources: Sequence[StreamSource]) -> tuple[Path, ...]:
    """Return the paths in events that partition every query of the program, in the order of the first one's."""
    carried: dict[str, dict[Path, Path]] = {}  # for each INTO: the paths that are keys, and those of events they copy
    common: list[Path] | None = None
    for query, source in zip(queries, sources, strict=True):
        splitting = _SPLITTINGS[query.language]
        partitions = [query.schema.path(name) for name in splitting.partitions(query)]
        origins = [{path: path for path in partitions} if one is None else carried[one] for one in source]
        # Of several streams, a column is a key if all of them have the key in it.
        origin = {path: key for path, key in origins[0].items() if all(one.get(path) == key for one in origins)}
        own = [origin[path] for path in partitions if path in origin]
        common = list(dict.fromkeys(own)) if common is None else [path for path in common if path in own]
        if query.into is not None:
            carried[query.into] = splitting.carried(query, origin)
    return tuple(common or ())


def _carried_by_returns(query: Runnable, origin: Mapping[Path, Path]) -> dict[Path, Path]:
    own = [origin[path] for name in _by_clauses(query) if (path := query.schema.path(name)) in origin]
    return {
        (result.name, *path[len(copied) :]): key
        for result in query.returns
        if (copied := _copied(query, result.expression)) is not None
        for path, key in origin.items()
        if key in own and path[: len(copied)] == copied
    }


def _carried_by_attributes(query: Runnable, origin: Mapping[Path, Path]) -> dict[Path, Path]:
    columns = {(name,): origin[path] for name, path in _columns_with_keys(query) if path in origin}
    # Where such events are merged with those of the input, they also have the column of the key.
    return columns | {key: key for key in columns.values()}


def _columns_with_keys(query: Runnable) -> Iterator[tuple[str, Path]]:
    """The columns of the results of a CESAR expression that have a key, each with that of its events."""
    algebra = algebra_in(query)
    for key in algebra.keys:
        holding = attributes_with(algebra.automaton, key, algebra.copied)
        for attribute, name in zip(algebra.term.types, algebra.names, strict=True):
            if attribute in holding:
                yield name, query.schema.path(key)


def _copied(query: Runnable, expression: ex.Expression) -> Path | None:
    """Return what a column of RETURN is a copy of, if the key of the match is in it."""
    match expression:
        case ex.Attribute(variable=variable, name=name):
            return (name,) if _has_the_key(query, variable) else None
        case ex.Field(operand=operand, name=name):
            found = _copied(query, operand)
            return None if found is None else (*found, name)
    return None


def _has_the_key(query: Runnable, variable: str) -> bool:
    """Tell whether an attribute of this variable is the key of the match: if it may be unbound, it may be NULL."""
    return variable in always_bound(query.layout) and not query.components[variable].can_be_empty


def _by_attributes(query: Runnable) -> tuple[str, ...]:
    """The keys that results keep. Results of different keys may be equal, and are one, unless they have the key."""
    algebra = algebra_in(query)
    keys = query.partitions.all
    return tuple(key for key in keys if attributes_with(algebra.automaton, key, algebra.copied))


def _by_clauses(query: Runnable) -> tuple[str, ...]:
    """PARTITION BY, `[attr]`, or equations that connect all events of a query."""
    partitions = query.partitions
    # Equations do not partition what NON_OVERLAP and LONGEST drop, nor what a window of events counts.
    counts = query.within is not None and query.within.events is not None
    if not partitions.columns and not partitions.agreed and query.output is Output.ALL and not counts:
        with suppress(NotJoined, NotNative):
            partitions = make_join(query).partitions
    return partitions.columns + partitions.agreed


_SPLITTINGS: Mapping[Language, _Splitting] = {
    Language.PATTERN: _Splitting(_by_clauses, _carried_by_returns),
    Language.AUTOMATON: _Splitting(_by_clauses, _carried_by_returns),
    Language.CESAR: _Splitting(
        _by_attributes,
        _carried_by_attributes,
        "DUR",
        "add an equality such as S1.id = S2.id to every THEN and ITERATE, and keep it in the result; or bound DUR",
    ),
}
