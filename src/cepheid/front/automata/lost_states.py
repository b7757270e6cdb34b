"""Arcs that were added to an automaton and lead nowhere (S17): states come with arcs, so that a misspelt one is new."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import CepheidWarning, nearest
from cepheid.front.automata.check import reached
from cepheid.pattern.tree.nodes import AutomatonPattern

LOST = "CEP014"


def lost_states(automaton: AutomatonPattern) -> Iterator[CepheidWarning]:
    """The states of added arcs that no arc leads to, or from which no final state can be reached."""
    added = [arc for arc in automaton.arcs if arc.since is not None]
    if not added:
        return
    ahead = reached([automaton.start], [(arc.source, arc.target) for arc in automaton.arcs])
    back = reached(automaton.finals, [(arc.target, arc.source) for arc in automaton.arcs])
    for state in dict.fromkeys(arc.source for arc in added if arc.source not in ahead):
        message = f"an arc was added that begins in the state '{state}', to which no arc leads"
        yield CepheidWarning(LOST, message, _remedy(state, ahead, "the arc that leads to it"))
    for state in dict.fromkeys(arc.target for arc in added if arc.target not in back and arc.source in ahead):
        message = f"an arc was added that ends in the state '{state}', from which no final state can be reached"
        yield CepheidWarning(LOST, message, _remedy(state, back, "the arcs that lead on"))


def _remedy(state: str, known: set[str], missing: str) -> str:
    meant = nearest(state, sorted(known - {state}))
    return f"did you mean '{meant}'?" if meant is not None else f"add {missing} as well, in one changing() block"
