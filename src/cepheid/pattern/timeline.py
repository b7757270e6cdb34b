"""Automata that change while they run (S17): arcs that come and go, as a log of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.errors import PatternError, did_you_mean
from cepheid.pattern.automata import check_epsilon
from cepheid.pattern.tree import Arc, Automaton, Fires, Program


@dataclass(frozen=True, slots=True)
class AddArc:
    """An arc whose lifetime is `(at, until]` in event time; no `until`: for good."""

    arc: Arc
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

    arcs: tuple[Arc, ...]
    at: object = None


Change = AddArc | RemoveArc | ReplaceArcs


def with_changes(program: Program, changes: Sequence[Change]) -> Program:
    """The program after some changes, one after the other; their times are ticks."""
    if not changes:
        return program
    if len(program.queries) != 1 or not isinstance(program.queries[0].pattern, Automaton):
        remedy = "write the query as an AUTOMATON; whole queries are added and removed with add and remove"
        raise PatternError("CEP228", "only a query that is an automaton has arcs that can change", remedy)
    query = program.queries[0]
    automaton = query.pattern
    assert isinstance(automaton, Automaton)
    arcs = list(automaton.arcs)
    named = _places(arcs)
    for change in changes:
        if isinstance(change, ReplaceArcs):
            arcs = _replaced(arcs, change)
            named = _places(arcs)
        else:
            _apply(arcs, named, change)
    check_epsilon(arcs)
    _check_ends(automaton.arcs, arcs)
    return Program((replace(query, pattern=replace(automaton, arcs=tuple(arcs))),))


def _places(arcs: Sequence[Arc]) -> dict[str | None, list[int]]:
    """The places of the arcs of each name."""
    named: dict[str | None, list[int]] = {}
    for place, arc in enumerate(arcs):
        named.setdefault(arc.name, []).append(place)
    return named


def _replaced(arcs: Sequence[Arc], change: ReplaceArcs) -> list[Arc]:
    at = _ticks(change.at)
    fresh = list(change.arcs)
    found = []
    for arc in arcs:
        plain = replace(arc, since=None, until=None)
        if arc.until is not None and arc.until <= at:
            found.append(arc)
        elif arc.until is None and (arc.since is None or arc.since <= at) and plain in fresh:
            fresh.remove(plain)
            found.append(arc)
        elif arc.since is None or arc.since < at:
            found.append(replace(arc, until=at))
    return [*found, *(replace(arc, since=at, until=None) for arc in fresh)]


def _apply(arcs: list[Arc], named: dict[str | None, list[int]], change: AddArc | RemoveArc) -> None:
    at = _ticks(change.at)
    if isinstance(change, RemoveArc):
        if change.name not in named:
            remedy = did_you_mean(change.name, [name for name in named if name is not None], "arcs")
            raise PatternError("CEP228", f"there is no arc '{change.name}'", remedy)
        place = named[change.name][-1]
        until = arcs[place].until
        if until is not None and until <= at:
            raise PatternError(
                "CEP228", f"the arc '{change.name}' is over at that time", "remove it at an earlier time, or not at all"
            )
        arcs[place] = replace(arcs[place], until=at)
        return
    until = None if change.until is None else _ticks(change.until)
    if until is not None and until <= at:
        raise PatternError("CEP228", "the arc would end before it begins", "pass an until= that is after at=")
    name = change.arc.name
    for arc in [arcs[place] for place in named.get(name, ())] if name is not None else ():
        if (arc.until is None or arc.until > at) and (until is None or arc.since is None or arc.since < until):
            remedy = f"remove it first, remove_arc({name!r}), or give the new one another name"
            raise PatternError("CEP228", f"there is an arc '{name}' at that time", remedy)
    named.setdefault(name, []).append(len(arcs))
    arcs.append(replace(change.arc, since=at, until=until))


def _ticks(time: object) -> int:
    assert isinstance(time, int)
    return time


def _check_ends(before: Sequence[Arc], after: Sequence[Arc]) -> None:
    """Runs know when they began only where AT END asks for it from the beginning."""
    if any(arc.fires is Fires.END for arc in after) and not any(arc.fires is Fires.END for arc in before):
        remedy = "give the automaton an AT END arc from the beginning, if only one whose condition is FALSE"
        raise PatternError("CEP228", "an AT END arc can't be added to an automaton that had none", remedy)
