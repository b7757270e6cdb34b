"""Which conditions bound a search in a stack: with `a.price < b.price`, the fitting ones by price are a range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import is_range, limits_above, limits_below, swap
from cepheid.pattern.tree.walk import walk
from cepheid.plan.join import Join, Joint, Of

FEW = 32
"""Candidates that are tested one by one rather than sorted."""


@dataclass(frozen=True)
class StackBound:
    """`column operator value`: the column of one stack, the value of others."""

    joint: Joint
    column: Of
    operator: str
    value: ex.Expression

    @property
    def below(self) -> bool:
        """Whether it says where the fitting ones begin."""
        return limits_below(self.operator)

    @property
    def above(self) -> bool:
        """Whether it says where they end."""
        return limits_above(self.operator)


def bounds_of(join: Join, number: int) -> Iterator[StackBound]:
    """Every condition that bounds a column of a stack by values of others; whether these can be sorted is not asked."""
    name = join.stacks[number].variable
    for joint in join.joints:
        node = joint.test.condition
        if number not in joint.stacks or joint.late or not isinstance(node, ex.Compare):
            continue
        if not is_range(node.operator) or any(join.stacks[x].negated for x in joint.stacks):
            continue
        for side, other, operator in (
            (node.left, node.right, node.operator),
            (node.right, node.left, swap(node.operator)),
        ):
            read = {column.variable for column in walk(other) if isinstance(column, Of)}
            if isinstance(side, Of) and side.variable == name and name not in read:
                yield StackBound(joint, side, operator, other)


def most_bounded(bounds: Iterable[StackBound]) -> tuple[StackBound, ...]:
    """Those of the column that most of them bound: a stack is sorted by one column."""
    known = tuple(bounds)
    if not known:
        return ()
    column = Counter(bound.column.column for bound in known).most_common(1)[0][0]
    return tuple(bound for bound in known if bound.column.column == column)
