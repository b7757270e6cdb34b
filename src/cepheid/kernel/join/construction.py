"""What a construction in a fixed order and one in any order have in common: partitions, pivots, and how they stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache

from cepheid.kernel.arguments import CELLS
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of
from cepheid.kernel.code.types import INT64
from cepheid.kernel.constants import Constants
from cepheid.kernel.join.absent import AbsenceSearch, extreme
from cepheid.kernel.join.conditions import JoinConditions
from cepheid.kernel.join.group import begins, grouped
from cepheid.kernel.join.kernel import (
    COUNTS,
    FIRST,
    FOUND,
    LEAD,
    ORIGIN,
    PARTITION,
    PARTITIONS,
    PIVOT,
    ROOM,
    UNTIL,
    JoinFunction,
    Size,
    WorkArray,
    make_function,
)
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.join.lookup import Lookup, find_lookup
from cepheid.kernel.runtime import TESTS

MATCHES, LIMIT = n.Local("found", INT64), n.Local("room", INT64)
BEFORE = n.Local("before", INT64)  # what was found before the lead
TESTED = n.Local("tests", INT64)
RESUMED = n.Local("resumed", INT64)  # the lead to go on with, from 1
WHICH = n.Local("pivot", INT64)
AT, NOW = n.Local("at", INT64), n.Local("now", INT64)  # the position and the time of the lead


class Construction(ABC):
    """The code of a construction, as far as it does not depend on the order."""

    def __init__(self, layout: JoinLayout, window: int | None) -> None:
        self.layout = layout
        self.join = layout.join
        self.code = Code()
        self.constants = Constants()
        self.reach = self.constants.named("window", window) if window is not None else None
        self.conditions = JoinConditions(layout, self.constants)
        self.absence = AbsenceSearch(layout, self.conditions, self.reach)
        self.lookups: dict[int, Lookup] = {}

    @property
    def window(self) -> n.Local:
        """How long a match may last."""
        assert self.reach is not None
        return self.reach

    def find_lookups(self, stacks: tuple[StackLayout, ...]) -> None:
        """Which of some stacks are worth sorting."""
        for stack in stacks:
            lookup = find_lookup(self.join, stack, self.conditions.translator)
            if lookup is not None:
                self.lookups[stack.number] = lookup

    # The function and what it is called with.

    def function(self, *numbers: n.Local, work: tuple[WorkArray, ...] = ()) -> JoinFunction:
        """What was built, with as many parameters as it has a use for."""
        block = self.code.block
        used = {node.name for node in variables_in(block)}
        locals_ = [PARTITION, PARTITIONS, FIRST, UNTIL, ORIGIN, *numbers]
        state = [array for stack in self.layout.stacks for array in stack.arrays]
        wanted = list(work)
        if not self.layout.alone:
            state = []
            for stack in self.layout.stacks:
                wanted += (
                    WorkArray(array.array, copy.size, copy.owner, kept_as=copy.name) for array, copy in grouped(stack)
                )
                wanted.append(begins(stack))
        wanted += [array for lookup in self.lookups.values() for array in lookup.work()]
        wanted += [WorkArray(output(stack), Size.MATCHES) for stack in self.layout.positive]
        return make_function(
            "construct",
            block,
            [number for number in locals_ if number.name in used],
            [constant for constant in self.constants if constant.parameter.name in used],
            state=[array for array in state if array.array.name in used],
            work=[array for array in wanted if array.array.name in used],
        )

    # Partitioning.

    def body(self) -> None:
        """Write the loop over the partitions."""
        code = self.code
        code.set(MATCHES, CELLS[FOUND])
        code.set(LIMIT, CELLS[ROOM])
        if self.join.joints:
            code.set(TESTED, 0)
        code.note("Where to go on, if there was no room: the lead, from 1.")
        code.set(RESUMED, CELLS[LEAD])
        code.put(CELLS, LEAD, 0)
        if self.layout.pivots:
            code.set(WHICH, CELLS[PIVOT])
            code.put(CELLS, PIVOT, 0)
        for lookup in self.lookups.values():
            lookup.begin(code)
        if self.layout.alone:
            self.partition()
        else:
            with code.loop(PARTITION < PARTITIONS):
                self.partition()
                code.step(PARTITION)
        self.finish(MATCHES)
        code.give(1 if self.layout.alone else PARTITION)

    def finish(self, matches: n.Expr) -> None:
        """Write the number of matches and of tests into the cells."""
        self.code.put(CELLS, FOUND, matches)
        if self.join.joints:
            self.code.put(CELLS, TESTS, CELLS[TESTS] + TESTED)

    def stop(self, lead: n.Expr) -> None:
        """Return because there is no room for the matches of a lead: they are taken back, and the caller makes room."""
        self.finish(BEFORE)
        self.code.put(CELLS, LEAD, lead + 1)
        if self.layout.pivots:
            self.code.put(CELLS, PIVOT, WHICH)
        self.code.give(0 if self.layout.alone else PARTITION)

    def partition(self) -> None:
        """The matches of a partition."""
        code, pivots = self.code, self.layout.pivots
        if not pivots:
            self.ranges()
            self.segments()
            return
        names = [stack.stack.variable for stack in pivots]
        code.note(f"One of {', '.join(names[:-1])} and {names[-1]} is new, and those before it are not.")
        with code.loop(WHICH < len(pivots)):
            self.ranges()
            for stack in pivots:
                bounds = (stack.at, stack.local("low"), stack.local("high"), FIRST)
                code.set(stack.local("new"), n.Invoke("first_from", bounds, INT64))
            self.settle_pivot(0)
            self.segments()
            code.step(WHICH)
        if not self.layout.alone:
            code.set(WHICH, 0)

    def settle_pivot(self, k: int) -> None:
        """Write a branch for each pivot, beginning with one of them."""
        code, pivots, last = self.code, self.layout.pivots, k == len(self.layout.pivots) - 1
        with code.when(n.TRUE if last else WHICH.equals(k)):
            code.set(pivots[k].local("low"), pivots[k].local("new"))
            for other in pivots[:k]:
                code.set(other.local("high"), other.local("new"))
        if not last:
            with code.otherwise():
                self.settle_pivot(k + 1)

    def ranges(self) -> None:
        """Set the range of each stack to all entries of a partition."""
        code = self.code
        for stack in self.layout.stacks:
            begin = begins(stack).array
            code.set(stack.local("low"), 0 if self.layout.alone else begin[PARTITION])
            code.set(stack.local("high"), CELLS[COUNTS + stack.number] if self.layout.alone else begin[PARTITION + 1])
        if self.join.waits:
            (first,) = self.layout.members(0)
            code.note(f"The window of an {first.stack.variable} must be over.")
            self.search(first.local("high"), "first_after", first.when, first.local("low"), first.local("high"), UNTIL)

    @abstractmethod
    def segments(self) -> None:
        """The matches of a partition, or of a part of one."""

    @contextmanager
    def where_all_have_entries(self) -> Iterator[None]:
        """A block for when there is an entry for every component."""
        there = (stack.local("low") < stack.local("high") for stack in self.layout.positive)
        with self.code.when(all_of(there)):
            yield

    def search(
        self,
        into: n.Local,
        function: str,
        array: n.Array,
        low: n.Expr,
        high: n.Expr,
        value: n.Expr,
    ) -> None:
        """The first entry of a range that is not before a value (`first_from`), or that is after it (`first_after`)."""
        self.code.set(into, n.Invoke(function, (array, low, high, value), INT64))

    def move(self, index: n.Local, high: n.Expr, condition: n.Expr) -> None:
        """Move an index on while a condition holds."""
        with self.code.loop(all_of([index < high, condition])):
            self.code.step(index)

    def narrow_low(
        self, stack: StackLayout, near: Sequence[StackLayout], low: n.Local, high: n.Local, *, placed: bool
    ) -> None:
        """Where the candidates of a stack begin: after some events (`placed`), or in the window with these."""
        if placed:
            floor = extreme(self.code, "floor", [bound.at[bound.entry] for bound in near], ">")
            self.search(stack.local("from"), "first_after", stack.at, low, high, floor)
        else:
            latest = extreme(self.code, "latest", [bound.when[bound.entry] for bound in near], ">")
            self.search(stack.local("from"), "first_after", stack.when, low, high, latest - self.window)

    def narrow_high(
        self, stack: StackLayout, near: Sequence[StackLayout], low: n.Local, high: n.Local, *, placed: bool
    ) -> None:
        """Where the candidates of a stack end: before some events (`placed`), or in the window with these."""
        if placed:
            ceiling = extreme(self.code, "ceiling", [bound.at[bound.entry] for bound in near], "<")
            self.search(stack.local("to"), "first_from", stack.at, low, high, ceiling)
        else:
            earliest = extreme(self.code, "earliest", [bound.when[bound.entry] for bound in near], "<")
            self.search(stack.local("to"), "first_from", stack.when, low, high, earliest + self.window)

    def place(self, stack: StackLayout) -> None:
        """The position of the event that is bound, for the output."""
        self.code.set(stack.local("place"), stack.at[stack.entry] - ORIGIN)


def output(stack: StackLayout) -> n.Array:
    """The positions of a component's events in the matches."""
    return stack.array("out")


def of_group(stacks: Sequence[StackLayout], pick: Callable[[Iterable[int]], int]) -> list[StackLayout]:
    """Return the stacks of the first group among some (`min`), or of the last (`max`)."""
    group = pick([layout.stack.group for layout in stacks])
    return [layout for layout in stacks if layout.stack.group == group]


def variables_in(tree: Hashable) -> Iterator[n.Local | n.Array]:
    """All variables and arrays of a tree, each as often as it is there."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
        elif parts := _parts(node.__class__):
            if isinstance(node, n.Local | n.Array):
                yield node
            else:
                waiting += [getattr(node, part) for part in parts]


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The names of what a node has; to ask for them each time takes longer than all the rest."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
