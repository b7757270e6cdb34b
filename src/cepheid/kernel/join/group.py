"""Group entries by partition: those in which a new match could end are copied from the stacks, each into one block."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.kernel.arguments import CELLS, NOWHERE, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of
from cepheid.kernel.code.types import INT64, UINT32
from cepheid.kernel.join.kernel import COUNTS, FIRST, JoinFunction, Size, WorkArray, make_function
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.runtime import NIL

SLOT = n.Array("slot", UINT32)  # of each partition: which of the groups it is
TOUCHED = n.Array("touched", UINT32)  # of each group: its partition
K, GROUPS = n.Local("k", INT64), n.Local("groups", INT64)
PARTITION, GROUP = n.Local("partition", UINT32), n.Local("group", UINT32)
WHERE = n.Local("where", INT64)


def generate_group(layout: JoinLayout) -> JoinFunction:
    """The grouping: gives how many partitions there are. `first` is the position of the first event that is new."""
    code = Code()
    code.set(GROUPS, 0)
    last = layout.members(0) if layout.join.waits else layout.last
    for stack in last:
        _touch(code, stack)
    for stack in layout.stacks:
        _copy(code, stack)
    code.note("No partition has a group any more.")
    code.set(K, 0)
    with code.loop(K < GROUPS):
        code.put(SLOT, TOUCHED[K], NOWHERE)
        code.step(K)
    code.give(GROUPS)
    state = [array for stack in layout.stacks for array in stack.arrays]
    return make_function("group", code.block, (FIRST,), state=state, work=list(_work(layout)))


def grouped(stack: StackLayout) -> Iterator[tuple[StateArray, WorkArray]]:
    """The arrays of a stack and their copies, which are in the order of the partitions, and need not tell these."""
    for array in stack.arrays:
        if array.array != stack.partition:
            copy = n.Array(f"grouped_{array.array.name}", array.array.element)
            yield array, WorkArray(copy, Size.ENTRIES, stack.stack.variable)


def begins(stack: StackLayout) -> WorkArray:
    """Where each group begins."""
    return WorkArray(stack.array("begin"), Size.BOUNDS)


def _work(layout: JoinLayout) -> Iterator[WorkArray]:
    yield WorkArray(SLOT, Size.PARTITIONS, initial=NIL)
    yield WorkArray(TOUCHED, Size.PARTITIONS)
    for stack in layout.stacks:
        yield begins(stack)
        yield from (copy for _, copy in grouped(stack))


def _touch(code: Code, stack: StackLayout) -> None:
    """The partitions of the events that are new."""
    assert stack.partition is not None
    code.note(f"Partitions with a new {stack.name}.")
    code.set(K, CELLS[COUNTS + stack.number])
    with code.loop(all_of([K > 0, stack.at[K - 1] >= FIRST])):
        code.set(K, K - 1)
        code.set(PARTITION, stack.partition[K])
        with code.when(SLOT[PARTITION].equals(NOWHERE)):
            code.put(SLOT, PARTITION, GROUPS)
            code.put(TOUCHED, GROUPS, PARTITION)
            code.step(GROUPS)


def _copy(code: Code, stack: StackLayout) -> None:
    """Copy a stack by partition. Entries are counted two places ahead, so that copying turns counts into beginnings."""
    assert stack.partition is not None
    begin, count = begins(stack).array, stack.local("count")
    code.note(f"{stack.name}, partition by partition.")
    code.set(count, CELLS[COUNTS + stack.number])
    code.call(n.Invoke("count_groups", (stack.partition, count, SLOT, GROUPS, begin), INT64))
    code.set(K, 0)
    with code.loop(K < count):
        code.set(GROUP, SLOT[stack.partition[K]])
        with code.when(GROUP.differs(NOWHERE)):
            code.set(WHERE, begin[GROUP.to(INT64) + 1])
            code.put(begin, GROUP.to(INT64) + 1, WHERE + 1)
            for array, copy in grouped(stack):
                code.put(copy.array, WHERE, array.array[K])
        code.step(K)
