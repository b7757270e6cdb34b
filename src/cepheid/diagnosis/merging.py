"""Which runs the engine may keep as one: those in the same state that agree on all that can still be read of them.

The automaton of the query shows it, which is followed here with every run apart. So it does not depend on the order in
which runs are looked at, nor on when the engine looks for runs that are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.automaton.model import Arc, Ended, Kill, Register, RegisterAutomaton, Test, Time, Witnessed
from cepheid.diagnosis.written import write_value
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.errors import EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.kernel.scan.program import Restart
from cepheid.reference.automaton import AutomatonRun, AutomatonRunner, Binding
from cepheid.reference.partition import Substream, substreams
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.facts import hashable
from cepheid.values.rows import Event

BoundRows = tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class RunMerge:
    """On an event, a run becomes like another one. waits_for: what both wait for; held: what both hold."""

    event: Event
    run: BoundRows
    other: BoundRows
    waits_for: str
    held: str


def merges(query: Runnable, events: Sequence[Event]) -> list[RunMerge]:
    """The merges of a query; none if every run is interpreted, and so kept apart."""
    compiled = CompiledQuery(query)
    if compiled.why_interpreted:
        return []
    try:
        wider = [_with_computed(compiled, event) for event in events]
        return [merge for partition in substreams(query, wider) for merge in _MergingRuns(compiled, partition).merges()]
    except (Unfit, EvaluationError):
        return []  # these events are interpreted


def _with_computed(compiled: CompiledQuery, event: Event) -> Event:
    """An event with the columns that the automaton reads."""
    values = dict(event.values)
    for name, column in compiled.derived.items():
        if name not in values:
            [values[name]] = column.values([[values[read]] for read in column.reads])
    return replace(event, values=values)


@dataclass(frozen=True, slots=True)
class _Origin:
    """What runs that are one have in common when one event takes them all further: then they are still one."""

    kept: int | None  # None: the run begins
    by: int  # the arc, or that events were absent no longer
    event: int


class _MergingRuns(AutomatonRunner):
    """An automaton on the events of one partition. What the engine keeps as one has a number."""

    def __init__(self, compiled: CompiledQuery, partition: Substream) -> None:
        super().__init__(compiled.automaton, compiled.flat, partition)
        self.resets = any(isinstance(step, Restart) for step in compiled.program.steps)
        self.numbers: dict[int, int] = {}  # by the id of a run
        self.last_number = 0
        self.origins: dict[int, _Origin] = {}  # of runs that come with the event at hand, by their ids
        self.made: list[AutomatonRun] = []  # so that no id is used twice
        self.found: list[RunMerge] = []
        self.times = _times(compiled.automaton)
        self.compiler = Compiler(compiled.flat)
        self.masks: dict[int, Callable[[Bindings], bool]] = {}  # conditions on one event, by their ids

    def merges(self) -> list[RunMerge]:
        """Run the partition, and return the merges in the order in which they happened."""
        self.run()
        return self.found

    def step(self, instant: Sequence[Event]) -> None:
        """Runs go on, and then it is seen which are alike."""
        self.origins, self.made = {}, []
        matches = len(self.matches)
        super().step(instant)
        if self.resets and len(self.matches) > matches:
            self.runs = []
        waiting = [run for run in self.runs if run.state is not None]
        kept: dict[object, tuple[AutomatonRun, int, set[_Origin]]] = {}
        numbers: dict[int, int] = {}
        for run in sorted(waiting, key=lambda run: (id(run) in self.origins, _rank(run))):
            origin, alike = self.origins.get(id(run)), self.identity(run)
            if alike not in kept:
                kept[alike] = run, self.number(run, origin), set()
            elif origin is not None and origin not in kept[alike][2]:
                self.tell(run, kept[alike][0], instant)
            numbers[id(run)] = kept[alike][1]
            if origin is not None:
                kept[alike][2].add(origin)
        self.numbers = numbers

    def number(self, run: AutomatonRun, origin: _Origin | None) -> int:
        """That of what the run is kept as, or a new one."""
        if origin is None:
            return self.numbers[id(run)]
        self.last_number += 1
        return self.last_number

    def identity(self, run: AutomatonRun) -> object:
        """What runs must agree on to be alike."""
        assert run.state is not None
        return run.state, frozenset((r, hashable(run.registers[r])) for r in self.automaton.live[run.state])

    def tell(self, run: AutomatonRun, other: AutomatonRun, instant: Sequence[Event]) -> None:
        """A run is like another one."""
        assert run.state is not None
        at = next((event for event in instant if event.position == run.bound[-1][1]), instant[0])
        live = sorted(self.automaton.live[run.state], key=lambda register: register.name)
        values = [
            f"{held_register.name} = {write_value(run.registers[held_register], held_register.type)}"
            for held_register in live
            if held_register not in self.times
        ]
        held = ", ".join([*values, *["the same times"] * any(held_register in self.times for held_register in live)])
        self.found.append(RunMerge(at, run.bound, other.bound, self.automaton.states[run.state].waits_for, held))

    def holds(self, fence: Iterable[Test], event: Event, run: AutomatonRun | None) -> bool:
        """Whether tests are TRUE: those of one event as they were written, since kernels have masks of them."""
        return all(
            self.mask(test, event) if test.unary else self.value(test.condition, event, run) is True for test in fence
        )

    def mask(self, test: Test, event: Event) -> bool:
        """Whether a condition on one event is TRUE."""
        if id(test.original) not in self.masks:
            self.masks[id(test.original)] = self.compiler.condition(test.original)
        return self.masks[id(test.original)](Bindings({test.variable: (event,)}, {test.variable: event}))

    # Where runs come from.

    def enter(self, arc: Arc, event: Event, run: AutomatonRun) -> Iterator[AutomatonRun]:
        """A run binds an event."""
        for new in super().enter(arc, event, run):
            self.keep_origin(new, run, id(arc), event)
            yield new

    def after_kills(self, run: AutomatonRun, event: Event) -> AutomatonRun | None:
        """A run may lose ways to go on."""
        left = super().after_kills(run, event)
        if left is not None and left is not run:
            self.keep_origin(left, run, id(Kill), event)
        return left

    def keep_origin(self, new: AutomatonRun, run: AutomatonRun, by: int, event: Event) -> None:
        """Remember what a run was made of."""
        known = self.origins.get(id(run))
        self.made += [run, new]
        self.origins[id(new)] = _Origin(self.numbers.get(id(run)) if known is None else known.kept, by, event.position)


def _times(automaton: RegisterAutomaton) -> set[Register]:
    """The registers that hold when something was, as windows count it."""
    closed = {kill.closes for kill in automaton.kills if kill.closes is not None}
    assigned = [(register, value) for arc in automaton.arcs for register, value in arc.transfer.items()]
    return closed | {register for register, value in assigned if isinstance(value, Time | Ended | Witnessed)}


def _rank(run: AutomatonRun) -> tuple[object, ...]:
    """Order runs by their last event, then by all of them."""
    positions = tuple(position for _, position in run.bound)
    return positions[-1], positions, run.bound
