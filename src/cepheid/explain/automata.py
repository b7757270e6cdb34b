"""An automaton of the user's own (S18) explained: its states, its register, and what each arc does."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.explain.automaton_graph import automaton_graph
from cepheid.explain.table import table
from cepheid.front.analysed import Analysed
from cepheid.front.automata.check import states_of
from cepheid.language import print_expression, print_window
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Fires
from cepheid.pictures import to_mermaid

_TAKES = {
    Fires.EVENT: "an event",
    Fires.INSTANT: "all events of an instant",
    Fires.NOTHING: "no event",
    Fires.END: "the end of the window",
}


def automaton_lines(query: Analysed, automaton: AutomatonPattern) -> Iterator[str]:
    """The sections between the query and its output."""
    yield "States"
    yield from table([_state(automaton, state) for state in states_of(automaton)])
    yield "Register"
    rows = [(slot.name, slot.type, f"begins as {print_expression(slot.initial)}") for slot in automaton.register]
    yield from table(rows) or ["  none"]
    yield "Arcs"
    yield from table([_arc(arc) for arc in automaton.arcs])
    if any(arc.fires is Fires.NOTHING for arc in automaton.arcs):
        yield "Without EPSILON"
        yield from _substituted(automaton)
    yield "Matches"
    yield from _matches(query, automaton)
    yield "Picture (Mermaid)"
    yield from ("  " + line for line in to_mermaid(automaton_graph(query, automaton)).splitlines())


def _state(automaton: AutomatonPattern, state: str) -> tuple[str, str, str]:
    roles = ["start"] * (state == automaton.start) + ["final"] * (state in automaton.finals)
    leaving = sum(arc.source == state for arc in automaton.arcs)
    return state, ", ".join(roles), f"{leaving or 'no'} arc{'s' * (leaving != 1)}"


def _arc(arc: ArcClause) -> tuple[str, str, str, str, str]:
    takes = _TAKES[arc.fires]
    if arc.types:
        takes += f" of {' or '.join(arc.types)}"
    when = f"WHEN {print_expression(arc.condition)}" if arc.condition is not None else "always"
    assigns = ", ".join(f"{assign.name} = {print_expression(assign.value)}" for assign in arc.assigns)
    changes = "ignored" if arc.ignores else f"SET {assigns}" if assigns else ""
    return arc.name or "", f"{arc.source} -> {arc.target}", takes, when, changes


def _substituted(automaton: AutomatonPattern) -> Iterator[str]:
    """What becomes of ε-arcs: each is put into the arcs before it."""
    taking = [arc for arc in automaton.arcs if arc.fires in (Fires.EVENT, Fires.INSTANT)]
    rows = []
    for arc in taking:
        ways = _ways(automaton, arc.target)[1:]
        if ways:
            also = ", ".join(" -> ".join(way) for way in ways)
            rows.append((f"{arc.source} -> {arc.target}", f"also leads on, of itself: {also}"))
    begun = _ways(automaton, automaton.start)[1:]
    for way in begun:
        rows.append((f"start {automaton.start}", f"begins also in {way[-1]}"))
    yield from table(rows)
    count = sum(len(_ways(automaton, arc.target)) for arc in taking)
    count += sum(len(_ways(automaton, arc.target)) for way in begun for arc in taking if arc.source == way[-1])
    yield f"  arcs that take events: {len(taking)}; with the EPSILON arcs put into them: {count}"


def _ways(automaton: AutomatonPattern, state: str) -> list[tuple[str, ...]]:
    """A state, and the states that ε-arcs lead through from there."""
    ways: list[tuple[str, ...]] = [(state,)]
    for arc in automaton.arcs:
        if arc.fires is Fires.NOTHING and arc.source == state:
            ways += [(state, *way) for way in _ways(automaton, arc.target)]
    return ways


def _matches(query: Analysed, automaton: AutomatonPattern) -> Iterator[str]:
    """What is accepted, and when it is emitted."""
    paths = (*(test.path for test in query.same), *(column.path for column in query.query.partition_by))
    keys = ", ".join(".".join(path) for path in dict.fromkeys(paths))
    yield f"  neighbouring events{f' of each {keys}' if keys else ''}, from any event on"
    if query.query.within is not None:
        yield f"  WITHIN {print_window(query.query.within)} of the first"
    if any(arc.fires is Fires.END for arc in automaton.arcs):
        yield "  of AT END: when the window is over"
    if query.query.having is not None:
        yield f"  HAVING {print_expression(query.query.having)}"
    yield "  those with equal first and last event and register are one"
