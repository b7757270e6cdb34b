"""The pattern tree: what a query says, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from cepheid.errors import Span
from cepheid.pattern.expressions.nodes import Expression, Literal, Name


class Language(Enum):
    """The query languages, by the word that begins a query. Tables that are keyed by it have an entry for each."""

    PATTERN = "PATTERN"
    AUTOMATON = "AUTOMATON"
    CESAR = "CESAR"


@dataclass(frozen=True, slots=True)
class PatternTree:
    """A node of the PATTERN clause, or the whole of a query in another language."""

    language: ClassVar[Language] = Language.PATTERN
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class EventPattern(PatternTree):
    """`Shelf a`, `ANY(Shelf, Exit) a`; without a variable it is named by its type. No types: `* a`, any event."""

    types: tuple[str, ...]
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Negation(PatternTree):
    """`!(Register b)`: no such event there. `period`: for how long, of `!(Register b) FOR 10 minutes` (S26)."""

    event: EventPattern
    period: Window | None = None


@dataclass(frozen=True, slots=True)
class Repeat(PatternTree):
    """`+ * {n,m}` of an event or of a group; its variables are arrays."""

    body: PatternTree
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Maybe(PatternTree):
    """`?`: once or not at all; its variables stay single."""

    body: PatternTree


@dataclass(frozen=True, slots=True)
class Seq(PatternTree):
    """One after the other."""

    parts: tuple[PatternTree, ...]


@dataclass(frozen=True, slots=True)
class Either(PatternTree):
    """`OR(p, q)`: the union of the matches."""

    parts: tuple[PatternTree, ...]


@dataclass(frozen=True, slots=True)
class AnyOrder(PatternTree):
    """`AND(p, q)`: all of them, in any order."""

    parts: tuple[PatternTree, ...]


class Fires(Enum):
    """What an arc of an automaton is taken on (S18)."""

    EVENT = "an event"
    INSTANT = "all events of an instant"  # ON ALL
    NOTHING = "nothing"  # EPSILON
    END = "the end of the window"  # AT END


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """`balance INT = 0`: a field of the register, the name of its type, and its value at the start."""

    name: str
    type: str
    initial: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`balance = r.balance + 1`: what an arc puts into a field."""

    name: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ArcClause:
    """`ARC done: q2 -> q3 ON Stock WHEN … SET …`. No types: an event of any type.

    ignores: it is written as `IGNORE q2 WHEN …`, a loop that changes nothing.
    since, until: its lifetime, `(since, until]` in ticks of the time column (S17); None: from the beginning, for good.
    """

    source: str
    target: str
    fires: Fires = Fires.EVENT
    name: str | None = None
    types: tuple[str, ...] = ()
    condition: Expression | None = None
    assigns: tuple[Assignment, ...] = ()
    ignores: bool = False
    since: int | None = None
    until: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class AutomatonPattern(PatternTree):
    """`AUTOMATON q0 -> q3`: states, a register and arcs of the user's own (S18)."""

    language: ClassVar[Language] = Language.AUTOMATON
    start: str
    finals: tuple[str, ...]
    register: tuple[RegisterSlot, ...] = ()
    arcs: tuple[ArcClause, ...] = ()


class Strategy(Enum):
    """Which events a run may ignore (SASE+ 3.2 step 3)."""

    STRICT = "strict_contiguity"
    PARTITION = "partition_contiguity"
    NEXT = "skip_till_next_match"
    ANY = "skip_till_any_match"


class Output(Enum):
    """Which matches are given."""

    ALL = "ALL"
    NON_OVERLAP = "NON_OVERLAP"
    LONGEST = "LONGEST"


class Ties(Enum):
    """Whether equal times are ordered by content (S1) or simultaneous (S2)."""

    ORDERED = "ORDERED"
    SIMULTANEOUS = "SIMULTANEOUS"


@dataclass(frozen=True, slots=True)
class Selection:
    """A strategy and the variables that it governs; no variables: all of them."""

    strategy: Strategy
    variables: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Window:
    """`12 hours`, `500 events`, `T`. A bare number counts in the unit of the time column."""

    amount: Literal | Name
    unit: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class FromStream:
    """`FROM stream(A, B)`: a stream that a query reads, and the types that it sees of it (S25). No types: all."""

    name: str
    types: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of PARTITION BY, or a field of a struct in it: `payload.user`."""

    name: str
    fields: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def path(self) -> tuple[str, ...]:
        """The column and the fields."""
        return (self.name, *self.fields)


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """`expression AS name`."""

    expression: Expression
    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class QueryTree:
    """One query. `where` holds the conjuncts in the order of the text."""

    pattern: PatternTree
    streams: tuple[FromStream, ...] = ()  # of FROM; none: the events
    sees: Expression | None = None  # the condition of FROM
    strategies: tuple[Selection, ...] = ()
    where: tuple[Expression, ...] = ()
    partition_by: tuple[KeyColumn, ...] = ()
    within: Window | None = None
    having: Expression | None = None
    returns: tuple[ReturnItem, ...] = ()
    into: str | None = None
    output: Output = Output.ALL
    cooldown: Window | None = None
    ties: Ties = Ties.ORDERED
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def language(self) -> Language:
        """The key of tables that say what is done for each language."""
        return self.pattern.language


@dataclass(frozen=True, slots=True)
class Program:
    """Queries that may feed each other: INTO names what a later FROM reads."""

    queries: tuple[QueryTree, ...]
