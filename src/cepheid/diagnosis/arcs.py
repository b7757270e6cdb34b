"""Automata of the user's own and CESAR expressions: how often each arc was tried, and which conditions stopped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cepheid.diagnosis.counting import MISSES, OutOfBudget
from cepheid.diagnosis.facts import COMPLETE, Miss, Stage, Tested, nearest_of
from cepheid.diagnosis.said_events import describe
from cepheid.diagnosis.written import ConditionWriter, text_of
from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.front.cesar.linear import LinearEdge
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.walk import conjuncts
from cepheid.reference.event_automata import EventRunner, Instance
from cepheid.reference.own_automata import OwnAutomaton, OwnAutomatonRun, PartitionRuns, instants
from cepheid.reference.partition import substreams
from cepheid.reference.watching_arcs import ArcWatcher, EdgeWatcher
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Missing
from cepheid.values.rows import Event


@dataclass(frozen=True, slots=True)
class ByArcs:
    """How a query of one language is followed arc by arc.

    run: steps through the events of a partition, and yields how many each instant has. types: of each arc, by its name.
    depths: how many arcs each state is from the start.
    """

    run: Callable[[Runnable, Sequence[Event], ArcCounting], Iterator[int]]
    types: Callable[[Runnable], dict[str, tuple[str, ...]]]
    depths: Callable[[Runnable], dict[str, int]]


class ArcCounting:
    """Counts the arcs that are tried."""

    def __init__(self, name: str, query: Runnable, budget: int | None, by_arcs: ByArcs) -> None:
        self.name, self.query, self.budget = name, query, budget
        self.writer = ConditionWriter(query)
        self.steps = 0
        self.accepted = 0
        self.depths = by_arcs.depths(query)
        self.types = by_arcs.types(query)
        self.fired: Counter[str] = Counter()
        self.tested: Counter[tuple[str, str]] = Counter()
        self.passed: Counter[tuple[str, str]] = Counter()
        self.kept: list[Miss] = []
        self.closest: dict[str, tuple[float, str]] = {}  # of a condition: how far it was from TRUE, and its values

    def of_arc(self, first: Event | None, arc: BoundArc, bindings: Bindings, events: Sequence[Event]) -> None:
        """An arc of an automaton of the user's own."""
        typed = self.query.schema.roles.type is not None and arc.types
        fits = not typed or all(event.type in arc.types for event in events)
        conditions = () if arc.condition is None else tuple(conjuncts(arc.condition))
        self.tell(arc_name(arc), self.depths.get(arc.source, 0), fits, conditions, bindings, first, events)

    def of_edge(self, edge: LinearEdge, bindings: Bindings, event: Event) -> None:
        """An edge of a CESAR expression."""
        fits = edge.type is None or event.type == edge.type
        depth = 0 if edge.source is None else edge.source + 1
        self.tell(edge_name(edge), depth, fits, edge.fence, bindings, None, (event,))

    def tell(
        self,
        name: str,
        depth: int,
        fits: bool,
        conditions: Sequence[Expression],
        bindings: Bindings,
        first: Event | None,
        events: Sequence[Event],
    ) -> None:
        """Test the conditions one by one, in their order."""
        self.steps += 1
        if self.budget is not None and self.steps > self.budget:
            raise OutOfBudget
        if not fits:
            return
        for number, condition in enumerate(conditions):
            key = name, text_of(condition)
            self.tested[key] += 1
            if not self.holds(condition, bindings):
                self.miss(name, (float(depth), float(number)), condition, bindings, first, events)
                return
            self.passed[key] += 1
        self.fired[name] += 1

    def holds(self, condition: Expression, bindings: Bindings) -> bool:
        """Whether it is TRUE; where an attribute is missing, it is (S3)."""
        try:
            return self.writer.evaluate(condition, bindings) is True
        except Missing:
            return True

    def miss(
        self,
        name: str,
        came: tuple[float, float],
        condition: Expression,
        bindings: Bindings,
        first: Event | None,
        events: Sequence[Event],
    ) -> None:
        """Keep an arc that was not taken, if it is one of the nearest."""
        apart = self.writer.distance(condition, bindings)
        rank = (*came, -apart)
        text = text_of(condition)
        if text not in self.closest or apart < self.closest[text][0]:
            self.closest[text] = apart, self.writer.filled(condition, bindings)
        if len(self.kept) >= MISSES and rank <= self.kept[-1].rank:
            return
        had = () if first is None else (("first", first.row, describe(self.query, first)),)
        refused = ("", events[-1].row, describe(self.query, events[-1])) if events else None
        reason = f"{name}: {self.writer.explain(condition, bindings)}"
        self.kept = list(nearest_of([*self.kept, Miss(self.name, rank, had, reason, refused)], MISSES))

    def stages(self) -> tuple[Stage, ...]:
        """The arcs in the order of the text."""
        arcs = [
            Stage(
                self.name,
                name,
                types,
                self.fired[name],
                tuple(
                    Tested(text, tested, self.passed[arc, text])
                    for (arc, text), tested in self.tested.items()
                    if arc == name
                ),
                {},
            )
            for name, types in self.types.items()
        ]
        return (*arcs, Stage(self.name, COMPLETE, ("pattern",), self.accepted, (), {}))


def follow_arcs(
    name: str, query: Runnable, events: Sequence[Event], budget: int | None, by_arcs: ByArcs
) -> tuple[ArcCounting, int]:
    """Step through the events, partition by partition, as far as the budget goes; how many were read."""
    counting = ArcCounting(name, query, budget, by_arcs)
    read = 0
    try:
        for stream in substreams(query, events):
            for instant in by_arcs.run(query, stream.events, counting):
                read += instant
    except OutOfBudget:
        pass
    return counting, read


class _CountedArcs(ArcWatcher):
    def __init__(self, counting: ArcCounting) -> None:
        self.counting = counting

    def tried(self, run: OwnAutomatonRun | None, arc: BoundArc, bindings: Bindings, events: Sequence[Event]) -> None:
        self.counting.of_arc(None if run is None else run.first, arc, bindings, events)


class _CountedEdges(EdgeWatcher):
    def __init__(self, counting: ArcCounting) -> None:
        self.counting = counting

    def tried(self, instance: Instance | None, edge: LinearEdge, bindings: Bindings, event: Event) -> None:
        self.counting.of_edge(edge, bindings, event)


def _run_edges(query: Runnable, events: Sequence[Event], counting: ArcCounting) -> Iterator[int]:
    runner = EventRunner(query, algebra_in(query).automaton, _CountedEdges(counting))
    waiting: list[Instance] = []
    for instant in instants(query, events):
        waiting, results = runner.consume(waiting, instant)
        counting.accepted += len(results)
        yield len(instant)


def _run_arcs(query: Runnable, events: Sequence[Event], counting: ArcCounting) -> Iterator[int]:
    partition = PartitionRuns(OwnAutomaton(query, _CountedArcs(counting)))
    for instant in instants(query, events):
        counting.accepted += len(partition.consume(instant))
        yield len(instant)
    counting.accepted += len(partition.end(None))


def _edges(query: Runnable) -> dict[str, tuple[str, ...]]:
    edges = algebra_in(query).automaton.edges
    return {edge_name(edge): () if edge.type is None else (edge.type,) for edge in edges}


def _arcs(query: Runnable) -> dict[str, tuple[str, ...]]:
    return {arc_name(arc): arc.types for arc in automaton_in(query).arcs}


def arc_name(arc: BoundArc) -> str:
    """Its name, or between which states it leads."""
    return arc.name or f"{arc.source} -> {arc.target}"


def edge_name(edge: LinearEdge) -> str:
    """Between which states it leads."""
    source = "start" if edge.source is None else f"state {edge.source}"
    return f"{source} -> {'result' if edge.target is None else f'state {edge.target}'}"


def _depths(query: Runnable) -> dict[str, int]:
    """How many arcs each state is from the start."""
    automaton = automaton_in(query)
    depths = {automaton.start: 0}
    reached = [automaton.start]
    while reached:
        state = reached.pop(0)
        for arc in automaton.arcs:
            if arc.source == state and arc.target not in depths:
                depths[arc.target] = depths[state] + 1
                reached.append(arc.target)
    return depths


ARCS = ByArcs(_run_arcs, _arcs, _depths)
EDGES = ByArcs(_run_edges, _edges, lambda _: {})
