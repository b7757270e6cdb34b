"""What a run does, told as it happens: for those who ask why a query matches, and why it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.layout import Move
from cepheid.values.bindings import Bindings
from cepheid.values.rows import Event

if TYPE_CHECKING:
    from cepheid.reference.runs import Run, Waiting


class Why(Enum):
    """Why an event is not bound, or a repetition not left."""

    TYPE = "another type"
    OVERLAP = "it starts before the event before it has ended"  # S13
    KEY = "another key"
    CONDITION = "a condition is not TRUE"
    WINDOW = "outside of the window"
    TOO_FEW = "the repetition needs more rounds"
    TOO_MANY = "the repetition has had all its rounds"


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """Why a step is not taken. `condition` is the conjunct that is not TRUE, on these `bindings`."""

    why: Why
    condition: Expression | None = None
    bindings: Bindings | None = None


class Watcher:
    """Is told what runs do; this one does nothing with it.

    every_event: whether it wants to be told of events of other types too, which the skip strategies never look at.
    """

    every_event = False

    def bound(self, before: Run, move: Move, run: Run) -> None:
        """A run has bound an event by a move: begin, take or proceed. Before: what it was."""

    def refused(self, before: Run, move: Move, event: Event | None, refusal: Refusal) -> None:
        """An event was not bound; None: a repetition can't be left, or the pattern not be ended."""

    def left(self, run: Run, move: Move) -> None:
        """A run may go on by a move: all conditions of the repetitions that it leaves are TRUE."""

    def ignored(self, waiting: Waiting, instant: Sequence[Event]) -> None:
        """A run goes on waiting."""

    def left_window(self, waiting: Waiting, event: Event) -> None:
        """A run is over: its window is."""

    def not_ignored(self, waiting: Waiting, move: Move, instant: Sequence[Event]) -> None:
        """A run waits no longer for a move: by its strategy these events can't be ignored (S6)."""

    def ended(self, waiting: Waiting) -> None:
        """The input is over, and a run still waits."""

    def completed(self, run: Run) -> None:
        """A run has reached the end of the pattern."""

    def refuted(self, run: Run, negation: int, witness: Event) -> None:
        """A complete run is dropped: an event is there that must be absent (S10)."""

    def dropped(self, run: Run, by: Dropped, other: Run | None = None) -> None:
        """A complete run is not given. other: the match in its way."""

    def emitted(self, run: Run) -> None:
        """A complete run is given as a match."""


class Dropped(Enum):
    """Why a complete run is not given."""

    EQUAL = "another run is the same match"  # S9
    HAVING = "HAVING"
    OVERLAP = "OUTPUT"  # S12, S24
    COOLDOWN = "COOLDOWN"


SILENT = Watcher()
