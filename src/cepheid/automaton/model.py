"""The automaton: states, arcs with a fence and a transfer, and a register of typed values.

A *config* is what is settled once an event is bound: which variable it was bound to, and how often each loop was gone
through. All of it is static, so that no arc asks at run time whether a variable is there. A *state* is a config that
waits: to take one more event of a loop, or to go on by one of several ways. An *arc* goes from a state (or, at the
beginning, from nothing) over one event to a config; its *fence* is the tests, its *transfer* assigns registers, which
read the old values and change at once. A config with an *exit* emits a match as soon as it is entered. A *kill* is what
an event does that must be absent.

An automaton knows neither the query that it was made of nor the schema: front ends other than SASE+ can make one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.expressions.types import Type


class NotNative(Exception):  # noqa: N818  a reason, not an error
    """Why no kernel can be generated for a query."""


@dataclass(frozen=True, slots=True)
class Register:
    """A value that a later test needs."""

    name: str
    type: Type


# What tests and transfers read.


@dataclass(frozen=True, slots=True)
class Now(Expression):
    """An attribute of the event at hand."""

    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class Held(Expression):
    """The value of a register."""

    register: Register


@dataclass(frozen=True, slots=True)
class Fixed(Expression):
    """A number that is part of the automaton, and no constant of the query."""

    value: int | float
    type: Type


@dataclass(frozen=True, slots=True)
class Time(Expression):
    """The time of the event at hand, as windows count it."""


@dataclass(frozen=True, slots=True)
class Started(Expression):
    """When the event at hand started: a composite event lasts from then to its time, others start when they are."""


@dataclass(frozen=True, slots=True)
class Ended(Expression):
    """The time of the event at hand, also where windows count events."""


@dataclass(frozen=True, slots=True)
class Witnessed(Expression):
    """When the last event was seen that must be absent before the first one; the negation has a number."""

    negation: int


@dataclass(frozen=True, slots=True)
class Ratio(Expression):
    """A division by what is never zero."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Root(Expression):
    """The square root of what is never negative."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Test:
    """A conjunct on an arc. `unary`: it reads the event at hand alone; `original` is then the conjunct as bound."""

    condition: Expression
    original: Expression
    variable: str
    unary: bool


# The automaton.


class Ends(Enum):
    """Which event ends the wait of a run, whether or not it takes the run further."""

    ANYTHING = "anything"  # strict contiguity: the next event
    AGREEMENT = "agreement"  # partition contiguity: the next event of the partition
    DECISION = "decision"  # skip till next match: one that passes a fence that decides
    NOTHING = "nothing"  # skip till any match

    @property
    def contiguous(self) -> bool:
        """Whether a run waits for one event only, of those that its partition has."""
        return self in (Ends.ANYTHING, Ends.AGREEMENT)


@dataclass(frozen=True, slots=True)
class Config:
    """What is settled when an event is bound: to which variable, and the rounds of each loop as far as they matter."""

    label: str
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A config that waits. `waits_for` says for what, in the words of the query."""

    config: int
    ends: Ends
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class Arc:
    """Over one event to a config; no types: an event of any type.

    `source`: a state, or None at the beginning. `label`: the variable that it binds.

    A register that the transfer does not assign keeps its value. `decides`: whether the event is the one that the state
    waits for. `unseen`: where a run begins, the witnesses that must not have been seen for a while before (S26).
    `closing`: an event that starts after the time that one of these holds does not go by it, and decides all the same.
    """

    source: int | None
    target: int
    label: str
    types: tuple[str, ...]
    fence: tuple[Test, ...]
    transfer: Mapping[Register, Expression]
    decides: bool
    unseen: tuple[int, ...] = ()
    closing: tuple[Register, ...] = ()


@dataclass(frozen=True, slots=True)
class Kill:
    """An event that must be absent while a run waits: the run goes to a state that can do less, or is dropped.

    `closes`: it stays, and the register holds when the first such event was; arcs that it closes ask for that.
    """

    source: int
    target: int | None
    types: tuple[str, ...]
    fence: tuple[Test, ...]
    closes: Register | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """An event that must be absent after a match, for as long as the exit says."""

    types: tuple[str, ...]
    fence: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """A match: on entering a config, if the tests hold. `reached`: the variables that were reached.

    What must be absent after it is absent until the window ends or, where it is `lasting`, for a while that counts from
    the last event of the match (S26).
    """

    config: int
    fence: tuple[Test, ...]
    reached: frozenset[str]
    absent: tuple[Absent, ...] = ()
    lasting: bool = False
    witnesses: tuple[Register, ...] = ()  # each holds when the last event came that must be absent before the first
    gives: Mapping[Register, Expression] = field(default_factory=dict)  # what a match has: the register, or RETURN


@dataclass(frozen=True, slots=True)
class Witness:
    """An event that must be absent before the first one; `lasting`: for a while that ends where a run begins (S26)."""

    negation: int
    types: tuple[str, ...]
    fence: tuple[Test, ...]
    lasting: bool = False


@dataclass(frozen=True)
class RegisterAutomaton:
    """What a kernel is generated from."""

    configs: tuple[Config, ...]
    states: tuple[State, ...]
    entries: tuple[tuple[int, ...], ...]  # by config: the states that a run is in when it comes; others are for kills
    arcs: tuple[Arc, ...]
    kills: tuple[Kill, ...]
    exits: tuple[Exit, ...]
    witnesses: tuple[Witness, ...]
    registers: tuple[Register, ...]
    live: tuple[frozenset[Register], ...] = field(default=())  # by state: what runs in it must agree on to be alike
    needed: tuple[frozenset[Register], ...] = field(default=())  # by config: what its states and exits read
    ambiguous: bool = False  # two ways through the pattern can give one match
    own: bool = False  # the user's: a match is its first and its last event, and the register
    lasting: bool = False  # its arcs may change while it runs: every run holds all registers
    valued: bool = False  # of CESAR: a run is its registers, and a match what its exit gives; neither has events
    simultaneous: bool = False  # an instant, all events of one time, is seen whole; what it makes does not see it
