"""Automata of the user's own, by their definition (S18): every run apart, one instant after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa

from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.front.automata.registers import EVENT, FIRST, LAST
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.nodes import Fires, Ties
from cepheid.reference.partition import substreams
from cepheid.reference.watching_arcs import UNWATCHED, ArcWatcher
from cepheid.values.bindings import Bindings, Evaluator
from cepheid.values.evaluate import Compiler
from cepheid.values.fields import as_field
from cepheid.values.keys import group_key, sort_key
from cepheid.values.match import Match
from cepheid.values.rows import Event, read_events
from cepheid.values.value import Value

Register = tuple[Value, ...]
"""The values of the fields, in the order of their declaration."""
Instant = Sequence[Event]
"""Events that are consumed together: one, or under TIES SIMULTANEOUS all of a time."""


@dataclass(frozen=True, slots=True)
class OwnAutomatonRun:
    """A state, a register, and the event that the run began with, which was the how-manieth of its partition."""

    state: str
    register: Register
    first: Event
    number: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """A match: (first, last, register)."""

    first: Event
    last: Event
    register: Register


class ArcStep:
    """An arc as functions of an event and a register."""

    def __init__(self, query: Runnable, arc: BoundArc) -> None:
        automaton = automaton_in(query)
        compiler, assigning = Compiler(query), Compiler(query, output=True)  # a missing attribute is assigned as NULL
        self.arc = arc
        self.tick = query.schema.tick
        self.slots = [slot.name for slot in automaton.slots]
        self.typed = query.schema.roles.type is not None and bool(arc.types)
        self.fence = compiler.condition(arc.condition) if arc.condition is not None else lambda _: True
        types = {slot.name: slot.type for slot in automaton.slots}
        self.transfer = {
            name: _transfer(assigning, value, types[name] if query.functions else None)
            for name, value in arc.assigns.items()
        }

    def fire(self, register: Register, events: Instant, moment: int) -> Register | None:
        """The new register, if the fence is TRUE: transfers read the old values, and assign at once.

        moment: the time, in nanoseconds, that the lifetime of the arc must hold (S17).
        """
        if self.arc.changes and not self.arc.is_alive(moment // self.tick):
            return None
        if self.typed and not all(event.type in self.arc.types for event in events):
            return None
        bindings = self.bindings(register, events)
        if not self.fence(bindings):
            return None
        values = dict(bindings.register) | {name: value(bindings) for name, value in self.transfer.items()}
        return tuple(values[name] for name in self.slots)

    def bindings(self, register: Register, events: Instant) -> Bindings:
        """What the fence and the transfers read."""
        at_hand = {EVENT: events[0]} if len(events) == 1 else {}
        return Bindings({EVENT: tuple(events)}, at_hand, dict(zip(self.slots, register, strict=True)))


def _transfer(compiler: Compiler, value: ex.Expression, type_: Type | None) -> Evaluator:
    """What is assigned; of the type of its field, which a user function need not keep to."""
    evaluate = compiler.compile(value)
    return evaluate if type_ is None else lambda bindings: as_field(evaluate(bindings), type_, value)


class OwnAutomaton:
    """An automaton that can be stepped through."""

    def __init__(self, query: Runnable, watcher: ArcWatcher = UNWATCHED) -> None:
        automaton = automaton_in(query)
        self.query = query
        self.watcher = watcher
        self.finals = automaton.finals
        self.start = automaton.start
        self.initial: Register = tuple(slot.initial.value for slot in automaton.slots)
        self.steps = [ArcStep(query, arc) for arc in automaton.arcs]

    def closed(
        self, state: str, register: Register, moment: int, by: tuple[BoundArc, ...] = ()
    ) -> Iterator[tuple[str, Register, tuple[BoundArc, ...]]]:
        """A state and a register, and all that ε-arcs lead to from there, with the arcs.

        moment: the time of the event that was consumed before or, before the first one, is about to be (S17).
        """
        yield state, register, by
        for step in self.leaving(state, Fires.NOTHING):
            new = self.fire(step, None, register, (), moment)
            if new is not None:
                yield from self.closed(step.arc.target, new, moment, (*by, step.arc))

    def fire(
        self, step: ArcStep, run: OwnAutomatonRun | None, register: Register, events: Instant, moment: int
    ) -> Register | None:
        """The new register if an arc fires."""
        if self.watcher is not UNWATCHED:
            self.watcher.tried(run, step.arc, step.bindings(register, events), events)
        return step.fire(register, events, moment)

    def leaving(self, state: str, fires: Fires) -> Iterator[ArcStep]:
        """The arcs out of a state that are taken on something."""
        return (step for step in self.steps if step.arc.source == state and step.arc.fires is fires)

    def consume(self, runs: Iterable[OwnAutomatonRun], instant: Instant, number: int) -> list[OwnAutomatonRun]:
        """Every run goes on by all arcs that fire, and every instant begins one. Equal ones are one.

        number: the how-manieth event of the partition is the first one of the instant.
        """
        moment = instant[0].time
        starts = self.closed(self.start, self.initial, moment)
        begun = [OwnAutomatonRun(state, register, instant[0], number) for state, register, _ in starts]
        begun = [run for run in begun if self.inside(run, instant, number)]  # an instant may be too large for a window
        runs_after: dict[object, OwnAutomatonRun] = {}
        for run in (*runs, *begun):
            fired = False
            for arc, register, events in self.taken(run, instant):
                fired = True
                for state, held, by in self.closed(arc.target, register, moment):
                    new = replace(run, state=state, register=held)
                    kept = runs_after.setdefault(identity(new), new)
                    self.watcher.went(run, (arc, *by), new, kept, events)
            if not fired:
                self.watcher.stuck(run, instant)
        return list(runs_after.values())

    def taken(self, run: OwnAutomatonRun, instant: Instant) -> Iterator[tuple[BoundArc, Register, Instant]]:
        """The arcs that fire, the new registers, on what: ON ALL on the whole instant, others on each of its events."""
        for step in self.leaving(run.state, Fires.EVENT):
            for event in instant:
                new = self.fire(step, run, run.register, (event,), event.time)
                if new is not None:
                    yield step.arc, new, (event,)
        for step in self.leaving(run.state, Fires.INSTANT):
            new = self.fire(step, run, run.register, instant, instant[0].time)
            if new is not None:
                yield step.arc, new, instant

    def inside(self, run: OwnAutomatonRun, instant: Instant, number: int) -> bool:
        """S8, at every event consumed."""
        within = self.query.within
        if within is None:
            return True
        if within.nanoseconds is not None:
            return instant[0].time - run.first.time < within.nanoseconds
        assert within.events is not None
        return number + len(instant) - 1 - run.number < within.events

    def is_over(self, run: OwnAutomatonRun, seen: int, horizon: int | None) -> bool:
        """Whether no event to come is in the window of a run. seen: the events of its partition so far; None: all."""
        within = self.query.within
        if within is None or horizon is None:
            return horizon is None
        if within.nanoseconds is not None:
            return run.first.time + within.nanoseconds <= horizon
        assert within.events is not None
        return seen - run.number >= within.events

    def accepted(self, runs: Iterable[OwnAutomatonRun], last: Event) -> list[Accepted]:
        """The matches of runs that have just entered a final state; equal ones are one."""
        unique: dict[object, Accepted] = {}
        for run in runs:
            if run.state in self.finals:
                match = Accepted(run.first, last, run.register)
                kept = unique.setdefault(match_identity(match), match)
                self.watcher.accepted(run, (), match, kept is not match)
        return list(unique.values())

    def at_end(self, runs: Sequence[OwnAutomatonRun], last: Event) -> list[Accepted]:
        """What AT END arcs accept of runs whose window is over, but for what was accepted before."""
        known = {match_identity(Accepted(run.first, last, run.register)) for run in runs if run.state in self.finals}
        matches: dict[object, Accepted] = {}
        for run in runs:
            for step in self.leaving(run.state, Fires.END):
                new = self.fire(step, run, run.register, (), last.time)
                if new is None:
                    continue
                for state, register, by in self.closed(step.arc.target, new, last.time):
                    match = Accepted(run.first, last, register)
                    if state in self.finals:
                        name = match_identity(match)
                        self.watcher.accepted(run, (step.arc, *by), match, name in known or name in matches)
                        if name not in known:
                            matches.setdefault(name, match)
        return list(matches.values())


class PartitionRuns:
    """The runs of one partition."""

    def __init__(self, automaton: OwnAutomaton) -> None:
        self.automaton = automaton
        self.runs: list[OwnAutomatonRun] = []
        self.seen = 0
        self.last: Event | None = None

    def consume(self, instant: Instant) -> list[Accepted]:
        """The next instant; the matches that end with it, and those of windows that end before it."""
        automaton, number = self.automaton, self.seen
        over = [run for run in self.runs if not automaton.inside(run, instant, number)]
        matches = automaton.at_end(over, self.last) if over and self.last is not None else []
        going = [run for run in self.runs if automaton.inside(run, instant, number)]
        for run in over:
            automaton.watcher.left(run, instant)
        if self.last is not None and automaton.query.schema.start is not None and instant[0].start <= self.last.time:
            for run in going:
                automaton.watcher.left(run, instant, overlaps=True)
            going = []  # S13: what comes next must start after the end of what precedes it
        self.runs, self.last = automaton.consume(going, instant, number), instant[-1]
        self.seen += len(instant)
        return [*matches, *automaton.accepted(self.runs, instant[-1])]

    def end(self, horizon: int | None) -> list[Accepted]:
        """The matches of runs whose window is over by a time (None: there is nothing more); these runs are over."""
        if self.last is None:
            return []
        over = [run for run in self.runs if self.automaton.is_over(run, self.seen, horizon)]
        matches = self.automaton.at_end(over, self.last)
        for run in over:
            self.automaton.watcher.left(run, None)
        self.runs = [run for run in self.runs if not self.automaton.is_over(run, self.seen, horizon)]
        return matches


def identity(run: OwnAutomatonRun) -> object:
    """Runs with equal state, register and first event are one."""
    return run.state, tuple(map(group_key, run.register)), run.first.position


def match_identity(match: Accepted) -> object:
    """Equal matches are one; NaN equals NaN."""
    return match.first.position, match.last.position, tuple(map(group_key, match.register))


def instants(query: Runnable, events: Sequence[Event]) -> Iterator[Instant]:
    """Events one by one, or all of a time together."""
    if query.ties is Ties.ORDERED:
        return ((event,) for event in events)
    return (tuple(group) for _, group in groupby(events, key=lambda event: event.time))


def interpret_automaton(query: Runnable, table: pa.Table, horizon: int | None = None) -> list[Match]:
    """All matches of an automaton in a table.

    horizon: the time in nanoseconds until when it is known that nothing comes; None: the end of the table.
    """
    automaton = OwnAutomaton(query)
    matches: list[Accepted] = []
    for substream in substreams(query, read_events(table, query.schema)):
        partition = PartitionRuns(automaton)
        for instant in instants(query, substream.events):
            matches += partition.consume(instant)
        matches += partition.end(horizon)
    return given(query, matches)


def given(query: Runnable, matches: Sequence[Accepted]) -> list[Match]:
    """Matches in the order of S9, those that HAVING lets pass, with the columns of RETURN."""
    compiler = Compiler(query, output=True)
    columns = [compiler.result(result.expression) for result in query.returns]
    return [
        Match(
            selected=(match.first.row, match.last.row),
            variables=(FIRST, LAST),
            rows={FIRST: (match.first.row,), LAST: (match.last.row,)},
            values=tuple(column(match_bindings(query, match)) for column in columns),
        )
        for match in passing(query, matches)
    ]


def passing(query: Runnable, matches: Sequence[Accepted]) -> list[Accepted]:
    """Those that HAVING lets pass, in the order of S9."""
    ordered = sorted(matches, key=lambda match: _rank(query, match))
    if query.having is None:
        return ordered
    holds = Compiler(query).condition(query.having)
    return [match for match in ordered if holds(match_bindings(query, match))]


def match_bindings(query: Runnable, match: Accepted) -> Bindings:
    """What HAVING and RETURN read."""
    names = (slot.name for slot in automaton_in(query).slots)
    ends = {FIRST: match.first, LAST: match.last}
    every = {name: (event,) for name, event in ends.items()}
    return Bindings(every, ends, dict(zip(names, match.register, strict=True)))


def _rank(query: Runnable, match: Accepted) -> tuple[object, ...]:
    ends: tuple[object, ...] = (match.last.position, match.first.position)
    if query.ties is Ties.SIMULTANEOUS:
        ends = (match.last.time, match.first.time, *ends)
    return (*ends, tuple(map(sort_key, match.register)))
