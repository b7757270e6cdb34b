"""Counts what runs do: how often each condition was tested, how far runs came, what ended them, the nearest misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappush, heappushpop
from itertools import takewhile

from cepheid.diagnosis.facts import COMPLETE, Miss, Stage, Tested, nearest_of
from cepheid.diagnosis.reasons import Reasons
from cepheid.diagnosis.said_events import describe
from cepheid.diagnosis.written import text_of
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.layout import MarkAction, Move
from cepheid.reference.runs import Run, Runner, Waiting, is_tested
from cepheid.reference.watching import Dropped, Refusal, Watcher, Why
from cepheid.values.bindings import Bindings
from cepheid.values.rows import Event

MISSES = 5
"""How many misses are kept."""
NOT_TRUE = " was not TRUE"
"""Follows a condition that ended a run."""

_TOO_LATE = 200  # runs whose first event after the window is looked at
_CHECKED = 1_000  # steps between two looks at whether to stop
_LOOKED_AT = 16  # events after the window


class OutOfBudget(Exception):  # noqa: N818  a signal, not an error
    """The steps that may be taken are taken."""


class Counting(Watcher):
    """The watcher of a diagnosis of one query."""

    def __init__(self, name: str, query: Runnable) -> None:
        self.name, self.query = name, query
        self.reasons = Reasons(query)
        self.runner: Runner | None = None
        self.steps = 0
        self.most: int | None = None  # steps, for the run that is followed
        self.check: Callable[[], None] | None = None  # raises to stop
        self.last = 0  # the time of the last event of all
        self.tested: Counter[tuple[str, int]] = Counter()  # of a component, a condition
        self.passed: Counter[tuple[str, int]] = Counter()
        self.conditions: dict[int, Expression] = {}
        self.runs: Counter[str] = Counter()
        self.ended_by: dict[str, Counter[str]] = {}
        self.witnesses: Counter[tuple[str, int]] = Counter()
        self.given: Counter[str] = Counter()  # complete runs, by what became of them
        self.longest: dict[str, int] = {}  # of each array: the most events that a run had
        self.heap: list[tuple[tuple[float, ...], int, tuple[Run, Event | None, str]]] = []
        self.closest: dict[str, tuple[float, str]] = {}  # of a condition: how far it was from TRUE, and its values
        self._at_count: dict[tuple[int, int], list[Expression]] = {}
        self._current: Run | None = None
        self._born = False
        self._best: tuple[int, str] = (0, "")
        self._late = self._kept = 0
        loops = query.layout.loops
        self._least = {one: loop.low for loop in loops if loop.low > 1 for one in loop.variables}

    # What runs report.

    def bound(self, before: Run, move: Move, run: Run) -> None:
        """All conditions of the place are TRUE."""
        self._count(before)
        self._born = True
        variable = self._variable(move)
        for condition in self._tests(move, run):
            self._add(variable, condition, passed=True)
        count = len(run.bindings.all[variable])
        if count == 1 or not self.query.components[variable].array:
            self.runs[variable] += 1
        if count > self.longest.get(variable, 0):
            self.longest[variable] = count

    def refused(self, before: Run, move: Move, event: Event | None, refusal: Refusal) -> None:
        """The conditions before the one that failed are TRUE."""
        self._count(before)
        if event is None:
            self._not_left(before, move, refusal)
            return
        variable = self._variable(move)
        passed = 0
        if refusal.why is Why.CONDITION:
            assert refusal.bindings is not None
            assert refusal.condition is not None
            count = len(refusal.bindings.all[variable])
            for condition in self._conditions(move, count):
                holds = condition is not refusal.condition
                self._add(variable, condition, passed=holds)
                if not holds:
                    break
                passed += 1
            self._blame(2 + passed, f"{text_of(refusal.condition)}{NOT_TRUE}")
            self._miss(before, event, passed, refusal)
        elif refusal.why is Why.KEY:
            self._blame(1, f"every {variable} in reach had another key")

    def left(self, run: Run, move: Move) -> None:
        """The conditions on all events of a closure are TRUE."""
        variable = self.query.layout.places[run.place].variable
        for condition in self._at_exit(move):
            self._add(variable, condition, passed=True)

    def left_window(self, waiting: Waiting, event: Event) -> None:
        """A run came no further in its window."""
        self._count(waiting.run)
        if not self._born:
            self._end(waiting, "the window was over")
            self._too_late(waiting, event)

    def not_ignored(self, waiting: Waiting, move: Move, instant: Sequence[Event]) -> None:
        """A run ends at an event that it may not skip."""
        self._count(waiting.run)
        if not self._born:
            strategy = self.query.strategies[self._variable(move)].value
            kind = "" if instant[0].type is None else f" ({instant[0].type})"
            failed = f"{self._best[1]} of the next event ({strategy})" if NOT_TRUE in self._best[1] else ""
            self._add_end(waiting.run, failed or f"{strategy}: another event{kind} came first")
            self._keep(waiting.run, instant[0], 0, 1.0, self.reasons.strategy(move, instant))

    def ended(self, waiting: Waiting) -> None:
        """Called at the end of the input for each run that still waits."""
        self._count(waiting.run)
        if not self._born:
            within = self.query.within
            window = None if within is None else within.nanoseconds
            over = window is not None and self.last - waiting.run.selected[0].time >= window
            self._end(waiting, "the window was over" if over else "the input ended")

    def refuted(self, run: Run, negation: int, witness: Event) -> None:
        """A complete run has a witness against it."""
        variable = self.query.layout.negations[negation].variable
        self.witnesses[variable, witness.row] += 1
        self.given[f"a witness of !{variable}"] += 1
        why = f"!{variable}: {describe(self.query, witness)} (row {witness.row}) must be absent"
        self._keep(run, None, 0, 0.0, why, complete=True)

    def dropped(self, run: Run, by: Dropped, other: Run | None = None) -> None:
        """A complete run is not given."""
        if by is Dropped.EQUAL:
            return
        word = {Dropped.HAVING: "HAVING", Dropped.COOLDOWN: "COOLDOWN"}.get(by, f"OUTPUT {self.query.output.name}")
        self.given[word] += 1
        if by is Dropped.HAVING and self.query.having is not None:
            apart = self._distance(self.query.having, run.bindings)
            why = f"HAVING {self.reasons.writer.explain(self.query.having, run.bindings)}"
            self._keep(run, None, 0, apart, why, complete=True)

    def emitted(self, run: Run) -> None:
        self.given["matches"] += 1

    # What is made of it.

    def stages(self) -> tuple[Stage, ...]:
        """The components in the order of the text, and what became of the runs that got over all of them."""
        leaving = {id(condition) for conditions in self.query.placement.at_exit.values() for condition in conditions}
        complete = Stage(self.name, COMPLETE, ("pattern",), self.given.total(), (), dict(self.given.most_common()))
        components = (
            Stage(
                self.name,
                component.variable,
                component.types,
                self.runs[component.variable],
                tuple(
                    Tested(text_of(self.conditions[number]), tested, self.passed[variable, number])
                    for (variable, number), tested in sorted(self.tested.items(), key=lambda one: one[0][1] in leaving)
                    if variable == component.variable
                ),
                dict(self.ended_by.get(component.variable, Counter()).most_common()),
            )
            for component in self.query.positive
        )
        return (*components, complete)

    def misses(self) -> tuple[Miss, ...]:
        """Return the runs that came nearest to a match, the nearest first."""
        misses = []
        for rank, _, (run, event, why) in self.heap:
            pairs = zip((move.target for move in run.path), run.selected, strict=False)
            names = [(self.query.layout.places[target].variable, one) for target, one in pairs if target is not None]
            events = tuple((name, one.row, describe(self.query, one)) for name, one in names)
            refused = None if event is None else ("", event.row, describe(self.query, event))
            misses.append(Miss(self.name, rank, events, why, refused))
        return nearest_of(misses, MISSES)

    def _variable(self, move: Move) -> str:
        return str(self.reasons.component(move))

    def _count(self, run: Run) -> None:
        if run is not self._current:
            self._current, self._born, self._best = run, False, (0, "")
        self.steps += 1
        if self.check is not None and not self.steps % _CHECKED:
            self.check()
        if self.most is not None and self.steps > self.most:
            raise OutOfBudget

    def _tests(self, move: Move, run: Run) -> list[Expression]:
        return self._conditions(move, len(run.bindings.all[self._variable(move)]))

    def _conditions(self, move: Move, count: int) -> list[Expression]:
        """The conditions that are tested on an event of this index, in their order."""
        assert move.target is not None
        key = move.target, count
        if key not in self._at_count:
            placed = self.query.placement.at_place.get(move.target, ())
            self._at_count[key] = [condition for when, condition in placed if is_tested(when, count)]
        return self._at_count[key]

    def _at_exit(self, move: Move) -> list[Expression]:
        """The conditions that are tested when a move leaves closures, in their order."""
        exits = self.query.placement.at_exit
        left = [mark.number for mark in move.marks if mark.step in (MarkAction.EXIT, MarkAction.SKIP)]
        return [condition for number in left for condition in exits.get(number, ())]

    def _add(self, variable: str, condition: Expression, *, passed: bool) -> None:
        key = variable, id(condition)
        self.conditions[id(condition)] = condition
        self.tested[key] += 1
        self.passed[key] += passed

    def _not_left(self, before: Run, move: Move, refusal: Refusal) -> None:
        """A closure that can't be left: its conditions on all its events."""
        if refusal.why is not Why.CONDITION or not before.selected:
            return
        assert refusal.condition is not None
        assert refusal.bindings is not None
        variable = self.query.layout.places[before.place].variable
        for condition in takewhile(lambda one: one is not refusal.condition, self._at_exit(move)):
            self._add(variable, condition, passed=True)
        self._add(variable, refusal.condition, passed=False)
        self._blame(2, f"{text_of(refusal.condition)}{NOT_TRUE}")
        apart = self._distance(refusal.condition, refusal.bindings)
        self._keep(before, None, 0, apart, "", refusal)

    def _blame(self, passed: int, why: str) -> None:
        """Of all that was refused to a run, what came nearest."""
        if passed > self._best[0]:
            self._best = passed, why

    def _end(self, waiting: Waiting, what: str) -> None:
        moves = [move for move in waiting.wait.moves if isinstance(waiting.passed[move], Run)]
        awaited = " or ".join(dict.fromkeys(map(self._variable, moves)))
        why = self._best[1] or f"{what} before an event for {awaited} came"
        self._add_end(waiting.run, why)

    def _add_end(self, run: Run, why: str) -> None:
        variable = self.query.layout.places[run.place].variable
        self.ended_by.setdefault(variable, Counter())[why] += 1

    def _miss(self, run: Run, event: Event, passed: int, refusal: Refusal) -> None:
        assert refusal.condition is not None
        assert refusal.bindings is not None
        if not run.selected and not self._may_keep((0.0, 0.0, float(passed), 0.0)):
            return
        apart = self._distance(refusal.condition, refusal.bindings)
        self._keep(run, event, passed, apart, "", refusal)

    def _distance(self, condition: Expression, bindings: Bindings) -> float:
        """How far a condition was from TRUE; its nearest values are kept."""
        writer, text = self.reasons.writer, text_of(condition)
        apart = writer.distance(condition, bindings)
        if text not in self.closest or apart < self.closest[text][0]:
            self.closest[text] = apart, writer.filled(condition, bindings)
        return apart

    def _too_late(self, waiting: Waiting, event: Event) -> None:
        """The first event after the window that all but the window allows."""
        if self._late >= _TOO_LATE or self.runner is None or self.query.within is None:
            return
        self._late += 1
        stream = self.runner.visible(waiting.wait.moves)
        at = stream.before(event.position)
        for later in stream.events[at : at + _LOOKED_AT]:
            for move in waiting.moves:
                refusal = self.runner.attempt(waiting.passed[move], move, later)
                if isinstance(refusal, Refusal) and refusal.why is Why.WINDOW:
                    window = self.query.within.nanoseconds
                    apart = later.time - waiting.run.selected[0].time
                    share = 1.0 if window is None else min(1.0, (apart - window) / max(1, apart))
                    passed = len(self._conditions(move, 1))
                    why = self.reasons.window(waiting.run.selected[0], later)
                    self._keep(waiting.run, later, passed, share, why)
                    return

    def _may_keep(self, rank: tuple[float, ...]) -> bool:
        return len(self.heap) < MISSES or rank > self.heap[0][0]

    def _keep(
        self,
        run: Run,
        event: Event | None,
        passed: int,
        apart: float,
        why: str,
        refusal: Refusal | None = None,
        *,
        complete: bool = False,
    ) -> None:
        """Keep a miss if it is among the nearest.

        That is by the components bound, the events that repetitions had of those that they need, the conditions passed,
        and how close it was.
        """
        had = run.bindings.all
        variables = sum(1 for events in had.values() if events)
        needed = sum(min(len(had.get(variable, ())), least) for variable, least in self._least.items())
        rank = (float(variables + complete), float(needed), float(passed), -apart)
        if not self._may_keep(rank):
            return
        said = why if refusal is None else self.reasons.refusal(run, event, refusal)
        self._kept += 1
        item = (rank, -self._kept, (run, event, said))
        if len(self.heap) < MISSES:
            heappush(self.heap, item)
        else:
            heappushpop(self.heap, item)
