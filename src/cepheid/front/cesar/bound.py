"""A CESAR expression whose attributes are known and have types: five kinds of streams are left of the operators.

Expressions read attributes as registers, those of the step before as `x.last`, and the times as START and END.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type

Values = Mapping[str, ex.Expression]
"""Attributes, and what they are made of."""


@dataclass(frozen=True)
class BoundTerm:
    """A stream, and the types of its attributes in order."""

    types: Mapping[str, Type]


@dataclass(frozen=True)
class Base(BoundTerm):
    """Events of a stream (None: those of the input) that are of a type (None: of any). columns: of each attribute."""

    stream: str | None
    type: str | None
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Selected(BoundTerm):
    """The events for which a condition is TRUE."""

    of: BoundTerm
    condition: ex.Expression


@dataclass(frozen=True)
class Reshaped(BoundTerm):
    """π, ρ, α and a name before attributes: each event with other attributes."""

    of: BoundTerm
    values: Values


@dataclass(frozen=True)
class United(BoundTerm):
    """The events of both; their attributes have the same names and types."""

    left: BoundTerm
    right: BoundTerm


@dataclass(frozen=True)
class Sequence(BoundTerm):
    """`;θ`: the attributes of the left event, then those of the right one, which wins on equal names."""

    left: BoundTerm
    right: BoundTerm
    condition: ex.Expression


@dataclass(frozen=True)
class Keep:
    """A σ of an iteration."""

    condition: ex.Expression


@dataclass(frozen=True)
class Make:
    """A ρ or α of an iteration: all attributes that there are after it."""

    values: Values


@dataclass(frozen=True)
class Iteration(BoundTerm):
    """`μ`: a step reads the attributes of the right event, those of `carried` of the run, and `x.last` of the run.

    held: what a run has between two steps, by the names that the next step reads: the types.
    begins: what that is before the first step, of the attributes of `left`. handed: the attributes of a step that it is
    after one, which differ in name where a step renames.
    """

    left: BoundTerm
    right: BoundTerm
    condition: ex.Expression
    steps: tuple[Keep | Make, ...]
    carried: tuple[str, ...]
    held: Mapping[str, Type] = field(default_factory=dict)
    begins: Values = field(default_factory=dict)
    handed: Mapping[str, str] = field(default_factory=dict)


def terms(term: BoundTerm) -> Iterator[BoundTerm]:
    """A stream and all that it is made of."""
    yield term
    match term:
        case Selected(of=of) | Reshaped(of=of):
            yield from terms(of)
        case United(left=left, right=right) | Sequence(left=left, right=right) | Iteration(left=left, right=right):
            yield from terms(left)
            yield from terms(right)


def own_expressions(term: Iteration) -> Iterator[ex.Expression]:
    """What the steps of an iteration ask and compute."""
    yield term.condition
    for step in term.steps:
        yield from (step.condition,) if isinstance(step, Keep) else step.values.values()
