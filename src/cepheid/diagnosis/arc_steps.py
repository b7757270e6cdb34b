"""The steps of an automaton of the user's own, written down as those of a PATTERN are."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.diagnosis.arcs import arc_name
from cepheid.diagnosis.steps import RunKey, RunStep, RunSteps
from cepheid.diagnosis.tracing import PartitionKey, by_partitions
from cepheid.diagnosis.written import write_value
from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Fires
from cepheid.pattern.tree.walk import conjuncts
from cepheid.reference.own_automata import (
    Accepted,
    OwnAutomaton,
    OwnAutomatonRun,
    PartitionRuns,
    Register,
    instants,
    match_bindings,
    passing,
)
from cepheid.reference.watching import Dropped, Why
from cepheid.reference.watching_arcs import ArcWatcher
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Missing
from cepheid.values.rows import Event
from cepheid.values.scope import sight_of


class ArcTeller(RunSteps, ArcWatcher):
    """Writes steps down. A run is known by the events that it took and the arcs that it went by.

    An arc that leads back to its state and assigns nothing ignores the event: the run is still the same.
    """

    def __init__(self, query: Runnable, most: int | None = None) -> None:
        super().__init__(query, most)
        self.automaton = automaton_in(query)
        self.marks = {id(arc): f"{number:04}" for number, arc in enumerate(self.automaton.arcs)}
        self.going = {arc.source for arc in self.automaton.arcs if arc.fires is not Fires.NOTHING}
        self.now: Event | None = None
        self.keys: dict[int, tuple[OwnAutomatonRun, RunKey]] = {}
        self.reached: dict[str, RunKey] = {}  # by the event at hand and ε-arcs: by state, what tries further ones
        self.merged: set[RunKey] = set()
        self.matches: list[tuple[Accepted, RunKey]] = []

    def begin(self, event: Event | None) -> None:
        """Called before each event, which steps without one of their own are of."""
        self.now = event
        self.reached = {}

    def key(self, run: OwnAutomatonRun) -> RunKey | None:
        """What a run is; None if it has taken nothing yet."""
        known = self.keys.get(id(run))
        return None if known is None else known[1]

    def tell(self, event: Event | None, action: str, run: RunKey | None, arc: BoundArc | None, detail: str) -> None:
        self.steps[RunStep(event, action, run, None if arc is None else arc_name(arc), None, detail)] = None

    def tried(self, run: OwnAutomatonRun | None, arc: BoundArc, bindings: Bindings, events: Sequence[Event]) -> None:
        """Which condition is not TRUE. Of events of other types it is enough to say what becomes of the run."""
        key = self.key(run) if run is not None else self.reached.get(arc.source)
        typed = self.query.schema.roles.type is not None and arc.types
        if arc.condition is None or (typed and not all(event.type in arc.types for event in events)):
            return
        if run is None and key is None:
            return  # before the first event
        for condition in conjuncts(arc.condition):
            if not self.holds(condition, bindings):
                why = self.reasons.writer.explain(condition, bindings)
                self.tell(events[0] if events else self.now, "refuse", key, arc, why)
                return

    def holds(self, condition: object, bindings: Bindings) -> bool:
        """Whether a condition is TRUE; where an attribute is missing, it is (S3)."""
        try:
            return self.reasons.writer.evaluate(condition, bindings) is True  # type: ignore[arg-type]
        except Missing:
            return True

    def went(
        self,
        before: OwnAutomatonRun,
        arcs: Sequence[BoundArc],
        after: OwnAutomatonRun,
        kept: OwnAutomatonRun,
        events: Sequence[Event],
    ) -> None:
        """Begin, take, proceed or ignore; and merge."""
        known, arc = self.key(before), arcs[-1]
        if known is not None and len(arcs) == 1 and arc.source == arc.target and not arc.assigns:
            key = known
        else:
            positions, marks = known or ((), ())
            key = (*positions, *(event.position for event in events)), (*marks, *self.marked(arcs))
        parent = known if len(arcs) == 1 else self.reached[arc.source]
        self.reached[after.state] = key
        if parent in self.merged and parent != known:
            self.merged.add(key)  # what becomes of runs that are one is one
            return
        if key == known:
            self.tell(events[0], "ignore", key, None, f"stays in {after.state}")
        else:
            self.parents[key] = parent
            action = "begin" if parent is None else "take" if arc.source == arc.target else "proceed"
            self.tell(events[0], action, key, arc, self.written(after.register))
        if kept is after:
            self.keys[id(after)] = after, key
            return
        other = self.key(kept)
        assert other is not None
        if other == key:
            return
        if _rank(key) < _rank(other):  # the one that was there before stays
            self.keys[id(kept)] = kept, key
            key, other = other, key
        self.merged.add(key)
        held = self.written(after.register)
        why = f"in {after.state}{', with ' * bool(held)}{held}, and the same first event"
        self.steps[RunStep(events[0], "merge", key, None, None, why, other)] = None

    def marked(self, arcs: Sequence[BoundArc]) -> tuple[str, ...]:
        """Arcs by their numbers: several may have one name."""
        return tuple(self.marks[id(arc)] for arc in arcs)

    def written(self, register: Register) -> str:
        """The values of the register."""
        return ", ".join(
            f"{slot.name} = {write_value(value, slot.type)}"
            for slot, value in zip(self.automaton.slots, register, strict=True)
        )

    def stuck(self, run: OwnAutomatonRun, instant: Sequence[Event]) -> None:
        """A run that no arc takes further ends, unless it only waits in a final state."""
        key = self.key(run)
        if key is not None and run.state in self.going:
            self.tell(instant[0], "kill", key, None, f"no arc from {run.state} takes this event")

    def left(self, run: OwnAutomatonRun, instant: Sequence[Event] | None, *, overlaps: bool = False) -> None:
        """A run ends: at the end of the input (`instant` is None), by its window, or by its strategy."""
        key = self.key(run)
        if key is None or run.state not in self.going:
            return
        if instant is None:
            self.tell(None, "kill", key, None, f"the input ended; it was in {run.state}")
            return
        why = Why.OVERLAP.value if overlaps else self.reasons.window(run.first, instant[0])
        self.tell(instant[0], "kill", key, None, f"it was in {run.state}; {why}")

    def accepted(self, run: OwnAutomatonRun, arcs: Sequence[BoundArc], match: Accepted, known: bool) -> None:
        """A match, which HAVING may drop."""
        key = self.key(run)
        assert key is not None
        if arcs:
            parent, key = key, (key[0], (*key[1], *self.marked(arcs)))
            self.parents[key] = parent
            self.tell(match.last, "proceed", key, arcs[-1], self.written(match.register))
        if known:
            self.tell(match.last, "drop", key, None, Dropped.EQUAL.value)
        else:
            self.matches.append((match, key))

    def give(self) -> list[Accepted]:
        """Decide which of the matches are emitted, and write down what becomes of the others."""
        emitted = passing(self.query, [match for match, _ in self.matches])
        passed = set(map(id, emitted))
        for match, key in self.matches:
            if id(match) in passed:
                self.tell(match.last, "emit", key, None, self.written(match.register))
            else:
                assert self.query.having is not None
                why = self.reasons.writer.explain(self.query.having, match_bindings(self.query, match))
                self.tell(match.last, "drop", key, None, f"HAVING {why}")
        return emitted


def _rank(run: RunKey) -> tuple[object, ...]:
    """Order runs by their last event, then as they began."""
    return run[0][-1], *run


def watch_arcs(query: Runnable, events: Sequence[Event], teller: ArcTeller) -> int:
    """Run event by event until the teller has enough; how many events were read. What is emitted is a step as well."""
    automaton, sees = OwnAutomaton(query, teller), sight_of(query)
    partitions: dict[PartitionKey, PartitionRuns] = {}
    seen = [event for event in events if sees(event)]
    for instant in instants(query, seen):
        for key, together in by_partitions(query, instant).items():
            teller.begin(together[0])
            partitions.setdefault(key, PartitionRuns(automaton)).consume(together)
        if teller.is_full and instant[-1] is not seen[-1]:
            teller.give()
            return instant[-1].position + 1
    teller.begin(None)
    for partition in partitions.values():
        partition.end(None)
    teller.give()
    return len(events)
