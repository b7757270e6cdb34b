"""What is asked of several events, as code that reads the entries that are bound."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cepheid.kernel.code import nodes as n
from cepheid.kernel.constants import Constants
from cepheid.kernel.expressions import KernelTranslator, Value
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.pattern.expressions import nodes as ex
from cepheid.plan.join import Joint, Of


class JoinConditions:
    """The tests of a join, and which events they are about."""

    def __init__(self, layout: JoinLayout, constants: Constants) -> None:
        self.layout = layout
        self.join = layout.join
        self.translator = KernelTranslator(self._leaf, constants)

    def _leaf(self, node: ex.Expression) -> Value | None:
        """An attribute of an event that is bound."""
        if not isinstance(node, Of):
            return None
        stack = next(one for one in self.layout.stacks if one.stack.variable == node.variable)
        return stack.field(node.column).read(stack.entry)

    def holds(self, joint: Joint) -> n.Expr:
        """Whether a test holds."""
        return self.translator.holds(joint.test.condition)

    def tests(self, stack: StackLayout, bound: Collection[StackLayout], *, late: bool) -> list[Joint]:
        """The tests of a stack with those that are bound; with the last one come those that are kept for the end."""
        there = {stack.number, *(one.number for one in bound)}
        own = [j for j in self.join.joints if stack.number in j.stacks and j.stacks <= there and not j.late]
        return own + [j for j in self.join.joints if late and j.late]

    def differs(self, stack: StackLayout, bound: Iterable[StackLayout]) -> list[n.Expr]:
        """Return the condition that no event is bound twice."""
        return [stack.at[stack.entry].differs(one.at[one.entry]) for one in bound if self.meets(one, stack)]

    def meets(self, one: StackLayout, other: StackLayout) -> bool:
        """Whether one event could be bound to both stacks, as in AND with two variables of one type."""
        typed = self.join.query.schema.roles.type is not None
        alike = not typed or not set(one.stack.types).isdisjoint(other.stack.types)
        return one is not other and one.stack.group == other.stack.group and alike


def is_before(one: StackLayout, other: StackLayout) -> bool:
    """Whether the events of a stack come before those of another."""
    return one.stack.group < other.stack.group
