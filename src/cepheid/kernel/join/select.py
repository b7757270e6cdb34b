"""The scan that stores events: each where it can be part of a match.

An event is stored if it passes the tests on one event, and what must come before it is there, in its partition and in
the window (SASE 4.1, 4.3). Stacks are arrays in the order of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.automaton.model import Now
from cepheid.kernel.arguments import CELLS, NOWHERE, EventFact, Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of
from cepheid.kernel.code.types import INT64, UINT8, UINT32
from cepheid.kernel.constants import Constants
from cepheid.kernel.join.kernel import BASE, COUNTS, END, TYPES, JoinFunction, Size, WorkArray, make_function
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.reads import KIND, EventReader, I
from cepheid.kernel.runtime import NEVER
from cepheid.kernel.scan.kernel import event_arrays

PARTITION = n.Local("partition", UINT32)
NOW = n.Local("now", INT64)
CHOSEN = n.Array("chosen", UINT32)  # the events whose types matter
SEEN = n.Array("seen", INT64)  # events of each partition, where the window counts these
PICKED, K = n.Local("picked", INT64), n.Local("k", INT64)


def types_of(layout: JoinLayout) -> tuple[str, ...]:
    """The types that a join names, where events have types."""
    if layout.join.query.schema.roles.type is None:
        return ()
    return tuple(dict.fromkeys(name for stack in layout.join.stacks for name in stack.types))


def generate_select(layout: JoinLayout, window: int | None, *, free: bool = False) -> JoinFunction:
    """The scan. `free`: whatever came before an event, to see what passes the tests."""
    return _Select(layout, window, free).function()


class _Select:
    """Builds the scan."""

    def __init__(self, layout: JoinLayout, window: int | None, free: bool) -> None:
        self.layout = layout
        self.join = layout.join
        self.free = free
        self.code = Code()
        constants = Constants()
        self.constants = constants
        self.types = types_of(layout)
        self.events = EventReader(self.types, layout.nullable, constants)
        self.window = constants.named("window", window) if window is not None else None
        # A window of events counts all of a partition; else events of other types are passed at once.
        self.picks = bool(self.types) and not layout.counted
        # Of these it is remembered when the last one came.
        heard = {earlier.number for stack in layout.stacks for earlier in self.before(stack)}
        self.heard = [stack for stack in layout.stacks if stack.number in heard]

    def before(self, stack: StackLayout) -> tuple[StackLayout, ...]:
        """Return the stacks of the group before: they must have an event before one of this stack is of use."""
        return () if self.free else self.layout.members(stack.stack.group - 1)

    def function(self) -> JoinFunction:
        self.body()
        work = [WorkArray(CHOSEN, Size.BATCH)] if self.picks else []
        return make_function(
            "select",
            self.code.block,
            (I, END, BASE, *([TYPES] if self.picks else [])),
            tuple(self.constants),
            event_arrays(self.events.arrays),
            tuple(self.state()),
            work,
        )

    def state(self) -> Iterator[StateArray]:
        if self.layout.counted:
            yield StateArray(SEEN, Extent.PARTITIONS)
        for stack in self.heard:
            yield StateArray(stack.array("last", INT64), Extent.PARTITIONS, NEVER)
        for stack in self.layout.stacks:
            yield from stack.arrays

    def body(self) -> None:
        code = self.code
        for stack in self.layout.stacks:
            code.set(stack.local("count"), CELLS[COUNTS + stack.number])
        if self.picks:
            of_type, numbers = self.events.fact(EventFact.TYPE), self.events.fact(EventFact.TYPES)
            code.set(PICKED, n.Invoke("pick_events", (I, END, of_type, numbers, TYPES, CHOSEN), INT64))
            code.set(K, 0)
            with code.loop(K < PICKED):
                code.set(I, CHOSEN[K])
                code.step(K)
                self.event()
        else:
            code.set(I, I - 1)
            with code.loop(I + 1 < END):
                code.step(I)
                self.event()
        for stack in self.layout.stacks:
            code.put(CELLS, COUNTS + stack.number, stack.local("count"))
        code.give(0)

    def event(self) -> None:
        """What happens on one event."""
        code = self.code
        if not self.layout.alone:
            code.set(PARTITION, self.events.fact(EventFact.PARTITION)[I])
            if self.layout.nowhere:
                with code.when(PARTITION.equals(NOWHERE)):
                    code.note("In no partition.")
                    code.again()
        if self.layout.timed:
            code.set(NOW, self.events.fact(EventFact.TIME)[I])
        elif self.layout.counted:
            code.set(NOW, SEEN[self.partition] + 1)
            code.put(SEEN, self.partition, NOW)
        if self.types:
            code.set(KIND, self.events.kind())
        # The last ones first: an event does not come after itself.
        order = sorted(self.layout.stacks, key=lambda stack: -stack.stack.group)
        names = [name for stack in self.join.stacks for name in stack.types]
        if self.types and len(set(names)) == len(names):
            self.one_of(order)
        else:
            for stack in order:
                with code.when(all_of([self.is_of(stack), self.condition(stack)])):
                    self.store(stack)

    def one_of(self, stacks: list[StackLayout]) -> None:
        """Write the tests for stacks of which an event can belong to only one."""
        stack, *others = stacks
        with self.code.when(self.is_of(stack)), self.code.when(self.condition(stack)):
            self.store(stack)
        if others:
            with self.code.otherwise():
                self.one_of(others)

    @property
    def partition(self) -> n.Expr:
        return n.Immediate(0, INT64) if self.layout.alone else PARTITION

    def is_of(self, stack: StackLayout) -> n.Expr:
        """Whether the event has a type of a stack."""
        return self.events.is_of(stack.stack.types)

    def condition(self, stack: StackLayout) -> n.Expr:
        """Whether an event of its types is stored in a stack."""
        oldest: n.Expr = n.Immediate(NEVER, INT64, "NEVER") if self.window is None else NOW - self.window
        there = [earlier.array("last", INT64)[self.partition] > oldest for earlier in self.before(stack)]
        of_event, computed = self.events.fence((), stack.stack.tests)
        return all_of([*there, of_event, computed])

    def store(self, stack: StackLayout) -> None:
        """One more entry."""
        code, count = self.code, stack.local("count")
        code.put(stack.at, count, BASE + I)
        if stack.time is not None:
            code.put(stack.time, count, NOW)
        for field in stack.fields:
            value = self.events.translator.value(Now(field.column, self.join.query.schema.columns[field.column]))
            code.put(field.values, count, value.code)
            if field.nulls is not None:
                code.put(field.nulls, count, value.null.to(UINT8))
        if stack.partition is not None:
            code.put(stack.partition, count, PARTITION)
        if stack in self.heard:
            code.put(stack.array("last", INT64), self.partition, 0 if stack.time is None else NOW)
        code.step(count)
