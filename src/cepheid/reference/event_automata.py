"""Event automata by the paper's Algorithm 1: the second definition of the CESAR algebra (S22).

An ∃-edge is taken by every event that passes it; the ∀-edge that lets an instance wait needs all events of the instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cepheid.front.automata.registers import EVENT
from cepheid.front.cesar.linear import EVENT_END, EVENT_START, EventAutomaton, LinearEdge
from cepheid.front.runnable import Runnable
from cepheid.reference.watching_arcs import UNSEEN, EdgeWatcher
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.facts import Fact, plain_zero
from cepheid.values.fields import as_field, calls_own
from cepheid.values.rows import Event
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True)
class Instance:
    """An event so far, and the state that it waits in."""

    state: int
    event: Fact


class EventRunner:
    """An automaton that can be stepped through, one instant after the other."""

    def __init__(self, query: Runnable, automaton: EventAutomaton, watcher: EdgeWatcher = UNSEEN) -> None:
        self.automaton = automaton
        self.watcher = watcher
        self.tick = query.schema.tick
        self.begins = [_Edge(query, automaton, edge) for edge in automaton.leaving(None)]
        numbers = range(len(automaton.states))
        self.edges = [[_Edge(query, automaton, edge) for edge in automaton.leaving(q)] for q in numbers]

    def consume(self, instances: Iterable[Instance], instant: Sequence[Event]) -> tuple[list[Instance], list[Fact]]:
        """The instances after an instant, each once, and the results of it; what it makes does not see it."""
        after: dict[object, Instance] = {}
        results: dict[object, Fact] = {}

        def arrive(before: Instance | None, edge: LinearEdge, made: Fact, event: Event) -> None:
            if edge.target is None:
                self.watcher.gave(before, edge, made, event, results.setdefault(made.key, made) is not made)
            else:
                new = Instance(edge.target, made)
                self.watcher.went(before, edge, new, after.setdefault((edge.target, made.key), new), event)

        for instance in instances:
            waits, goes = True, False
            for event in instant:
                if event.start // self.tick <= instance.event.end:
                    continue
                for edge in self.edges[instance.state]:
                    bindings = self.bindings(instance.event, event)
                    self.watcher.tried(instance, edge.edge, bindings, event)
                    if edge.ends(event, bindings):
                        waits = False
                        if edge.asks(bindings):
                            goes = True
                            arrive(instance, edge.edge, edge.made(bindings), event)
            if waits:
                after.setdefault((instance.state, instance.event.key), instance)
                self.watcher.waited(instance, instant)
            elif not goes:
                self.watcher.lost(instance, instant)
        for event in instant:
            bindings = self.bindings(None, event)
            for edge in self.begins:
                self.watcher.tried(None, edge.edge, bindings, event)
                if edge.ends(event, bindings) and edge.asks(bindings):
                    arrive(None, edge.edge, edge.made(bindings), event)
        return list(after.values()), list(results.values())

    def bindings(self, run: Fact | None, event: Event) -> Bindings:
        """What the conditions of edges read: the event at hand, and the attributes of the run so far."""
        held: dict[str, Value] = {} if run is None else run.scope
        times = {EVENT_START: event.start // self.tick, EVENT_END: event.time // self.tick}
        return Bindings({EVENT: (event,)}, {EVENT: event}, {**held, **times})


class _Edge:
    """An edge whose conditions and values are compiled for the reference."""

    def __init__(self, query: Runnable, automaton: EventAutomaton, edge: LinearEdge) -> None:
        compiler = Compiler(query, output=True)
        self.edge = edge
        self._decides = [compiler.condition(condition) for condition in edge.decides]
        self._asks = [compiler.condition(condition) for condition in edge.asks]
        types = automaton.types if edge.target is None else automaton.states[edge.target].types
        self._values: dict[str, Callable[[Bindings], Value]] = {}
        for name, value in edge.values.items():
            evaluate = compiler.compile(value)
            if calls_own(value, query.functions):
                self._values[name] = lambda b, e=evaluate, t=types[name], v=value: as_field(e(b), t, v)  # type: ignore[misc]
            else:
                self._values[name] = evaluate
        self._start = compiler.compile(edge.start)

    def ends(self, event: Event, bindings: Bindings) -> bool:
        """Whether the event is what the instance waits for."""
        fits = self.edge.type is None or event.type == self.edge.type
        return fits and all(test(bindings) for test in self._decides)

    def asks(self, bindings: Bindings) -> bool:
        """Whether the event takes the instance further."""
        return all(test(bindings) for test in self._asks)

    def made(self, bindings: Bindings) -> Fact:
        """The instance that an event makes over this edge."""
        values = {name: plain_zero(value(bindings)) for name, value in self._values.items()}
        start, end = self._start(bindings), bindings.register[EVENT_END]
        assert isinstance(start, int)
        assert isinstance(end, int)
        return Fact(values, start, end)
