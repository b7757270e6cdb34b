"""How the events of a program may be split among tasks: by key, by time, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cepheid.automaton.model import NotNative
from cepheid.engine.times import tick
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.layout import Step, always_bound
from cepheid.pattern.tree import Output
from cepheid.plan.join import NotJoined, make_join
from cepheid.reference.partition import lane_of


@dataclass(frozen=True, slots=True)
class Partitioning:
    """key: columns of the events; all events of a match, and of what it composes, agree on them.

    window: the ticks within which a match lies, if parts of time can be searched apart; `not_by_time` says why not.
    lookback: how far before its first event a match looks.
    """

    key: tuple[str, ...]
    window: int | None = None
    lookback: int = 0
    not_by_time: str = ""


def choose_partitioning(queries: Sequence[Bound], sources: Sequence[str | None]) -> Partitioning:
    """How a program's events may be split so that each part gives its own matches."""
    unsliced = _why_unsliced(queries)
    if unsliced:
        return Partitioning(_key(queries, sources), not_by_time=unsliced)
    (query,) = queries
    assert query.within is not None
    assert query.within.nanoseconds is not None
    window = -(-query.within.nanoseconds // tick(query.schema))
    return Partitioning(_key(queries, sources), window, window if _looks_back(query) else 0)


def _why_unsliced(queries: Sequence[Bound]) -> str:
    if len(queries) > 1:
        return "a program of several queries has no single window"
    (query,) = queries
    if query.within is None:
        return "without WITHIN a match may reach over all time"
    if query.within.nanoseconds is None:
        return "its window counts events, not time"
    if query.output is Output.NON_OVERLAP:
        return "under NON_OVERLAP each match depends on those before it"
    return ""


def _looks_back(query: Bound) -> bool:
    return any(mark.step is Step.ABSENT for move in query.layout.starts for mark in move.marks)


def _key(queries: Sequence[Bound], sources: Sequence[str | None]) -> tuple[str, ...]:
    """The columns that split every query of the program, in the order of the first one's."""
    carried: dict[str, dict[str, str]] = {}  # of what INTO makes: which column of the events each of its columns is
    common: list[str] | None = None
    for query, source in zip(queries, sources, strict=True):
        origin = {name: name for name in query.schema.columns} if source is None else carried[source]
        own = [origin[name] for name in _lanes(query) if name in origin]
        common = list(dict.fromkeys(own)) if common is None else [name for name in common if name in own]
        if query.into is not None:
            carried[query.into] = {
                result.name: origin[result.expression.name]
                for result in query.returns
                if isinstance(result.expression, ex.Attribute)
                and origin.get(result.expression.name) in own
                and _has_the_key(query, result.expression.variable)
            }
    return tuple(common or ())


def _has_the_key(query: Bound, variable: str) -> bool:
    """The events of a match agree on what splits them: any of them will do, but one that may be absent is NULL."""
    return variable in always_bound(query.layout) and not query.components[variable].can_be_empty


def _lanes(query: Bound) -> tuple[str, ...]:
    """The columns that split a query's stream: PARTITION BY, `[attr]`, or equations that connect all of its events."""
    lanes = lane_of(query)
    # Equations split the events, but neither what NON_OVERLAP drops nor what a window of events counts.
    counts = query.within is not None and query.within.events is not None
    if not lanes.columns and not lanes.agreed and query.output is Output.ALL and not counts:
        with suppress(NotJoined, NotNative):
            lanes = make_join(query).lanes
    return lanes.columns + lanes.agreed
