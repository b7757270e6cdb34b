"""An automaton by its definition: every run apart, one event after the other. An oracle for what builds automata.

It reads nothing of the query but how events are split and what the window is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import Any

from cepheid.automaton.model import (
    Arc,
    Ended,
    Ends,
    Exit,
    Fixed,
    Held,
    Kill,
    Now,
    Ratio,
    Register,
    RegisterAutomaton,
    Root,
    Started,
    Test,
    Time,
    Witnessed,
)
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import ANY
from cepheid.reference.partition import Substream
from cepheid.values.bindings import NOTHING
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event
from cepheid.values.value import Value

Binding = tuple[str, int]
"""A variable and the position of an event."""


@dataclass(frozen=True)
class AutomatonRun:
    """Where a run is, what it holds and what it has bound. `state` is None for a match that waits for an absence."""

    state: int | None
    registers: Mapping[Register, Value]
    bound: tuple[Binding, ...]
    first: Event
    exit: Exit | None = None
    last: Event | None = None  # of a match that waits


@dataclass
class AutomatonRunner:
    """An automaton on the events of one partition."""

    automaton: RegisterAutomaton
    query: Runnable
    partition: Substream
    runs: list[AutomatonRun] = field(default_factory=list)
    matches: set[tuple[Binding, ...]] = field(default_factory=set)
    seen: dict[int, Value] = field(default_factory=dict)  # of each witness: when the last one came
    moments: dict[int, list[int]] = field(default_factory=dict)  # of each that is absent for a while: when all came

    def run(self) -> set[tuple[Binding, ...]]:
        """All matches, each as what it binds, in the order of the stream."""
        apart: Callable[[Event], int] = lambda event: event.position  # noqa: E731
        together: Callable[[Event], int] = lambda event: event.time  # noqa: E731
        for _, instant in groupby(self.partition.events, key=together if self.automaton.simultaneous else apart):
            self.step(tuple(instant))
        self.matches |= {run.bound for run in self.runs if run.exit is not None}  # the input has ended: so it is absent
        return self.matches

    def step(self, instant: Sequence[Event]) -> None:
        """Every run meets an event, or all of an instant; then runs begin; what is made here does not see that."""
        new: list[AutomatonRun] = []
        left = [self.meet(run, instant, new) for run in self.runs]
        for event in instant:
            for arc in self.automaton.arcs:
                begins = arc.source is None and self.passes(arc.types, arc.fence, event, None)
                if begins and all(self.is_unseen(negation, event) for negation in arc.unseen):
                    new += self.enter(arc, event, AutomatonRun(None, {}, (), event))
        self.runs = [*(run for run in left if run is not None), *new]
        for event in instant:
            for witness in self.automaton.witnesses:
                if self.passes(witness.types, witness.fence, event, None):
                    self.seen[witness.negation] = self.time(event)
                    self.moments.setdefault(witness.negation, []).append(event.time)

    def meet(self, run: AutomatonRun, instant: Sequence[Event], new: list[AutomatonRun]) -> AutomatonRun | None:
        """Where every event of an instant takes a run; and the run itself, if none of them ends its wait."""
        left: AutomatonRun | None = run
        for event in instant:
            if not self.is_open(run, event):
                self.matches |= {run.bound} if run.exit is not None else set()
                return None
            if run.exit is not None:
                if any(self.passes(a.types, a.fence, event, run) for a in run.exit.absent):
                    return None
                continue
            passed = [
                arc
                for arc in self.automaton.arcs
                if arc.source == run.state and self.passes(arc.types, arc.fence, event, run)
            ]
            for arc in passed:
                if all(event.start <= run.registers[register] for register in arc.closing):
                    new += self.enter(arc, event, run)
            left = None if left is None or self.ends(run, passed) else self.after_kills(left, event)
        return left

    def ends(self, run: AutomatonRun, passed: Sequence[Arc]) -> bool:
        """Whether an event that passes some arcs ends the wait of a run."""
        assert run.state is not None
        ends = self.automaton.states[run.state].ends
        return ends.contiguous or (ends is Ends.DECISION and any(arc.decides for arc in passed))

    def after_kills(self, run: AutomatonRun, event: Event) -> AutomatonRun | None:
        """A run that an event closes ways of: in the state that has the others, or gone."""
        kills: list[Kill] = [kill for kill in self.automaton.kills if kill.source == run.state]
        for kill in kills:
            if kill.closes is not None:
                if self.passes(kill.types, kill.fence, event, run):
                    first = min(run.registers[kill.closes], event.time)
                    run = replace(run, registers={**run.registers, kill.closes: first})
            elif self.passes(kill.types, kill.fence, event, run):
                return None if kill.target is None else self.after_kills(replace(run, state=kill.target), event)
        return run

    def enter(self, arc: Arc, event: Event, run: AutomatonRun) -> Iterator[AutomatonRun]:
        """Bind the event: new registers, then matches, then the states of the config."""
        changed = {register: self.value(node, event, run) for register, node in arc.transfer.items()}
        after = replace(run, registers={**run.registers, **changed}, bound=(*run.bound, (arc.label, event.position)))
        for exit_ in self.automaton.exits:
            if exit_.config == arc.target and self.holds(exit_.fence, event, after):
                if any(not self.is_over(after.registers[register], event) for register in exit_.witnesses):
                    continue
                if exit_.absent:
                    yield replace(after, state=None, exit=exit_, last=event)
                else:
                    self.matches.add(after.bound)
        yield from (replace(after, state=state) for state in self.automaton.entries[arc.target])

    # Windows.

    def time(self, event: Event) -> int:
        """As windows count it: time, or events of the partition."""
        return event.time if self.query.timed else self.partition.index[event.position]

    def inside(self, first: Event, event: Event) -> bool:
        """Whether an event is in one window with the first one (S8)."""
        within = self.query.within
        size = None if within is None else within.nanoseconds if within.events is None else within.events
        return size is None or self.time(event) - self.time(first) < size

    def is_open(self, run: AutomatonRun, event: Event) -> bool:
        """Whether an event can extend a run or, where it is a match, refute it."""
        if run.exit is None or not run.exit.lasting:
            return self.inside(run.first, event)
        assert run.last is not None
        period = max(self.query.periods[negation] or 0 for negation in self.query.trailing)
        return event.time - run.last.time < period

    def is_unseen(self, negation: int, event: Event) -> bool:
        """Whether a witness was absent for its while before an event (S26)."""
        period = self.query.periods[negation]
        assert period is not None
        return not any(0 < event.time - moment < period for moment in self.moments.get(negation, ()))

    def is_over(self, seen: Value, event: Event) -> bool:
        """Whether what must be absent before the first event was seen too long ago to matter, or never."""
        within = self.query.within
        assert within is not None
        size = within.nanoseconds if within.events is None else within.events
        return seen is None or self.time(event) - seen >= size

    # Values.

    def passes(self, types: Sequence[str], fence: Iterable[Test], event: Event, run: AutomatonRun | None) -> bool:
        """Whether an event is of some types and passes a fence."""
        typed = self.query.schema.roles.type is None or not types or event.type in types
        return typed and self.holds(fence, event, run)

    def holds(self, fence: Iterable[Test], event: Event, run: AutomatonRun | None) -> bool:
        """Whether all tests of a fence are TRUE on an event and the registers of a run."""
        return all(self.value(test.condition, event, run) is True for test in fence)

    def value(self, node: ex.Expression, event: Event, run: AutomatonRun | None) -> Value:
        """The value of an expression on an event and the registers of a run."""
        match node:
            case Now(column=column):
                return event.values[column]
            case Held(register=register):
                assert run is not None
                return run.registers[register]
            case Fixed(value=value) | ex.Literal(value=value):
                return value
            case Time():
                return self.time(event)
            case Started():
                return event.start
            case Ended():
                return event.time
            case Witnessed(negation=negation):
                return self.seen.get(negation)
            case Ratio(left=left, right=right):
                sides = self.value(left, event, run), self.value(right, event, run)
                return None if None in sides else sides[0] / sides[1]
            case Root(operand=operand):
                inside = self.value(operand, event, run)
                return None if inside is None else math.sqrt(inside)
            case ex.CaseWhen(subject=None, arms=arms, otherwise=otherwise):
                for arm in arms:
                    if self.value(arm.condition, event, run) is True:
                        return self.value(arm.result, event, run)
                return None if otherwise is None else self.value(otherwise, event, run)

        def settled(part: Any) -> Any:
            if isinstance(part, tuple):
                return tuple(map(settled, part))
            return ex.Literal(self.value(part, event, run), ANY) if isinstance(part, ex.Expression) else part

        constant = replace(node, **{f.name: settled(getattr(node, f.name)) for f in fields(node) if f.name != "span"})
        return Compiler(self.query).compile(constant)(NOTHING)
