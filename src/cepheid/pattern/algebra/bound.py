"""A CESAR expression whose attributes are known and have types: five kinds of streams are left of the operators.

Expressions read attributes as registers, those of the step before as `x.last`, and the times as START and END.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cepheid.pattern import expressions as ex
from cepheid.pattern.types import Type

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
class Given(BoundTerm):
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
    """`μ`: a step reads the attributes of both streams, those of `carried` of the run, and `x.last` of the run.

    begins: what the run has before the first step, of the attributes of `left`: also the first `.last` of others.
    carried: the attributes of the left stream that a step has of the run.
    """

    left: BoundTerm
    right: BoundTerm
    condition: ex.Expression
    steps: tuple[Keep | Make, ...]
    begins: Values = field(default_factory=dict)
    carried: tuple[str, ...] = ()


def terms(term: BoundTerm) -> Iterator[BoundTerm]:
    """A stream and all that it is made of."""
    yield term
    match term:
        case Selected(of=of) | Given(of=of):
            yield from terms(of)
        case United(left=left, right=right) | Sequence(left=left, right=right) | Iteration(left=left, right=right):
            yield from terms(left)
            yield from terms(right)


def expressions(term: BoundTerm) -> Iterator[ex.Expression]:
    """All that is asked and computed."""
    for one in terms(term):
        match one:
            case Selected(condition=condition) | Sequence(condition=condition):
                yield condition
            case Given(values=values):
                yield from values.values()
            case Iteration(condition=condition, steps=steps, begins=begins):
                yield condition
                yield from begins.values()
                for step in steps:
                    yield from (step.condition,) if isinstance(step, Keep) else step.values.values()
