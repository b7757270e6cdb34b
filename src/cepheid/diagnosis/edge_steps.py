"""The steps of a CESAR expression, written down as those of a PATTERN are: a run is an instance of its automaton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.diagnosis.arcs import edge_name
from cepheid.diagnosis.steps import RunKey, RunStep, RunSteps
from cepheid.diagnosis.tracing import PartitionKey, by_partitions
from cepheid.diagnosis.written import write_value
from cepheid.front.cesar.linear import LinearEdge
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.expressions.types import Type
from cepheid.reference.event_automata import EventRunner, Instance
from cepheid.reference.own_automata import instants
from cepheid.reference.partition import substreams
from cepheid.reference.watching import Dropped
from cepheid.reference.watching_arcs import EdgeWatcher
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Missing
from cepheid.values.facts import Fact
from cepheid.values.rows import Event, read_events
from cepheid.values.scope import sight_of


class EdgeTeller(RunSteps, EdgeWatcher):
    """Writes steps down. A run is known by the events that it took and the edges that it went by."""

    def __init__(self, query: Runnable, most: int | None = None) -> None:
        super().__init__(query, most)
        self.automaton = algebra_in(query).automaton
        self.marks = {id(edge): f"{number:04}" for number, edge in enumerate(self.automaton.edges)}
        self.keys: dict[int, tuple[Instance, RunKey]] = {}
        self.results: list[tuple[Event, Fact, RunKey]] = []

    def key(self, instance: Instance | None) -> RunKey | None:
        """Return what names the run of an instance: its events and edges, or None before it began."""
        return None if instance is None else self.keys[id(instance)][1]

    def tell(self, event: Event | None, action: str, run: RunKey | None, edge: LinearEdge | None, detail: str) -> None:
        self.steps[RunStep(event, action, run, None if edge is None else edge_name(edge), None, detail)] = None

    def tried(self, instance: Instance | None, edge: LinearEdge, bindings: Bindings, event: Event) -> None:
        """Which condition is not TRUE. Of events of other types it is enough to say that they are ignored."""
        if edge.type is not None and event.type != edge.type:
            return
        for condition in edge.fence:
            try:
                holds = self.reasons.writer.evaluate(condition, bindings) is True
            except Missing:
                holds = True
            if not holds:
                why = self.reasons.writer.explain(condition, bindings)
                self.tell(event, "refuse", self.key(instance), edge, why)
                return

    def made(
        self, before: Instance | None, edge: LinearEdge, fact: Fact, types: Mapping[str, Type], event: Event
    ) -> RunKey:
        """Write down that an instance begins, takes an event or proceeds."""
        known = self.key(before)
        positions, marks = known or ((), ())
        key = (*positions, event.position), (*marks, self.marks[id(edge)])
        self.parents[key] = known
        action = "begin" if known is None else "take" if edge.source == edge.target else "proceed"
        self.tell(event, action, key, edge, _written(fact, types))
        return key

    def went(self, before: Instance | None, edge: LinearEdge, after: Instance, kept: Instance, event: Event) -> None:
        """A run waits in a state."""
        types = self.automaton.states[after.state].types
        key = self.made(before, edge, after.event, types, event)
        if kept is after:
            self.keys[id(after)] = after, key
            return
        held = _written(after.event, types)
        why = f"waits in state {after.state}{', with ' * bool(held)}{held}, and the same times"
        self.steps[RunStep(event, "merge", key, None, None, why, self.key(kept))] = None

    def gave(self, before: Instance | None, edge: LinearEdge, result: Fact, event: Event, known: bool) -> None:
        """Write down that an instance made a result; `known`: an equal one was there before."""
        key = self.made(before, edge, result, self.automaton.types, event)
        self.results.append((event, result, key))

    def waited(self, instance: Instance, instant: Sequence[Event]) -> None:
        self.tell(instant[0], "ignore", self.key(instance), None, f"waits in state {instance.state}")

    def lost(self, instance: Instance, instant: Sequence[Event]) -> None:
        why = f"the next event for state {instance.state} came, and it takes the run no further"
        self.tell(instant[0], "kill", self.key(instance), None, why)

    def ended(self, instance: Instance) -> None:
        """Called at the end of the input for each instance that still waits."""
        self.tell(None, "kill", self.key(instance), None, f"the input ended; it waited in state {instance.state}")

    def give(self) -> list[Fact]:
        """Emit each result once, and drop equal ones."""
        emitted: dict[object, Fact] = {}
        for event, result, key in self.results:
            if result.key in emitted:
                self.tell(event, "drop", key, None, Dropped.EQUAL.value)
            else:
                emitted[result.key] = result
                self.tell(event, "emit", key, None, "")
        return list(emitted.values())


def _written(fact: Fact, types: Mapping[str, Type]) -> str:
    """The attributes of an instance."""
    return ", ".join(
        f"{name} = {write_value(value, types[name])}" for name, value in fact.values.items() if not is_hidden(name)
    )


def results(query: Runnable, table: pa.Table) -> list[Fact]:
    """The results of a derived stream, whose events only the engine knows."""
    facts: dict[object, Fact] = {}
    runner = EventRunner(query, algebra_in(query).automaton)
    for partition in substreams(query, read_events(table, query.schema)):
        waiting: list[Instance] = []
        for instant in instants(query, partition.events):
            waiting, made = runner.consume(waiting, instant)
            facts |= {fact.key: fact for fact in made}
    return list(facts.values())


def watch_edges(query: Runnable, events: Sequence[Event], teller: EdgeTeller) -> int:
    """Run event by event until the teller has enough; how many events were read. What is emitted is a step as well."""
    runner, sees = EventRunner(query, teller.automaton, teller), sight_of(query)
    partitions: dict[PartitionKey, list[Instance]] = {}
    seen = [event for event in events if sees(event)]
    for instant in instants(query, seen):
        for key, together in by_partitions(query, instant).items():
            partitions[key], _ = runner.consume(partitions.get(key, ()), together)
        if teller.is_full and instant[-1] is not seen[-1]:
            teller.give()
            return instant[-1].position + 1
    for waiting in partitions.values():
        for instance in waiting:
            teller.ended(instance)
    teller.give()
    return len(events)
