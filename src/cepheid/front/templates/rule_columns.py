"""The columns that a joined stream has of its rules, and expressions that read them in place of constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.sampled import Reading, SampledLiteral
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.uses import ranges
from cepheid.pattern.tree.walk import substitute, walk

RULE = "$rule"
"""The column of a joined stream that has the number of the rule."""
WINDOW = "$within"
"""The column that has the window of a rule in ticks, where each has its own."""
STEP = 3
"""Windows of rules of one variant are less than 2 to the power of this apart, as factors."""


class NotJoinedError(Exception):
    """Why a template can't be one query on a joined stream; `parameters` must be constants then, if there are any."""

    def __init__(self, reason: str, parameters: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.parameters = frozenset(parameters)


@dataclass(frozen=True, slots=True)
class ConstantColumn:
    """A column of a joined stream: the constants of a parameter, read as they are where they stand."""

    name: str
    parameter: str
    type: Type
    readings: tuple[Reading, ...] = ()
    most: int | None = None  # the rules of a variant have no greater ones, and none that are much less


def power_above(amount: int) -> int:
    """A round number that is not less: amounts with the same one are of one size.

    >>> power_above(5), power_above(8), power_above(9)
    (8, 8, 64)
    """
    return min(1 << (STEP * -(-max(amount - 1, 0).bit_length() // STEP)), 2**62)


def constants_in(node: ex.Expression) -> list[SampledLiteral]:
    """The constants of the rule that an expression reads."""
    return [part for part in walk(node) if isinstance(part, SampledLiteral)]


Target = Callable[[str], ex.Expression]
"""What reads a column of the rule, by its name."""


def put(node: ex.Expression, target: Target) -> ex.Expression:
    """An expression with constants as columns; in an aggregate, and below ALL and ANY, of the events that it reads."""

    def change(part: ex.Expression) -> ex.Expression | None:
        match part:
            case SampledLiteral(column=column):
                return target(column)
            case ex.AggregateCall(argument=argument) if constants_in(argument):
                return replace(part, argument=put(argument, _range_of(argument)))
            case ex.Quantified(condition=condition) if constants_in(condition):
                each = ranges(condition)[0]
                inner = attribute(each.variable, each.index)
                return replace(part, condition=put(condition, inner))
        return None

    return substitute(node, change)


def _range_of(argument: ex.Expression) -> Target:
    """The events that an aggregate reads."""
    for part in walk(argument):
        if isinstance(part, ex.Attribute | ex.Rows):
            return attribute(part.variable, part.index)
    raise NotJoinedError("an aggregate of no attribute", (c.parameter for c in constants_in(argument)))


def attribute(variable: str, index: ex.AnyIndex) -> Target:
    """The rule of an event."""
    return lambda column: ex.Attribute(variable, index, column)
