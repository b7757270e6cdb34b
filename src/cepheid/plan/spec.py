"""A plan by its name: what a user forces, and how one is named in a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from cepheid.errors import UsageError, did_you_mean
from cepheid.plan.join import Join


class PlanKind(Enum):
    """How a query is evaluated."""

    AUTO = "auto"
    AUTOMATON = "automaton"  # every prefix is a run, as the events come
    STACKS = "stacks"  # backwards from the last event
    LAZY = "lazy"  # in an order that is given
    TREE = "tree"  # in an order that is chosen at each step


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """A plan. `order` are the variables of a lazy one.

    partition: which attributes of `[attr]` split the stream, if not all do; the others are compared when events are
    joined, or after that (`late`).
    """

    way: PlanKind
    order: tuple[str, ...] = ()
    partition: tuple[str, ...] | None = None
    late: bool = False

    @property
    def joins(self) -> bool:
        """Whether it is one of the join's."""
        return self.way in (PlanKind.STACKS, PlanKind.LAZY, PlanKind.TREE)

    @property
    def label(self) -> str:
        """Its name, with the columns that split the stream where these are not all keys."""
        return str(self) if self.partition is None else f"{self} by {', '.join(self.partition)}"

    def __str__(self) -> str:
        names = (name if name.isidentifier() else f"`{name}`" for name in self.order)
        return f"lazy({', '.join(names)})" if self.way is PlanKind.LAZY else self.way.value


AUTO, AUTOMATON, STACKS, TREE = (
    PlanSpec(PlanKind.AUTO),
    PlanSpec(PlanKind.AUTOMATON),
    PlanSpec(PlanKind.STACKS),
    PlanSpec(PlanKind.TREE),
)
_NAMES = [way.value for way in PlanKind if way is not PlanKind.LAZY]


def read_plan(plan: object) -> PlanSpec:
    """A plan as a user writes it.

    >>> read_plan("lazy(c, b, a)").order
    ('c', 'b', 'a')
    """
    if isinstance(plan, PlanSpec):
        return plan
    text = plan.strip() if isinstance(plan, str) else ""
    lazy = re.fullmatch(r"lazy\s*\((.*)\)", text)
    if lazy is not None:
        names = (name.strip().strip("`") for name in re.findall(r"`[^`]*`|[^,`]+", lazy[1]))
        return PlanSpec(PlanKind.LAZY, tuple(name for name in names if name))
    if text not in _NAMES:
        remedy = did_you_mean(str(plan), [*_NAMES, "lazy(c, b, a)"], "plans")
        raise UsageError("CEP601", f"unknown plan {plan!r}", remedy)
    return PlanSpec(PlanKind(text))


def identity(choice: PlanSpec, join: Join | None) -> tuple[object, ...]:
    """What two plans have in common that are one, but for how the stream is split: the last-first order has a name."""
    if join is None or not choice.joins or choice.way is PlanKind.TREE:
        return (choice.way,)
    return (PlanKind.LAZY, *order_of(choice, join))


def order_of(choice: PlanSpec, join: Join) -> tuple[int, ...]:
    """The order of a plan, as numbers of stacks; a tree has none, and takes what is given as the tie-break."""
    names = [join.stacks[x].variable for x in join.positive]
    if choice.way is not PlanKind.LAZY:
        return tuple(sorted(join.positive, key=lambda x: (-join.stacks[x].group, x)))
    if sorted(choice.order) != sorted(names):
        wanted = ", ".join(reversed(names))
        message = f"lazy({', '.join(choice.order)}) does not name each variable of the pattern once"
        raise UsageError("CEP611", message, f"write an order of {', '.join(names)}, such as lazy({wanted})")
    return tuple(map(names.index, choice.order))
