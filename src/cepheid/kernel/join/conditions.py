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
        stack = next(candidate for candidate in self.layout.stacks if candidate.stack.variable == node.variable)
        return stack.field(node.column).read(stack.entry)

    def holds(self, joint: Joint) -> n.Expr:
        """The condition that a test is TRUE for the events that are bound."""
        return self.translator.holds(joint.test.condition)

    def tests(self, stack: StackLayout, bound: Collection[StackLayout], *, late: bool) -> list[Joint]:
        """The tests of a stack with those that are bound; with the last one come those that are kept for the end."""
        there = {stack.number, *(bound_stack.number for bound_stack in bound)}
        tests = [j for j in self.join.joints if stack.number in j.stacks and j.stacks <= there and not j.late]
        return tests + [j for j in self.join.joints if late and j.late]

    def differs(self, stack: StackLayout, bound: Iterable[StackLayout]) -> list[n.Expr]:
        """Return the condition that no event is bound twice."""
        return [
            stack.at[stack.entry].differs(bound_stack.at[bound_stack.entry])
            for bound_stack in bound
            if self.may_share(bound_stack, stack)
        ]

    def may_share(self, stack: StackLayout, beside: StackLayout) -> bool:
        """Whether one event could be bound to both stacks, as in AND with two variables of one type."""
        typed = self.join.query.schema.roles.type is not None
        alike = not typed or not set(stack.stack.types).isdisjoint(beside.stack.types)
        return stack is not beside and stack.stack.group == beside.stack.group and alike


def is_before(stack: StackLayout, beside: StackLayout) -> bool:
    """Whether the events of a stack come before those of another."""
    return stack.stack.group < beside.stack.group
