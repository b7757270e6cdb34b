"""Runs over the events of a partition: S2, S4 to S8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.placement import TestedAt
from cepheid.pattern.expressions.nodes import Expression, Nth
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.pattern.tree.layout import Loop, Mark, MarkAction, Move, Place
from cepheid.pattern.tree.nodes import Strategy, Ties
from cepheid.reference.partition import UNSET, Agreement, Key, Substream
from cepheid.reference.watching import SILENT, Refusal, Watcher, Why
from cepheid.values.bindings import NOTHING, Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event

MAX_RUNS = 2_000_000
"""An exploding query ends with an error before it takes all the memory."""

OF_ANOTHER_TYPE, OF_ANOTHER_KEY = Refusal(Why.TYPE), Refusal(Why.KEY)
OVERLAPPING, OUTSIDE = Refusal(Why.OVERLAP), Refusal(Why.WINDOW)
HAS_ALL_ROUNDS, NEEDS_ROUNDS = Refusal(Why.TOO_MANY), Refusal(Why.TOO_FEW)


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

    @property
    def moves(self) -> tuple[Move, ...]:
        """All ways to go on."""
        return (*((self.take,) if self.take is not None else ()), *self.others)


@dataclass(slots=True)
class Waiting:
    """A run and what it waits for; what it may no longer do is struck out as events pass (S6)."""

    run: Run
    wait: Wait
    passed: dict[Move, Run | Refusal]
    may_take: bool
    may_move: tuple[Move, ...]

    @property
    def moves(self) -> tuple[Move, ...]:
        """What it may still do."""
        return (*((self.wait.take,) if self.may_take and self.wait.take is not None else ()), *self.may_move)


class Runner:
    """All runs of a query over one substream."""

    def __init__(self, query: Runnable, substream: Substream, watcher: Watcher = SILENT) -> None:
        self.query = query
        self.stream = substream
        self.watcher = watcher
        self.agreement = Agreement(query)
        self.tests = Conditions(query)
        self.waits = [tuple(_waits(moves)) for moves in query.layout.moves]

    def complete(self) -> Iterator[Run]:
        """Every run that reaches the end. Depth first: the order of the output is S9's affair."""
        seen = 0
        for first in self.begin():
            stack = [first]
            while stack:
                run = stack.pop()
                seen += 1
                if seen > MAX_RUNS:
                    message = f"more than {MAX_RUNS:,} runs in one partition"
                    raise too_many_runs(self.query.pattern, self.query.strategies, message)
                yield from self.finish(run)
                for waiting in self.waiting(run):
                    stack.extend(self.extend(waiting))

    def finish(self, run: Run) -> Iterator[Run]:
        """A run that may be complete: after each way to the end of the pattern that it can go."""
        for move in self.query.layout.moves[run.place]:
            if move.target is not None:
                continue
            passed = self.pass_marks(run, move.marks)
            if isinstance(passed, Run) and not self.inside(passed, passed.selected[-1], final=True):
                passed = Refusal(Why.WINDOW)
            if isinstance(passed, Refusal):
                self.watcher.refused(run, move, None, passed)
            else:
                self.watcher.left(run, move)
                passed = replace(passed, path=(*passed.path, move))
                self.watcher.completed(passed)
                yield passed

    def waiting(self, run: Run) -> Iterator[Waiting]:
        """A run that waits, for each thing that it waits for; without those that can't come."""
        for wait in self.waits_of(run):
            passed = {move: self.pass_marks(run, move.marks) for move in wait.moves}
            for move, run_or_refusal in passed.items():
                if isinstance(run_or_refusal, Refusal):
                    self.watcher.refused(run, move, None, run_or_refusal)
                else:
                    self.watcher.left(run, move)
            if any(isinstance(run_or_refusal, Run) for run_or_refusal in passed.values()):
                yield Waiting(run, wait, passed, wait.take is not None, wait.others)

    def waits_of(self, run: Run) -> Iterator[Wait]:
        """What a run waits for. A loop that has had all its rounds takes no more: what follows is begun, as usual."""
        for wait in self.waits[run.place]:
            again = next((m.number for m in wait.take.marks if m.step is MarkAction.AGAIN), None) if wait.take else None
            if again is not None and run.times[again] == self.query.layout.loops[again].high:
                yield from (Wait(None, (move,), in_loop=False) for move in wait.others)
            else:
                yield wait

    def begin(self) -> Iterator[Run]:
        """S4: every event that satisfies the first component begins a run; no strategy applies before it."""
        for move, blank in self.starts():
            for event in self.visible([move]).events:
                yield from self.start(blank, move, event)

    def starts(self) -> Iterator[tuple[Move, Run]]:
        """The moves by which runs begin, and what they begin with; none if a condition without variables fails."""
        blank = Run(-1, (), NOTHING, {}, (), self.agreement.unset)
        for move in self.query.layout.starts if self.tests.constants_hold() else ():
            passed = self.pass_marks(blank, move.marks)
            if isinstance(passed, Run):
                yield move, passed

    def start(self, blank: Run, move: Move, event: Event) -> Iterator[Run]:
        """The run that an event begins, if it does."""
        run_or_refusal = self.attempt(blank, move, event)
        if isinstance(run_or_refusal, Refusal):
            self.watcher.refused(blank, move, event, run_or_refusal)
        else:
            self.watcher.bound(blank, move, run_or_refusal)
            yield run_or_refusal

    def extend(self, waiting: Waiting) -> Iterator[Run]:
        """S6, S7: for the run and each next event, all that hold happen, until the event may not be ignored."""
        for instant in self.instants(waiting.run, waiting.wait.moves):
            yield from self.meet(waiting, instant)
            if not waiting.moves:
                return
        self.watcher.ended(waiting)

    def meet(self, waiting: Waiting, instant: Sequence[Event]) -> list[Run]:
        """What a run does with the next event, or all of an instant; then what it may still do is struck out."""
        run, wait, passed, new = waiting.run, waiting.wait, waiting.passed, list[Run]()
        if not self.inside(run, instant[0]):
            self.watcher.left_window(waiting, instant[0])
            waiting.may_take, waiting.may_move = False, ()
            return new
        relevant, allowed = [], waiting.moves
        for event in instant:
            attempts = [(move, before, self.attempt(before, move, event)) for move, before in passed.items()]
            for move, before, run_or_refusal in attempts:
                if isinstance(run_or_refusal, Refusal):
                    if move in allowed and isinstance(before, Run):
                        self.watcher.refused(run, move, event, run_or_refusal)
                elif move in allowed:
                    self.watcher.bound(run, move, run_or_refusal)
                    new.append(run_or_refusal)
            # The condition of the run's state, which comes first: take in a loop, begin elsewhere.
            relevant.append(isinstance(attempts[0][2], Run))
        kept = [move for move in allowed if self.may_ignore(run, move, instant, relevant)]
        for move in allowed:
            if move not in kept and isinstance(passed[move], Run):
                self.watcher.not_ignored(waiting, move, instant)
        waiting.may_take = waiting.may_take and wait.take in kept
        waiting.may_move = tuple(move for move in waiting.may_move if move in kept)
        if waiting.moves:
            self.watcher.ignored(waiting, instant)
        return new

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
        if self.watcher.every_event:
            return self.stream
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

    def attempt(self, run: Run | Refusal, move: Move, event: Event) -> Run | Refusal:
        """A run that has passed the marks, with an event bound at the target; or the first rule against it."""
        if isinstance(run, Refusal):
            return run
        spot = self.target(move)
        types = spot.event.types
        if self.query.schema.roles.type is not None and types and event.type not in types:
            return OF_ANOTHER_TYPE
        if run.selected and self.query.schema.start is not None and event.start <= run.selected[-1].time:
            return OVERLAPPING  # S13: a later component starts after the previous one's end
        new = self.bind(run, move, event)
        if new is None:
            return OF_ANOTHER_KEY
        failed = self.tests.at_place(new.place, len(new.bindings.all[spot.variable]), new.bindings)
        if failed is not None:
            return Refusal(Why.CONDITION, failed, new.bindings)
        return new if self.inside(new, event) else OUTSIDE

    def bind(self, run: Run, move: Move, event: Event) -> Run | None:
        """A run with an event bound at the target of a move; None if its key is another one.

        Nothing else is tested: a run that is made again was bound when the conditions maybe had other constants.
        """
        key = self.agreement.join(run.key, event)
        if key is None:
            return None
        assert move.target is not None
        variable = self.target(move).variable
        bound = (*run.bindings.all.get(variable, ()), event)
        bindings = Bindings({**run.bindings.all, variable: bound}, {**run.bindings.now, variable: event})
        return Run(move.target, (*run.selected, event), bindings, run.times, run.gaps, key, (*run.path, move))

    def pass_marks(self, run: Run, marks: Sequence[Mark], *, again: bool = False) -> Run | Refusal:
        """Go through what lies before a move's target, unless a repetition can't go on or be left.

        again: the run went through before.
        """
        for mark in marks:
            if mark.step is MarkAction.ABSENT:
                run = replace(run, gaps=(*run.gaps, Gap(mark.number, len(run.selected))))
                continue
            loop, count = self.query.layout.loops[mark.number], run.times.get(mark.number, 0)
            if mark.step is MarkAction.AGAIN and count == loop.high:
                return HAS_ALL_ROUNDS
            if mark.step is MarkAction.EXIT and count < loop.low:
                return NEEDS_ROUNDS
            if mark.step in (MarkAction.EXIT, MarkAction.AGAIN):
                run = replace(run, gaps=tuple(self.close(gap, mark.number, run) for gap in run.gaps))
            if mark.step in (MarkAction.ENTER, MarkAction.AGAIN):
                run = self.next_round(run, mark.number)
            else:
                run = self.reach(run, loop)
                failed = None if again else self.tests.at_exit(mark.number, run.bindings)
                if failed is not None:
                    return Refusal(Why.CONDITION, failed, run.bindings)
        return run

    def next_round(self, run: Run, number: int) -> Run:
        """Begin a round of a loop: what the last round bound is no longer current."""
        loop = self.query.layout.loops[number]
        times = {**run.times, number: run.times.get(number, 0) + 1}
        times.update({inner: 0 for inner, other in enumerate(self.query.layout.loops) if number in other.outer})
        at_hand = {v: event for v, event in run.bindings.now.items() if v not in loop.variables}
        return self.reach(replace(run, times=times, bindings=Bindings(run.bindings.all, at_hand)), loop)

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

    def __init__(self, query: Runnable) -> None:
        compiler = Compiler(query)
        placement = query.placement
        self.constant = [compiler.condition(c) for c in placement.constant]
        self._at_place = {
            number: [(when, c, compiler.conjunct(c)) for when, c in tests]
            for number, tests in placement.at_place.items()
        }
        self._at_exit = {
            number: [(c, compiler.conjunct(c)) for c in tests] for number, tests in placement.at_exit.items()
        }

    def constants_hold(self) -> bool:
        """Conditions without a variable hold for all events or for none."""
        return all(test(NOTHING) for test in self.constant)

    def at_place(self, place: int, count: int, bindings: Bindings) -> Expression | None:
        """Begin and take: the first conjunct that is not TRUE. `count`: the index of the event that is being bound."""
        for when, condition, test in self._at_place.get(place, ()):
            if is_tested(when, count) and not test(bindings):
                return condition
        return None

    def at_exit(self, loop: int, bindings: Bindings) -> Expression | None:
        """Proceed: the first conjunct that is not TRUE."""
        return next((condition for condition, test in self._at_exit.get(loop, ()) if not test(bindings)), None)


def is_tested(when: TestedAt | Nth, count: int) -> bool:
    """Whether a conjunct is tested on the event of this index of its variable."""
    if isinstance(when, Nth):
        return count == when.number
    return when is TestedAt.ALWAYS or (when is TestedAt.FIRST) == (count == 1)
