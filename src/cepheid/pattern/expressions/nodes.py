"""Expressions of WHERE, HAVING and RETURN: frozen values without behaviour.

The same nodes serve before and after binding: a bound expression has no `Name` left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cepheid.errors import Span
from cepheid.pattern.expressions.types import Type


class Index(Enum):
    """Which of a variable's events a reference means."""

    ONE = ""  # a.x: the event of a single variable
    FIRST = "[1]"
    CURRENT = "[i]"  # each i >= 2
    PREVIOUS = "[i-1]"
    BEFORE = "[..i-1]"  # all before the current one; in aggregates only
    LAST = "[a.LEN]"
    EACH = "[]"  # each i >= 1 in a predicate, all of them in an aggregate


@dataclass(frozen=True, slots=True)
class Nth:
    """`a[2]`: an event by its number, 2 or greater; NULL if there is none (S27)."""

    number: int

    @property
    def value(self) -> str:
        """As it is written."""
        return f"[{self.number}]"


@dataclass(frozen=True, slots=True)
class Back:
    """`a[i-2]`: so many events, 2 or more, before the current one; NULL if there is none (S27)."""

    steps: int

    @property
    def value(self) -> str:
        """As it is written."""
        return f"[i-{self.steps}]"


AnyIndex = Index | Nth | Back


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of an expression. Two nodes are equal whatever the text that they came from."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant. Times are integers: days for a date, nanoseconds for timestamps and durations."""

    value: object
    type: Type


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """A bare word: a parameter, or an attribute where the pattern is a single event."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Expression):
    """`a.price`, `a[i-1].price`."""

    variable: str
    index: AnyIndex
    name: str


@dataclass(frozen=True, slots=True)
class RegisterField(Expression):
    """`r.balance`: a field of the register of an automaton (S18), or an attribute of CESAR, which has its type."""

    name: str
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Field(Expression):
    """`a.payload.amount`: a field of a struct; NULL where the struct is NULL."""

    operand: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """`a.tags[0]`, `a.props['k']`: an element of a list, counted from 0, or the value of a key of a map."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Rows(Expression):
    """`a[]` or `a[..i-1]` without an attribute: what `count` counts. In RETURN, also `a` and `a[1]`: events."""

    variable: str
    index: AnyIndex


@dataclass(frozen=True, slots=True)
class MatchId(Expression):
    """`match_id`: what identifies the match, by its events (S11)."""


@dataclass(frozen=True, slots=True)
class Length(Expression):
    """`a.LEN`: how many events a Kleene variable has."""

    variable: str


@dataclass(frozen=True, slots=True)
class AggregateCall(Expression):
    """`avg(a[..i-1].price)`, `count(a[])`, `count(DISTINCT a[].x)`, `sum(a[].x) FILTER (WHERE a[].y > 1)`.

    `share`: of `percentile`, which of the sorted values is meant, from 0 to 1.
    """

    function: str
    argument: Expression
    distinct: bool = False
    filter: Expression | None = None
    share: Expression | None = None


@dataclass(frozen=True, slots=True)
class Quantified(Expression):
    """`ALL(a[].x > b.x)`, `ANY(…)`: whether a condition holds for all, or for some, events of a Kleene variable."""

    quantifier: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A built-in scalar function or a user's."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Minus(Expression):
    """`-x`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`+ - * / %`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """`= != < <= > >=`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    """Conjunction of two or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """Disjunction of two or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """Negation of a condition (of an event, see `tree.Negation`)."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """`x IS NULL`, `x IS NOT NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In(Expression):
    """`x IN (1, 2)`."""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InSet(Expression):
    """`x ∈ Hi-Tech`: the set is a parameter."""

    operand: Expression
    set: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    """`x BETWEEN low AND high`, both ends included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """`x LIKE 'a%'`."""

    operand: Expression
    pattern: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class RLike(Expression):
    """`x RLIKE '^a+'`: the pattern is found somewhere in the text."""

    operand: Expression
    pattern: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """`CAST(x AS INT)`; the type has the name that `casts.read_type_name` returns."""

    operand: Expression
    type: str


@dataclass(frozen=True, slots=True)
class When(Expression):
    """One arm of a CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class CaseWhen(Expression):
    """`CASE WHEN c THEN x ELSE y END`; with a subject, the arms are compared with it."""

    subject: Expression | None
    arms: tuple[When, ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class SameValue(Expression):
    """One test of `[attr]` or `[attr = value]`: all events of the match agree on the attribute.

    fields: of `[payload.user]`, the way into a struct.
    """

    attribute: str
    value: Expression | None = None
    fields: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """The attribute and the fields."""
        return (self.attribute, *self.fields)


QUANTIFIERS = ("ALL", "ANY")
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev", "median", "percentile", "collect")
