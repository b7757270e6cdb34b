"""From a join to its kernels."""

from __future__ import annotations

from cepheid.kernel.join.group import generate_group
from cepheid.kernel.join.kernel import JoinKernel
from cepheid.kernel.join.layout import lay_out
from cepheid.kernel.join.nest import generate_nest
from cepheid.kernel.join.select import generate_select, types_of
from cepheid.kernel.join.tree import generate_tree
from cepheid.plan.join import Join


def generate_join(
    join: Join, nullable: frozenset[str], window: int | None, order: tuple[int, ...] | None = None
) -> JoinKernel:
    """The kernels of a join where some columns have NULLs; the window is in ticks, or in events.

    order: of the positive stacks, by their numbers; None: it is chosen at each step.
    """
    layout = lay_out(join, nullable)
    construct = generate_tree(layout, window) if order is None else generate_nest(layout, window, order)
    group = None if layout.alone else generate_group(layout)
    variables = tuple(stack.variable for stack in join.stacks)
    select, types = generate_select(layout, window), types_of(layout)
    return JoinKernel(select, group, construct, types, layout.stacks, variables, len(join.positive))
