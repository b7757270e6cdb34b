"""The automaton: states, arcs with a fence and a transfer, and a register of typed values.

A *config* is what is settled once an event is bound: the place in the pattern, which variables are bound and reached,
how often each loop was gone through. All of it is static, so that no arc asks at run time whether a variable is there.
A *state* is a config that waits: to take one more event of a loop, or to go on by one of several ways. An *arc* goes
from a state (or from nothing, at the beginning) over one event to a config; its *fence* is the tests, its *transfer*
the updates of the registers. A config with an *exit* emits a match as soon as it is entered. A *kill* is what an event
does that must be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cepheid.pattern.bind import Bound
from cepheid.pattern.expressions import Expression
from cepheid.pattern.layout import Move
from cepheid.pattern.tree import Strategy
from cepheid.pattern.types import Type


class NotNative(Exception):  # noqa: N818  a reason, not an error
    """Why no kernel can be generated for a query."""


class Holds(Enum):
    """What a register holds of its variable."""

    FIRST = "first"
    LAST = "last"
    LENGTH = "length"
    FOLD = "fold"
    KEY = "key"  # the value of an [attr] test
    START = "start"  # when the first event was: matches that wait for an absence wait each for its own
    WITNESS = "witness"  # when the last event was seen that must be absent before the first one


@dataclass(frozen=True, slots=True)
class Register:
    """A value that a later test needs. `number` counts what has no variable: [attr] tests and negations."""

    holds: Holds
    variable: str = ""
    column: str = ""
    function: str = ""
    argument: Expression | None = None
    number: int = 0

    @property
    def name(self) -> str:
        """As source code names it."""
        parts = [self.variable, self.holds.value if not self.function else self.function, self.column]
        tail = f"{self.number}" if self.number else ""
        return "_".join("".join(c if c.isalnum() and c.isascii() else "_" for c in p) for p in parts if p) + tail


@dataclass(frozen=True, slots=True)
class Now(Expression):
    """An attribute of the event at hand."""

    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class Held(Expression):
    """The value of a register."""

    register: Register
    type: Type


class Update(Enum):
    """What an arc does to a register."""

    KEEP = "keep"
    SET = "set"  # from the event at hand
    STEP = "step"  # one more event into an aggregate
    BEGIN = "begin"  # the first event of an aggregate


@dataclass(frozen=True, slots=True)
class Test:
    """A conjunct on an arc. `unary`: the conjunct as it was bound, where it reads the event at hand alone."""

    condition: Expression
    original: Expression
    variable: str
    unary: bool


@dataclass(frozen=True, slots=True)
class Config:
    """What is settled when an event is bound; the counts are capped where more makes no difference."""

    place: int
    bound: frozenset[str]
    reached: frozenset[str]
    now: frozenset[str]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A config that waits: `take` for one more event of a loop, `others` for what follows."""

    config: int
    take: Move | None
    others: tuple[Move, ...]
    strategy: Strategy

    @property
    def moves(self) -> tuple[Move, ...]:
        """All ways on."""
        return (*([self.take] if self.take else []), *self.others)


@dataclass(frozen=True, slots=True)
class Arc:
    """Over one event to a config. `source`: a state, or None at the beginning."""

    source: int | None
    target: int
    variable: str
    types: tuple[str, ...]
    fence: tuple[Test, ...]
    transfer: Mapping[Register, Update]
    decides: bool  # whether the event is the one that the state waits for: under skip_till_next it ends the wait


@dataclass(frozen=True, slots=True)
class Kill:
    """An event that must be absent: the run goes to a state that can do less, or is dropped."""

    source: int
    target: int | None
    types: tuple[str, ...]
    fence: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """A match: on entering a config, if the tests hold. `reached`: the variables that were reached."""

    config: int
    fence: tuple[Test, ...]
    reached: frozenset[str]
    absent: tuple[Kill, ...] = ()  # what must be absent after it, until the window ends
    witnesses: tuple[int, ...] = ()  # negations before the first event


@dataclass(frozen=True, slots=True)
class Witness:
    """An event that must be absent before the first one."""

    negation: int
    types: tuple[str, ...]
    fence: tuple[Test, ...]


@dataclass(frozen=True)
class Automaton:
    """A query, ready for a kernel."""

    query: Bound
    configs: tuple[Config, ...]
    states: tuple[State, ...]
    entries: tuple[tuple[int, ...], ...]  # by config: the states that a run is in when it comes; others are for kills
    arcs: tuple[Arc, ...]
    kills: tuple[Kill, ...]
    exits: tuple[Exit, ...]
    witnesses: tuple[Witness, ...]
    registers: Mapping[Register, Type]
    live: tuple[frozenset[Register], ...] = field(default=())  # by state
    needed: tuple[frozenset[Register], ...] = field(default=())  # by config: what its states and exits read
    ambiguous: bool = False  # two ways through the pattern can give one match
