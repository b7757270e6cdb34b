"""Automata that change while they run (S17): arcs that come and go, as a log of changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cepheid.errors import PatternError
from cepheid.front.automata.check import check_epsilon, states_of
from cepheid.front.automata.named_arcs import NamedArcs
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.expressions.types import BOOL
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Fires, Program
from cepheid.pattern.tree.walk import arcs_in, automaton_of


@dataclass(frozen=True, slots=True)
class AddArc:
    """An arc whose lifetime is `(at, until]` in event time; no `until`: for good."""

    arc: ArcClause
    at: object = None
    until: object = None


@dataclass(frozen=True, slots=True)
class RemoveArc:
    """The lifetime of an arc ends with a time."""

    name: str
    at: object = None


@dataclass(frozen=True, slots=True)
class ReplaceArcs:
    """All arcs are others from a time on; those that are equal stay as they are."""

    arcs: tuple[ArcClause, ...]
    at: object = None


Change = AddArc | RemoveArc


def with_changes(program: Program, changes: Sequence[Change | ReplaceArcs]) -> Program:
    """The program after some changes, one after the other; their times are ticks."""
    if not changes:
        return program
    automaton = program.queries[0].pattern
    if len(program.queries) != 1 or not isinstance(automaton, AutomatonPattern):
        remedy = "write the query as an AUTOMATON; whole queries are added and removed with add and remove"
        raise PatternError("CEP228", "only a query that is an automaton has arcs that can change", remedy)
    query = program.queries[0]
    arcs = list(automaton.arcs)
    named = _named(arcs)
    for change in changes:
        if isinstance(change, ReplaceArcs):
            arcs = _replaced(_living(arcs, named), change)
            named = _named(arcs)
        elif isinstance(change, RemoveArc):
            named.remove(change.name, _ticks(change.at))
        else:
            named.add(change.arc.name, _ticks(change.at), None if change.until is None else _ticks(change.until))
            arcs.append(change.arc)
    arcs = _living(arcs, named)
    check_epsilon(arcs)
    return Program((replace(query, pattern=replace(automaton, arcs=tuple(arcs))),))


def with_rests(program: Program) -> Program:
    """The program with an arc out of each state of an automaton that is never taken, where no other takes an event.

    So runs that are in such a state are kept until the next event, which an arc may take that comes by then.
    """
    queries = []
    for query in program.queries:
        if arcs_in(query):
            automaton = automaton_of(query)
            led_on = {arc.source for arc in automaton.arcs if arc.fires in (Fires.EVENT, Fires.INSTANT)}
            rests = [state for state in states_of(automaton) if state not in led_on]
            arcs = (ArcClause(state, state, condition=Literal(False, BOOL), ignores=True) for state in rests)
            query = replace(query, pattern=replace(automaton, arcs=(*automaton.arcs, *arcs)))
        queries.append(query)
    return Program(tuple(queries))


def _named(arcs: Sequence[ArcClause]) -> NamedArcs:
    named = NamedArcs()
    for arc in arcs:
        named.put(arc.name, arc.since, arc.until)
    return named


def _living(arcs: Sequence[ArcClause], named: NamedArcs) -> list[ArcClause]:
    """Arcs with their lifetimes."""
    lives = zip(arcs, named.since, named.until, strict=True)
    return [replace(arc, since=since, until=until) for arc, since, until in lives]


def _replaced(arcs: Sequence[ArcClause], change: ReplaceArcs) -> list[ArcClause]:
    at = _ticks(change.at)
    fresh = list(change.arcs)
    arcs_left = []
    for arc in arcs:
        plain = replace(arc, since=None, until=None)
        if arc.until is not None and arc.until <= at:
            arcs_left.append(arc)
        elif arc.until is None and (arc.since is None or arc.since <= at) and plain in fresh:
            fresh.remove(plain)
            arcs_left.append(arc)
        elif arc.since is None or arc.since < at:
            arcs_left.append(replace(arc, until=at))
    return [*arcs_left, *(replace(arc, since=at, until=None) for arc in fresh)]


class EndingArc(Protocol):
    """What is asked of an arc to know whether it is over."""

    @property
    def name(self) -> str | None: ...
    @property
    def fires(self) -> Fires: ...
    @property
    def until(self) -> int | None: ...


def lasting(arcs: Sequence[tuple[Hashable, EndingArc]], since: int) -> list[int]:
    """The places of arcs that count from a time on: those that are not over, and the first of each shape.

    Also the last of each name of these, which is the one that a removal is of.
    """
    kept, last = dict[int, str | None](), dict[str | None, int]()
    shapes: set[Hashable] = set()
    for place, (shape, arc) in enumerate(arcs):
        over = arc.until is not None and arc.until < since and arc.fires is not Fires.END
        if not over or shape not in shapes:
            kept[place] = arc.name
        shapes.add(shape)
        last[arc.name] = place
    return sorted({*kept, *(last[name] for name in kept.values() if name is not None)})


def _ticks(time: object) -> int:
    assert isinstance(time, int)
    return time
