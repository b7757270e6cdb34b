"""Constants of a rule that stand for those of many: a template is checked with the values of one of its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cepheid.pattern.expressions.nodes import Literal

Reading: TypeAlias = Callable[[Literal], Literal | None]
"""How a constant is read where it stands: as a value of another type; None if it can't be."""


@dataclass(frozen=True, slots=True)
class SampledValue:
    """The value that a parameter has in one rule."""

    value: object


@dataclass(frozen=True, slots=True)
class SampledLiteral(Literal):
    """The value that a parameter has in one rule, as a literal.

    column: that of a joined stream which has those of all rules. readings: how its values are made of theirs.
    """

    parameter: str
    column: str
    readings: tuple[Reading, ...] = field(default=(), compare=False, repr=False)


def constant_column(parameter: str) -> str:
    """The column of a joined stream that has the constants of a parameter.

    >>> constant_column("high")
    '$high'
    """
    return f"${parameter}"


def sampled(constant: Literal, parameter: str) -> SampledLiteral:
    """A literal that is the sample of a parameter."""
    return SampledLiteral(constant.value, constant.type, parameter, constant_column(parameter), span=constant.span)


def reread(node: Literal, read: Literal, how: str, reading: Reading) -> Literal:
    """A literal that is read as another one; a sample says how those of other rules are."""
    if not isinstance(node, SampledLiteral):
        return replace(read, span=node.span)
    return SampledLiteral(
        read.value, read.type, node.parameter, f"{node.column}:{how}", (*node.readings, reading), span=node.span
    )
