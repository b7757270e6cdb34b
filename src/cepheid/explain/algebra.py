"""A CESAR expression explained: what became a derived stream, its automaton, and what splits its events (S22)."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.explain.table import table
from cepheid.front.analysed import Analysed
from cepheid.front.automata.registers import EVENT
from cepheid.front.cesar.linear import EVENT_END, EVENT_START, EventAutomaton, LinearEdge
from cepheid.front.cesar.result import BoundAlgebra, algebra_in
from cepheid.front.runnable import Runnable
from cepheid.language import print_expression
from cepheid.pattern.algebra.attributes import END, START
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.walk import substitute
from cepheid.pictures import Edge, Graph, Node, NodeKind, Style

_TIMES = {START: "start", END: "end", EVENT_START: f"{EVENT}.start", EVENT_END: f"{EVENT}.end"}


def algebra_lines(query: Analysed, bound: Runnable | None) -> Iterator[str]:
    """The sections between the expression and its output."""
    if is_hidden(query.query.into):
        yield "Derived stream"
        yield f"  {query.query.into}: an operand that is not made of single events, which no automaton can wait for."
        yield "  It has an automaton of its own, whose results are events for the expression that reads it."
    if bound is None:
        yield "Automaton"
        yield "  known with the columns of the events: explain(events) or explain(schema)"
        return
    algebra = algebra_in(bound)
    automaton = algebra.automaton
    yield "Automaton"
    yield from table([_state(automaton, number) for number in range(len(automaton.states))]) or [
        "  no state: single events"
    ]
    yield "Edges"
    yield from table([row for edge in automaton.edges for row in [_edge(edge)]])
    yield "Partition"
    keys = ", ".join(algebra.keys)
    yield (
        f"  by {keys}: every wait asks for the value that its instance has"
        if keys
        else "  none: no equality is in every wait"
    )


def algebra_graph(algebra: BoundAlgebra) -> Graph:
    """The automaton as a graph; a quiet loop lets an instance wait, as long as nothing ends that."""
    automaton = algebra.automaton
    nodes = [Node("begin", kind=NodeKind.START)]
    nodes += [Node(_name(number), (_name(number),)) for number in range(len(automaton.states))]
    nodes.append(Node("result", ("result",), NodeKind.FINAL))
    edges = []
    for edge in automaton.edges:
        source = "begin" if edge.source is None else _name(edge.source)
        kind = [f"ON {edge.type}"] if edge.type else []
        lines = (*kind, *(_asked((condition,)) for condition in edge.fence), *_assigned(automaton, edge))
        edges.append(Edge(source, _name(edge.target), lines or ("any event",)))
    for number in range(len(automaton.states)):
        ends = " OR ".join(dict.fromkeys(_asked(edge.decides) for edge in automaton.ends(number)))
        edges.append(Edge(_name(number), _name(number), (f"waits while NOT ({ends})",), Style.QUIET))
    keys = ", ".join(algebra.keys)
    return Graph(tuple(nodes), tuple(edges), (f"by {keys}",) if keys else ())


def _assigned(automaton: EventAutomaton, edge: LinearEdge) -> Iterator[str]:
    """What an instance holds after an edge and did not hold before; a result holds its columns."""
    held = {} if edge.target is None else automaton.states[edge.target].types
    for name, value in edge.values.items():
        if name in held and not (isinstance(value, ex.RegisterField) and value.name == name):
            yield f"{name} := {_asked((value,))}"


def _state(automaton: EventAutomaton, number: int) -> tuple[str, str, str]:
    state = automaton.states[number]
    ends = " or ".join(dict.fromkeys(_asked(edge.decides) for edge in automaton.ends(number)))
    what = "takes one step after the other" if state.iterates else "waits for one event"
    return _name(number), what, f"holds {', '.join(state.types) or 'only its times'}; the wait ends by {ends}"


def _edge(edge: LinearEdge) -> tuple[str, str, str]:
    source = "start" if edge.source is None else _name(edge.source)
    kind = f"an event of {edge.type}" if edge.type is not None else "an event"
    return f"{source} -> {_name(edge.target)}", kind, f"if {_asked(edge.fence)}"


def _name(number: int | None) -> str:
    return "result" if number is None else chr(ord("A") + number) if number < 26 else f"state_{number}"


def _asked(conditions: tuple[ex.Expression, ...]) -> str:
    return " AND ".join(print_expression(_readable(condition)) for condition in conditions) or "TRUE"


def _readable(node: ex.Expression) -> ex.Expression:
    """An expression in which an attribute of the instance is `S1.price`, and one of the event `e.price`."""

    def change(part: ex.Expression) -> ex.Expression | None:
        if not isinstance(part, ex.RegisterField):
            return None
        name = _TIMES.get(part.name, part.name)
        head, dot, tail = name.rpartition(".")
        return ex.Attribute(head, ex.Index.ONE, tail) if dot else ex.Name(name)

    return substitute(node, change)
