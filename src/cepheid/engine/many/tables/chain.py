"""A template as a chain of steps: what the tables of many queries are made of.

Each step binds one event. What it asks of the event alone, by a comparison of a column with a constant, are *bounds*;
a *choice* is one of several lists of conditions, as of IN and OR; everything else is a *test*, which is generated code.
A constant is a literal, or a column of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.automaton.model import Ends
from cepheid.front.runnable import Runnable
from cepheid.kernel.arguments import Mask
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind, Type
from cepheid.pattern.tree.partitioning import Partitioning


class NotChained(Exception):  # noqa: N818  a reason, not an error
    """Why a template is no chain."""


class ComparisonForm:
    """How a column is compared."""

    VALUE, REAL, TEXT, TYPE, PARTITION, MASK = "value", "real", "text", "type", "partition", "mask"


@dataclass(frozen=True, slots=True)
class ComputedCondition:
    """A condition on events of some types, computed for a batch beforehand.

    query: one that has it. All that have the same need it once.
    """

    text: str
    types: tuple[str, ...]
    query: Runnable = field(compare=False)
    mask: Mask = field(compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """What events are compared by: a column as whole numbers, as doubles or as texts; the type; the partition.

    Or whether a condition on an event holds, which is computed beforehand.
    """

    form: str
    column: str = ""
    kind: Kind = Kind.INT
    partitions: Partitioning | None = None
    computed: ComputedCondition | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RuleConstant(ex.Expression):
    """A column of the rules."""

    column: str
    type: Type


Constant = ex.Literal | RuleConstant


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a column is compared with: `key operator constant`."""

    key: Key
    operator: str
    constant: Constant


@dataclass(frozen=True, slots=True)
class Slot(ex.Expression):
    """A number that a run holds, by its place."""

    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class TestConstant(ex.Expression):
    """A constant of a test, by its place among those of the test."""

    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class SharedTest:
    """A condition with its constants taken out: equal ones are generated once."""

    condition: ex.Expression
    constants: tuple[Constant, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Fence:
    """What an event must pass; of a choice, in one of its ways."""

    bounds: tuple[Bounds, ...]
    tests: tuple[SharedTest, ...]
    ways: tuple[Fence, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it has constants of the rules."""
        constants = [bounds.constant for bounds in self.bounds]
        constants += [constant for test in self.tests for constant in test.constants]
        return any(isinstance(constant_, RuleConstant) for constant_ in constants) or any(
            way.differs for way in self.ways
        )


@dataclass(frozen=True, slots=True)
class ChainWait:
    """How a run waits for the next step. `ending`: what ends the wait, where that is not the next step itself."""

    ends: Ends
    lasts: Constant | None  # it is over when it has lasted so many ticks
    ending: Fence | None = None


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One event: what it must pass, what is held of it, and how the run then waits; None: it is the last one."""

    fence: Fence
    transfer: tuple[tuple[int, ex.Expression], ...]
    wait: ChainWait | None


@dataclass(frozen=True, slots=True)
class Copied:
    """What a result has of an event: a column, by the step that bound it."""

    step: int
    column: str


@dataclass(frozen=True)
class Chain:
    """A template for the tables."""

    steps: tuple[ChainStep, ...]
    partition: Key | None  # all events of a match have the same one
    slots: tuple[Type, ...]
    results: tuple[Copied | Slot, ...] = ()  # of CESAR: the attributes
    simultaneous: bool = False
    valued: bool = False
    labels: tuple[str, ...] = ()  # the variables of the steps

    def begins_each(self, at: int) -> bool:
        """Whether rules are the same up to a step, and differ in what ends the wait after it: then no run is shared."""
        wait = self.steps[at].wait
        if wait is None or wait.ends is not Ends.DECISION or any(step.fence.differs for step in self.steps[: at + 1]):
            return False
        return (self.steps[at + 1].fence if wait.ending is None else wait.ending).differs
