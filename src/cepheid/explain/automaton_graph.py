"""An automaton of the user's own as a graph."""

from __future__ import annotations

from cepheid.explain.graph_title import graph_title
from cepheid.front.analysed import Analysed
from cepheid.front.automata.check import states_of
from cepheid.language import print_expression
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Fires
from cepheid.pictures import Edge, Graph, Node, NodeKind, Style

_WORDS = {Fires.INSTANT: "ON ALL", Fires.END: "AT END", Fires.NOTHING: "ε"}


def automaton_graph(query: Analysed, automaton: AutomatonPattern) -> Graph:
    """Its states and arcs; arcs that take no event, or ignore it, are quiet."""
    numbers = {state: f"s{number}" for number, state in enumerate(states_of(automaton))}
    nodes = [Node("begin", kind=NodeKind.START)]
    for state, number in numbers.items():
        nodes.append(Node(number, (state,), NodeKind.FINAL if state in automaton.finals else NodeKind.STATE))
    begins = tuple(f"{slot.name} := {print_expression(slot.initial)}" for slot in automaton.register)
    edges = [Edge("begin", numbers[automaton.start], begins)]
    for arc in automaton.arcs:
        kept = arc.fires in (Fires.EVENT, Fires.INSTANT) and not arc.ignores
        style = Style.PLAIN if kept else Style.QUIET
        edges.append(Edge(numbers[arc.source], numbers[arc.target], _label(arc), style))
    return Graph(tuple(nodes), tuple(edges), graph_title(query))


def _label(arc: ArcClause) -> tuple[str, ...]:
    """What an arc is called, what it is taken on, what it asks and what it assigns: a line each."""
    lines = [arc.name] if arc.name else []
    lines += ["ignored"] if arc.ignores else []
    lines += [_WORDS[arc.fires]] if arc.fires in _WORDS else []
    lines += [f"ON {', '.join(arc.types)}"] if arc.types else []
    lines += [print_expression(arc.condition)] if arc.condition is not None else []
    lines += [f"{assign.name} := {print_expression(assign.value)}" for assign in arc.assigns]
    return tuple(lines) or ("any event",)
