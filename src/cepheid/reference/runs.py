"""Runs over the events of a partition: S2, S4 to S8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from cepheid.pattern.bind import Bound
from cepheid.pattern.expressions import Nth
from cepheid.pattern.layout import Loop, Mark, Move, Place, Step
from cepheid.pattern.placement import When
from cepheid.pattern.subsets import too_many_runs
from cepheid.pattern.tree import Strategy, Ties
from cepheid.reference.partition import UNSET, Agreement, Key, Substream
from cepheid.values.bindings import NOTHING, Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event

MAX_RUNS = 2_000_000
"""An exploding query ends with an error before it takes all the memory."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Where a negated event must be absent: after so many selected events. `now`: what its round had bound."""

    negation: int
    after: int
    now: Mapping[str, Event] | None = None  # None until the round is over


@dataclass(frozen=True, slots=True)
class Run:
    """A run: where it is, what it has selected, in order and by variable, and what must be absent between."""

    place: int
    selected: tuple[Event, ...]
    bindings: Bindings
    times: Mapping[int, int]  # how often each loop was gone through
    gaps: tuple[Gap, ...]
    key: Key
    path: tuple[Move, ...] = ()  # how it came here


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run waits for. After a Kleene event: to *take* one more, or to *proceed* (S7); else to *begin*."""

    take: Move | None
    others: tuple[Move, ...]
    in_loop: bool


class Runner:
    """All runs of a query over one substream."""

    def __init__(self, query: Bound, substream: Substream) -> None:
        self.query = query
        self.stream = substream
        self.agreement = Agreement(query)
        self.tests = Conditions(query)
        self.waits = [tuple(_waits(moves)) for moves in query.layout.moves]

    def complete(self) -> Iterator[Run]:
        """Every run that reaches the end. Depth first: the order of the output is S9's affair."""
        stack = list(self.begin())
        seen = 0
        while stack:
            run = stack.pop()
            seen += 1
            if seen > MAX_RUNS:
                found = f"more than {MAX_RUNS:,} runs in one partition"
                raise too_many_runs(self.query.pattern, self.query.strategies, found)
            for move in self.query.layout.moves[run.place]:
                passed = self.pass_marks(run, move.marks) if move.target is None else None
                if passed is not None and self.inside(passed, passed.selected[-1], final=True):
                    yield passed
            for wait in self.waits_of(run):
                stack.extend(self.extend(run, wait))

    def waits_of(self, run: Run) -> Iterator[Wait]:
        """What a run waits for. A loop that has had all its rounds takes no more: what follows is begun, as usual."""
        for wait in self.waits[run.place]:
            again = next((m.number for m in wait.take.marks if m.step is Step.AGAIN), None) if wait.take else None
            if again is not None and run.times[again] == self.query.layout.loops[again].high:
                yield from (Wait(None, (move,), in_loop=False) for move in wait.others)
            else:
                yield wait

    def begin(self) -> Iterator[Run]:
        """S4: every event that satisfies the first component begins a run; no strategy applies before it."""
        if not self.tests.constants_hold():
            return
        blank = Run(-1, (), NOTHING, {}, (), self.agreement.unset)
        for move in self.query.layout.starts:
            passed = self.pass_marks(blank, move.marks)
            for event in self.visible([move]).events if passed is not None else ():
                if (run := self.bind(passed, move, event)) is not None:
                    yield run

    def extend(self, run: Run, wait: Wait) -> Iterator[Run]:
        """S6, S7: for the run and each next event, all that hold happen, until the event may not be ignored."""
        may_take, may_move = True, list(wait.others)
        moves = [*([wait.take] if wait.take else []), *wait.others]
        passed = {move: self.pass_marks(run, move.marks) for move in moves}
        for instant in self.instants(run, moves):
            if not self.inside(run, instant[0]):
                return
            relevant = []
            for event in instant:
                taken = self.bind(passed[wait.take], wait.take, event) if wait.take else None
                moved = [(move, self.bind(passed[move], move, event)) for move in wait.others]
                if taken is not None and may_take:
                    yield taken
                yield from (new for move, new in moved if new is not None and move in may_move)
                # The condition of the run's state: take in a loop, begin elsewhere.
                relevant.append(taken is not None if wait.in_loop else moved[0][1] is not None)
            may_take = may_take and wait.take is not None and self.may_ignore(run, wait.take, instant, relevant)
            may_move = [move for move in may_move if self.may_ignore(run, move, instant, relevant)]
            if not may_take and not may_move:
                return

    def may_ignore(self, run: Run, move: Move, instant: Sequence[Event], relevant: Sequence[bool]) -> bool:
        """S6, by the strategy of the component that is waited for; S2: all events of the instant must allow it."""
        strategy = self.strategy(move)
        if strategy is Strategy.STRICT:
            return False
        if strategy is Strategy.PARTITION:
            return all(self.agreement.join(run.key, event) is None for event in instant)
        return strategy is Strategy.ANY or not any(relevant)

    def strategy(self, move: Move) -> Strategy:
        return self.query.strategies[self.target(move).variable]

    def target(self, move: Move) -> Place:
        assert move.target is not None  # moves to the end bind nothing
        return self.query.layout.places[move.target]

    def visible(self, moves: Sequence[Move]) -> Substream:
        """Events of other types satisfy nothing, so that the skip strategies never see them."""
        contiguous = any(self.strategy(move) in (Strategy.STRICT, Strategy.PARTITION) for move in moves)
        if contiguous or self.query.schema.roles.type is None:
            return self.stream
        types = [self.target(move).event.types for move in moves]
        return self.stream.of_types(frozenset(name for names in types for name in names)) if all(types) else self.stream

    def instants(self, run: Run, moves: Sequence[Move]) -> Iterator[Sequence[Event]]:
        """The events after the run's last one: each alone, or all of a time together (S2)."""
        visible, last = self.visible(moves), run.selected[-1]
        events = visible.events
        rest = (events[k] for k in range(visible.after(last.position), len(events)))
        if self.query.ties is Ties.ORDERED:
            return ((event,) for event in rest)
        later = (event for event in rest if event.time > last.time)
        return (tuple(group) for _, group in groupby(later, key=lambda event: event.time))

    def inside(self, run: Run, event: Event, *, final: bool = False) -> bool:
        """S8: whether an event is still in the window of the run's first one."""
        within = self.query.within
        if within is None:
            return True
        first = run.selected[0]
        if within.nanoseconds is not None:
            return event.time - first.time < within.nanoseconds
        assert within.events is not None
        if UNSET in run.key and not final:
            return True  # the run's partition, in which events are counted, is not known yet
        return self.distance(run.key, first, event) < within.events

    def distance(self, key: Key, first: Event, last: Event) -> int:
        """How many positions after the first: in the run's partition, in the whole input if all is strict (S8)."""
        if self.stream.one_key or set(self.query.strategies.values()) == {Strategy.STRICT}:
            return self.stream.index[last.position] - self.stream.index[first.position]
        between = self.stream.events[self.stream.after(first.position) : self.stream.after(last.position)]
        return sum(self.agreement.join(key, event) is not None for event in between)

    def bind(self, run: Run | None, move: Move, event: Event, *, again: bool = False) -> Run | None:
        """A run that has passed the marks, with an event bound at the target, if all conditions are TRUE (S5).

        again: it was bound before, so that the conditions were TRUE, maybe with other constants, and it is in the
            window; the events that are counted for that may be gone.
        """
        assert move.target is not None
        spot = self.target(move)
        if run is None:
            return None
        types = spot.event.types
        if self.query.schema.roles.type is not None and types and event.type not in types:
            return None
        if run.selected and self.query.schema.start is not None and event.start <= run.selected[-1].time:
            return None  # S13: a later component starts after the previous one's end
        key = self.agreement.join(run.key, event)
        if key is None:
            return None
        bound = (*run.bindings.all.get(spot.variable, ()), event)
        bindings = Bindings({**run.bindings.all, spot.variable: bound}, {**run.bindings.now, spot.variable: event})
        if not again and not self.tests.at_place(move.target, len(bound), bindings):
            return None
        new = Run(move.target, (*run.selected, event), bindings, run.times, run.gaps, key, (*run.path, move))
        return new if again or self.inside(new, event) else None

    def pass_marks(self, run: Run, marks: Sequence[Mark], *, again: bool = False) -> Run | None:
        """Go through what lies before a move's target; None where a repetition can't go on or be left.

        again: the run went through before.
        """
        for mark in marks:
            if mark.step is Step.ABSENT:
                run = replace(run, gaps=(*run.gaps, Gap(mark.number, len(run.selected))))
                continue
            loop, count = self.query.layout.loops[mark.number], run.times.get(mark.number, 0)
            if mark.step is Step.AGAIN and count == loop.high:
                return None
            if mark.step is Step.EXIT and count < loop.low:
                return None
            if mark.step in (Step.EXIT, Step.AGAIN):
                run = replace(run, gaps=tuple(self.close(gap, mark.number, run) for gap in run.gaps))
            if mark.step in (Step.ENTER, Step.AGAIN):
                run = self.next_round(run, mark.number)
            else:
                run = self.reach(run, loop)
                if not again and not self.tests.at_exit(mark.number, run.bindings):
                    return None
        return run

    def next_round(self, run: Run, number: int) -> Run:
        """Begin a round of a loop: what the last round bound is no longer current."""
        loop = self.query.layout.loops[number]
        times = {**run.times, number: run.times.get(number, 0) + 1}
        times.update({inner: 0 for inner, other in enumerate(self.query.layout.loops) if number in other.outer})
        now = {v: event for v, event in run.bindings.now.items() if v not in loop.variables}
        return self.reach(replace(run, times=times, bindings=Bindings(run.bindings.all, now)), loop)

    def reach(self, run: Run, loop: Loop) -> Run:
        """The arrays of a repetition that is entered or passed are empty, no longer unbound."""
        empty = {variable: () for variable in loop.variables if variable not in run.bindings.all}
        return replace(run, bindings=Bindings({**run.bindings.all, **empty}, run.bindings.now)) if empty else run

    def close(self, gap: Gap, number: int, run: Run) -> Gap:
        """At the end of a round it is known what an absence in it is compared with."""
        if gap.now is None and self.query.layout.negations[gap.negation].loops[-1:] == (number,):
            return replace(gap, now=run.bindings.now)
        return gap


def _waits(moves: Sequence[Move]) -> Iterator[Wait]:
    """After a Kleene event, one wait for take and all ways to proceed; else one for each way to go on.

    Alternatives are a union, so each has a wait, and an ignore rule, of its own.
    """
    ahead = [move for move in moves if move.target is not None]
    takes = [move for move in ahead if move.repeats]
    leaves = tuple(move for move in ahead if move.leaves)
    for take in takes:
        yield Wait(take, leaves, in_loop=True)
    for move in ahead:
        if not move.repeats and not move.leaves:
            yield Wait(None, (move,), in_loop=False)


class Conditions:
    """The conjuncts of WHERE, compiled, where they sit (S5)."""

    def __init__(self, query: Bound) -> None:
        compiler = Compiler(query)
        placement = query.placement
        self.constant = [compiler.condition(c) for c in placement.constant]
        self._at_place = {
            number: [(when, compiler.conjunct(c)) for when, c in found] for number, found in placement.at_place.items()
        }
        self._at_exit = {number: [compiler.conjunct(c) for c in found] for number, found in placement.at_exit.items()}

    def constants_hold(self) -> bool:
        """Conditions without a variable hold for all events or for none."""
        return all(test(NOTHING) for test in self.constant)

    def at_place(self, place: int, count: int, bindings: Bindings) -> bool:
        """Begin and take: `count` is the index of the event that is being bound."""
        return all(
            test(bindings)
            for when, test in self._at_place.get(place, ())
            if (
                count == when.number
                if isinstance(when, Nth)
                else when is When.ALWAYS or (when is When.FIRST) == (count == 1)
            )
        )

    def at_exit(self, loop: int, bindings: Bindings) -> bool:
        """Proceed."""
        return all(test(bindings) for test in self._at_exit.get(loop, ()))
