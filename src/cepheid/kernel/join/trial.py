"""A join on a sample of events, as plain Python: how many events pass their tests, and how many pairs a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.kernel.arguments import EventFact
from cepheid.kernel.arrays import Array
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.types import INT64
from cepheid.kernel.constants import Constant, Constants
from cepheid.kernel.join.conditions import JoinConditions
from cepheid.kernel.join.kernel import BASE, COUNTS, END, TYPES, JoinFunction, make_function
from cepheid.kernel.join.layout import JoinLayout, StackLayout, lay_out
from cepheid.kernel.join.select import generate_select, types_of
from cepheid.kernel.reads import EventReader, I
from cepheid.plan.join import Join, Joint

HELD = n.Local("held", INT64)


@dataclass(frozen=True)
class Judge:
    """A condition over several events: it is asked of all combinations of the first entries of their stacks."""

    function: JoinFunction
    stacks: tuple[StackLayout, ...]


@dataclass(frozen=True)
class Trial:
    """The scan of a join as if everything that it waits for had come, and its conditions over several events."""

    layout: JoinLayout
    select: JoinFunction
    judges: tuple[Judge, ...]
    types: tuple[str, ...]

    def run(
        self,
        events: Sequence[Array],
        count: int,
        pairs: int,
        constants: Callable[[Sequence[Constant]], Sequence[int | float]],
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """How many events each stack has stored; of each condition, how many combinations hold, and of how many.

        pairs: how many combinations are tried, about.
        """
        # An event is stored at most once in a stack, and there are no more partitions than events.
        arrays = {array.array.name: [array.initial] * (count + 1) for array in self.select.state}
        cells = [0] * (COUNTS + len(self.layout.stacks))
        facts = dict(zip((array.holds for array in self.select.events), events, strict=True))
        numbers = {I: 0, END: count, BASE: 0, TYPES: len(facts.get(EventFact.TYPES, ()))}
        self.select.code.as_python()(
            *(numbers[number] for number in self.select.numbers),
            *constants(self.select.constants),
            *events,
            *(arrays[array.array.name] for array in self.select.state),
            *([0] * (count + 1) for _ in self.select.work),
            cells,
        )
        stored = cells[COUNTS:]
        held = []
        for judge in self.judges:
            most = round(pairs ** (1 / len(judge.stacks)))
            sizes = [min(stored[stack.number], most) for stack in judge.stacks]
            entries = (arrays[array.array.name] for array in judge.function.state)
            tried = 1
            for size in sizes:
                tried *= size
            holding = judge.function.code.as_python()(*sizes, *constants(judge.function.constants), *entries, cells)
            held.append((int(holding), tried))
        return stored, held


def make_trial(join: Join, nullable: frozenset[str], window: int | None) -> Trial:
    """Return the trial of a join on events where some columns have NULLs."""
    layout = lay_out(join, nullable)
    judges = tuple(_judge(layout, joint) for joint in join.joints)
    return Trial(layout, generate_select(layout, window, free=True), judges, types_of(layout))


def check_join(join: Join) -> None:
    """Raise the reason why a kernel can't compute what a join asks, if there is one."""
    layout = lay_out(join, frozenset())
    conditions, events = JoinConditions(layout, Constants()), EventReader((), frozenset(), Constants())
    for joint in join.joints:
        conditions.holds(joint)
    for stack in join.stacks:
        events.fence((), stack.tests)


def _judge(layout: JoinLayout, joint: Joint) -> Judge:
    constants = Constants()
    conditions = JoinConditions(layout, constants)
    stacks = tuple(layout.stacks[x] for x in sorted(joint.stacks))
    code = Code()
    code.set(HELD, 0)

    def loops(rest: Sequence[StackLayout]) -> None:
        if not rest:
            with code.when(conditions.holds(joint)):
                code.step(HELD)
            return
        entry = rest[0].entry
        code.set(entry, 0)
        with code.loop(entry < rest[0].local("count")):
            loops(rest[1:])
            code.step(entry)

    loops(stacks)
    code.give(HELD)
    state = tuple(array for stack in stacks for array in stack.arrays)
    counts = tuple(stack.local("count") for stack in stacks)
    return Judge(make_function("judge", code.block, counts, tuple(constants), (), state), stacks)
