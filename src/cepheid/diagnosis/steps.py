"""What runs do, written down step by step, the same whatever the order of evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.diagnosis.merging import BoundRows, RunMerge
from cepheid.diagnosis.reasons import Reasons
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.layout import Move
from cepheid.reference.runs import Run, Waiting
from cepheid.reference.watching import Dropped, Refusal, Watcher, Why
from cepheid.values.rows import Event

ACTIONS = ("begin", "take", "proceed", "merge", "refuse", "ignore", "kill", "drop", "emit")
"""In the order in which the steps of one event and one run are written down."""

RunKey = tuple[tuple[int, ...], tuple[str, ...]]
"""What a run is, whenever it was made: the positions of its events, and its moves."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """One thing that a run does. `event`: on which, None: the end of the input; `index`: of a closure, which event.

    `other`: the run that it merges with.
    """

    event: Event | None
    action: str
    run: RunKey | None
    component: str | None = None
    index: int | None = None
    detail: str = ""
    other: RunKey | None = None


class RunSteps:
    """Steps that are written down, and runs with those that they were made from; `most`: how many are wanted."""

    def __init__(self, query: Runnable, most: int | None = None) -> None:
        self.query = query
        self.reasons = Reasons(query)
        self.most = most
        self.steps: dict[RunStep, None] = {}
        self.parents: dict[RunKey, RunKey | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether it has as many steps as are wanted."""
        return self.most is not None and len(self.steps) >= self.most


class Teller(RunSteps, Watcher):
    """Writes the steps of a PATTERN down. The runner calls it for every event."""

    every_event = True

    def __init__(self, query: Runnable, most: int | None = None) -> None:
        super().__init__(query, most)
        self.bindings: dict[BoundRows, RunKey] = {}  # of runs that bind the same, the first one
        self.went_on: set[tuple[RunKey, Move, int]] = set()  # a run, by which move, with the event at which position

    def _tell(self, event: Event | None, action: str, run: Run, variable: str | None = None, why: str = "") -> None:
        of_closure = action in ("begin", "take", "proceed")
        array = of_closure and variable is not None and self.query.components[variable].array
        index = len(run.bindings.all[variable]) if array and variable is not None else None
        step = RunStep(event, action, key_of(run) if run.selected else None, variable, index, why)
        self.steps[step] = None

    def bound(self, before: Run, move: Move, run: Run) -> None:
        """Write down that a run begins, takes an event or proceeds."""
        variable = self.reasons.component(move)
        assert variable is not None
        key = key_of(run)
        self.parents[key] = key_of(before) if before.selected else None
        self.went_on.add((key_of(before), move, run.selected[-1].position))
        bindings = self._bindings(run)
        self.bindings[bindings] = min(key, self.bindings.get(bindings, key))
        action = "begin" if not before.selected else "take" if move.repeats else "proceed"
        self._tell(run.selected[-1], action, run, variable)

    def refused(self, before: Run, move: Move, event: Event | None, refusal: Refusal) -> None:
        """Of events of other types it is enough to write that they are ignored, and of rounds, that more are taken."""
        if refusal.why in (Why.TYPE, Why.TOO_FEW, Why.TOO_MANY):
            return
        why = self.reasons.refusal(before, event, refusal)
        if event is None:
            why = f"the repetition can't be left yet: {why}"
        at = event if event is not None else before.selected[-1] if before.selected else None
        if at is not None:
            self._tell(at, "refuse", before, self.reasons.component(move), why)

    def ignored(self, waiting: Waiting, instant: Sequence[Event]) -> None:
        self._tell(instant[0], "ignore", waiting.run, None, f"waits for {self._awaited(waiting)}")

    def left_window(self, waiting: Waiting, event: Event) -> None:
        why = self.reasons.window(waiting.run.selected[0], event)
        self._tell(event, "kill", waiting.run, None, f"waited for {self._awaited(waiting)}; {why}")

    def not_ignored(self, waiting: Waiting, move: Move, instant: Sequence[Event]) -> None:
        """By its strategy it can't go on waiting: one step of a run, however many moves it waited for."""
        run, strategy = key_of(waiting.run), self.query.strategies[str(self.reasons.component(move))]
        if any((run, awaited, event.position) in self.went_on for awaited in waiting.wait.moves for event in instant):
            why = f"it went on with this event, which {strategy.value} does not let it skip"
            self._tell(instant[0], "kill", waiting.run, None, why)
        else:
            self._tell(
                instant[0], "kill", waiting.run, self.reasons.component(move), self.reasons.strategy(move, instant)
            )

    def ended(self, waiting: Waiting) -> None:
        """Called at the end of the input for each run that still waits."""
        why = f"the input ended; it waited for {self._awaited(waiting)}"
        self._tell(None, "kill", waiting.run, None, why)

    def refuted(self, run: Run, negation: int, witness: Event) -> None:
        """Write down that a complete run is dropped because an event was there that must be absent."""
        variable = self.query.layout.negations[negation].variable
        why = f"!{variable}: the event at position {witness.position} must be absent"
        self._tell(run.selected[-1], "drop", run, variable, why)

    def dropped(self, run: Run, by: Dropped, other: Run | None = None) -> None:
        """Write down that HAVING or OUTPUT drops a complete run."""
        why = by.value
        if by is Dropped.HAVING and self.query.having is not None:
            why = f"HAVING {self.reasons.writer.explain(self.query.having, run.bindings)}"
        elif by is not Dropped.EQUAL:
            word = f"OUTPUT {self.query.output.name}" if by is Dropped.OVERLAP else "COOLDOWN"
            ends = "" if other is None else f": the match before it ends at position {other.selected[-1].position}"
            why = f"{word}{ends}"
        self._tell(run.selected[-1], "drop", run, None, why)

    def emitted(self, run: Run) -> None:
        self._tell(run.selected[-1], "emit", run)

    def merge(self, merges: Iterable[RunMerge]) -> None:
        """Runs that are kept as one."""
        for merge in merges:
            run, other = self.bindings[merge.run], self.bindings[merge.other]
            holds = f", with {merge.held}" if merge.held else ""
            why = f"waits for {merge.waits_for}{holds}"
            if run != other:  # two ways to bind the same are one run here
                self.steps[RunStep(merge.event, "merge", run, None, None, why, other)] = None

    def _bindings(self, run: Run) -> BoundRows:
        names = (self.reasons.component(move) for move in run.path if move.target is not None)
        return tuple((str(name), event.position) for name, event in zip(names, run.selected, strict=True))

    def _awaited(self, waiting: Waiting) -> str:
        names = (self.reasons.component(move) for move in waiting.moves)
        return " or ".join(dict.fromkeys(str(name) for name in names))


def key_of(run: Run) -> RunKey:
    """What a run is. The move to the end of the pattern binds nothing and makes no other run of it."""
    moves = (move for move in run.path if move.target is not None)
    marks = (f"{m.target}:{','.join(f'{mark.step.value}{mark.number}' for mark in m.marks)}" for m in moves)
    return tuple(event.position for event in run.selected), tuple(marks)


def in_order(steps: Sequence[RunStep], numbers: dict[RunKey, int]) -> list[RunStep]:
    """Steps by the event, the run and the action."""

    def rank(step: RunStep) -> tuple[object, ...]:
        run = 0 if step.run is None else numbers[step.run]
        at = (1, 0) if step.event is None else (0, step.event.position)
        return at, run, ACTIONS.index(step.action), step.component or "", step.index or 0, step.detail

    return sorted(steps, key=rank)


def indexed(runs: Sequence[RunKey]) -> dict[RunKey, int]:
    """Runs from 1, by their last event, then by the others."""
    ordered = sorted(set(runs), key=lambda run: (run[0][-1], run[0], run[1]))
    return {run: number for number, run in enumerate(ordered, 1)}
