"""The tree of a CESAR expression: terms are streams, operators make a stream of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from cepheid.errors import Span
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.nodes import Language, PatternTree, QueryTree

# Operators on one stream.


@dataclass(frozen=True, slots=True)
class Operator:
    """What is done to each event of a stream."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Select(Operator):
    """`SELECT[c]`, σ: the events for which a condition is TRUE."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Project(Operator):
    """`PROJECT[a, b]`, π: some attributes, as `Name` or `Attribute`; the times stay. None: only the times."""

    attributes: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Renaming:
    """`old -> new` of RENAME."""

    old: Expression
    new: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Rename(Operator):
    """`RENAME[old -> new, …]`, ρ: all at once."""

    changes: tuple[Renaming, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """`n := expression` of ADD."""

    name: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Add(Operator):
    """`ADD[n := expression, …]`, α: all right sides see the old event."""

    items: tuple[Item, ...]


# Streams.


@dataclass(frozen=True, slots=True)
class Term:
    """A stream."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Named(Term):
    """A stream by its name: one that LET or INTO defines, or the events of a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply(Term):
    """An operator on a stream."""

    operator: Operator
    of: Term


@dataclass(frozen=True, slots=True)
class Union(Term):
    """`E UNION E`, ∪."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Then(Term):
    """`THEN[c](E, E)`, `E ;[c] E`: each event with the next one of the other stream for which c is TRUE."""

    left: Term
    right: Term
    condition: Expression


@dataclass(frozen=True, slots=True)
class Iterate(Term):
    """`ITERATE[F, c](E, E)`, μ: THEN again and again. `steps`: the operators of F, the innermost first; none: ID."""

    left: Term
    right: Term
    condition: Expression
    steps: tuple[Operator, ...] = ()


@dataclass(frozen=True, slots=True)
class Let:
    """`LET S1, S2 := Stock`: names for a stream, for a condition or value, or for the lists of RENAME and ADD.

    A name alone on the right side is `Named`, whatever it names.
    """

    names: tuple[str, ...]
    value: Term | Expression | tuple[Renaming, ...] | tuple[Item, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Algebra(PatternTree):
    """`CESAR LET … expression`."""

    language: ClassVar[Language] = Language.CESAR
    lets: tuple[Let, ...]
    term: Term


def algebra_of(query: QueryTree) -> Algebra:
    """The expression of a query that is known to be one."""
    assert isinstance(query.pattern, Algebra)
    return query.pattern


# What names stand for, once they are resolved.


@dataclass(frozen=True, slots=True)
class SourceTerm(Term):
    """The events of a type, or those that another query makes. `stream`: which INTO or LET; None: the events."""

    name: str
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Prefix(Term):
    """A stream by a name of its own, which its attributes have before theirs: `S1.price`."""

    name: str
    of: Term
