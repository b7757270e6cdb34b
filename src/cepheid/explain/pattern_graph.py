"""The automaton of a SASE+ pattern as a graph: a state after each component, arcs begin, take, proceed and ignore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from cepheid.explain.graph_title import graph_title
from cepheid.front.analysed import Analysed
from cepheid.language import print_expression, print_window
from cepheid.pattern.binding.placement import TestedAt, place
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.layout import Mark, MarkAction, Move
from cepheid.pattern.tree.nodes import Strategy
from cepheid.pattern.tree.uses import is_iterated
from cepheid.pattern.tree.walk import children
from cepheid.pictures import Edge, Graph, Node, NodeKind, Style

MOST = 24
"""Places that are drawn: AND has up to a thousand."""
_BEGIN, _END, _DROPPED = "begin", "match", "dropped"


def pattern_graph(query: Analysed) -> Graph:
    """States and arcs of a query, with what the arcs ask and keep."""
    return _Drawing(query).graph()


class _Drawing:
    """What is looked up while a graph is made."""

    def __init__(self, query: Analysed) -> None:
        self.query = query
        self.layout = query.layout
        self.placement = place(query.conditions, query.layout, query.components)

    def graph(self) -> Graph:
        places = self.layout.places
        if len(places) > MOST:
            text = f"{len(places)} states, one for each component and what may come after it: too many to draw"
            return Graph((Node("states", (text,)),), (), self.title)
        edges = [self.arc(_BEGIN, move) for move in self.layout.starts]
        edges += self.witnesses(_BEGIN, self.layout.starts)
        for number, moves in enumerate(self.layout.moves):
            source = self.name(number)
            edges += [self.arc(source, move) for move in moves if move.target is not None]
            edges += [self.end(source, move) for move in moves if move.target is None and self.asks_at_end(move)]
            edges += self.ignore(number, moves)
            edges += self.witnesses(source, moves)
        used = {name for edge in edges for name in (edge.source, edge.target)}
        nodes = [Node(_BEGIN, kind=NodeKind.START), *map(self.state, range(len(places)))]
        nodes += [Node(_END, ("match",), NodeKind.FINAL)] if _END in used else []
        nodes += [Node(_DROPPED, ("no match",), NodeKind.DROPPED)] if _DROPPED in used else []
        return Graph(tuple(nodes), tuple(dict.fromkeys(edges)), self.title)

    @cached_property
    def title(self) -> tuple[str, ...]:
        """What holds of the whole run."""
        strategies = ", ".join(dict.fromkeys(strategy.value for strategy in self.query.strategies.values()))
        return graph_title(self.query, (strategies,), map(print_expression, self.placement.constant))

    def name(self, number: int) -> str:
        return f"s{number}"

    def shown(self, number: int) -> str:
        """The variable of a place; an array as it is written."""
        variable = self.layout.places[number].variable
        return f"{variable}[]" if self.query.components[variable].indexed else variable

    def state(self, number: int) -> Node:
        event = self.layout.places[number].event
        ends = any(move.target is None and not self.asks_at_end(move) for move in self.layout.moves[number])
        lines = (f"{self.shown(number)}: {' or '.join(event.types) or 'any type'}",)
        return Node(self.name(number), lines, NodeKind.FINAL if ends else NodeKind.STATE)

    # Arcs over an event.

    def arc(self, source: str, move: Move) -> Edge:
        assert move.target is not None
        component = self.query.components[self.layout.places[move.target].variable]
        again = source == self.name(move.target) and move.repeats
        verb = "take" if again else "begin"
        index = "" if not component.indexed else "[i]" if again else "[1]"
        lines = [f"{verb} {component.variable}{index}", *self.asked(move.target, again), *self.left(move.marks)]
        kept = [name for name, once in self.kept[component.variable].items() if not (again and once)]
        lines += [f"keep {', '.join(kept)}"] if kept else []
        return Edge(source, self.name(move.target), tuple(lines))

    def asked(self, number: int, again: bool) -> Iterator[str]:
        """The conditions of a place, on its first event or on later ones."""
        for when, condition in self.placement.at_place.get(number, ()):
            other = TestedAt.FIRST if again else TestedAt.LATER
            if when is not other and (again or not isinstance(when, ex.Nth)):
                which = f" ({when.value})" if isinstance(when, ex.Nth) else ""
                yield f"{print_expression(condition)}{which}"

    def left(self, marks: Iterable[Mark]) -> Iterator[str]:
        """What loops ask of how often they were gone through, and when they are left."""
        for mark in marks:
            if mark.step in (MarkAction.ABSENT, MarkAction.SKIP, MarkAction.ENTER):
                continue
            loop = self.layout.loops[mark.number]
            names = ", ".join(v for v in self.query.components if v in loop.variables)
            if mark.step is MarkAction.AGAIN and loop.high is not None:
                yield f"at most {loop.high} times"
            if mark.step is MarkAction.EXIT:
                asked = [print_expression(c) for c in self.placement.at_exit.get(mark.number, ())]
                asked += [f"after {loop.low} or more" if loop.high is None else f"after {_times(loop.low, loop.high)}"]
                enough = loop.low <= 1
                if not enough or len(asked) > 1:
                    yield f"proceed {names}: {' AND '.join(asked[: len(asked) - enough])}"

    # Arcs without one.

    def asks_at_end(self, move: Move) -> bool:
        """Whether a match is not there at once, without a further question."""
        return any(mark.step is MarkAction.ABSENT for mark in move.marks) or any(self.left(move.marks))

    def end(self, source: str, move: Move) -> Edge:
        """From the last event to the match."""
        lines = list(self.left(move.marks))
        for mark in move.marks:
            if mark.step is MarkAction.ABSENT:
                absent = self.layout.negations[mark.number]
                until = f"for {print_window(absent.period)}" if absent.period is not None else "to the window's end"
                lines.append(f"no {absent.variable} {until}")
        return Edge(source, _END, tuple(lines), Style.QUIET)

    def ignore(self, number: int, moves: Iterable[Move]) -> Iterator[Edge]:
        """What a run lets pass while it waits."""
        source = self.name(number)
        waits = dict.fromkeys(self.layout.places[m.target].variable for m in moves if m.target is not None)
        strategies = {self.query.strategies[variable] for variable in waits}
        keys = ", ".join(".".join(test.path) for test in self.query.same)
        if Strategy.ANY in strategies:
            yield Edge(source, source, ("ignore any event",), Style.QUIET)
        elif Strategy.NEXT in strategies:
            yield Edge(source, source, ("ignore what does not fit",), Style.QUIET)
        elif Strategy.PARTITION in strategies and keys:
            yield Edge(source, source, (f"ignore another {keys}",), Style.QUIET)

    def witnesses(self, source: str, moves: Iterable[Move]) -> Iterator[Edge]:
        """What must be absent between two events, before the first or after the last."""
        crossed = (mark.number for move in moves for mark in move.marks if mark.step is MarkAction.ABSENT)
        for number in dict.fromkeys(crossed):
            absent = self.layout.negations[number]
            lines = [f"{absent.variable}: {' or '.join(absent.event.types) or 'any type'}"]
            if source == _BEGIN:
                period = absent.period
                lines[0] += f" in the {print_window(period)} before" if period is not None else " before, in the window"
            lines += [print_expression(condition) for condition in self.placement.of_witness.get(number, ())]
            yield Edge(source, _DROPPED, tuple(lines), Style.ABSENT)

    @cached_property
    def kept(self) -> dict[str, dict[str, bool]]:
        """Of each variable, what later conditions read of it, the registers of the automaton; whether it stays so."""
        registers: dict[str, dict[str, bool]] = {variable: {} for variable in self.query.components}
        at = [
            (self.layout.places[number].variable, condition)
            for number, placed in self.placement.at_place.items()
            for _, condition in placed
        ]
        at += [("", c) for conditions in self.placement.at_exit.values() for c in conditions]
        for number, conditions in self.placement.of_witness.items():
            at += [(self.layout.negations[number].variable, c) for c in conditions]
        at += [("", self.query.query.having)] if self.query.query.having is not None else []
        for current, condition in at:
            for node, variable in _read(condition, current):
                registers[variable][print_expression(node)] = getattr(node, "index", None) is ex.Index.FIRST
        return registers


def _read(node: ex.Expression, current: str) -> Iterator[tuple[ex.Expression, str]]:
    """What a condition reads of events other than the one at hand, which is of the variable `current`."""
    match node:
        case ex.Attribute(variable=variable, index=index):
            at_hand = variable == current and (not is_iterated(index) or index is ex.Index.CURRENT)
            if not at_hand or index is ex.Index.LAST:
                yield node, variable
        case ex.Length(variable=variable):
            yield node, variable
        case ex.AggregateCall():
            inner = [variable for child in children(node) for _, variable in _read(child, "")]
            yield from ((node, variable) for variable in dict.fromkeys(inner))
            if isinstance(node.argument, ex.Rows):
                yield node, node.argument.variable
        case _:
            for child in children(node):
                yield from _read(child, current)


def _times(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
