"""How a scan keeps runs in lists: entries of a pool, linked for each partition.

All lists of runs share one pool, so that a run that goes on keeps its entry, and with it the registers that stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.automaton.model import Register
from cepheid.kernel.arguments import NOWHERE, Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, negate
from cepheid.kernel.code.types import BOOL, INT64, UINT8, UINT32, UINT64, Scalar
from cepheid.kernel.runtime import NIL
from cepheid.kernel.scan.graph import GraphCode, NoGraph
from cepheid.kernel.scan.kernel import Pool
from cepheid.kernel.scan.partition_values import PartitionValues
from cepheid.kernel.scan.program import Room
from cepheid.kernel.scan.registers import Read, ScanRegisters
from cepheid.kernel.scan.variables import (
    BEFORE,
    ENDED,
    FOLLOWING,
    FRESH,
    HISTORY,
    OVER,
    PARTITION,
    REUSED,
    RUN,
    SETTLES,
    chain_of,
    over,
    soon,
    tail_of,
)


@dataclass(frozen=True, slots=True)
class Registered:
    """The registers that a run gets: those that change, and those that it has from the run that it comes of."""

    changed: Sequence[Register]
    new: Read
    kept: Sequence[Register] = ()
    old: Read | None = None


class ListCode:
    """Writes code for the lists of one pool."""

    def __init__(
        self,
        code: Code,
        pool: Pool,
        registers: ScanRegisters,
        values: PartitionValues,
        graph: GraphCode,
        *,
        merges: bool,
        apart: bool = False,
    ) -> None:
        self.code = code
        self.pool = pool
        self.registers = registers
        self.values = values
        self.graph = graph
        self.merges = merges  # runs that are alike become one, when they have become many
        self.valued = isinstance(graph, NoGraph)  # an entry is in use or not, and has no history
        self.apart = apart  # what an instant adds is kept apart until it is over
        self.by_partition = values.partitions  # else all entries are of one partition
        self.marked = f"mark_{pool.name}"  # how many a partition may have before they are looked through
        self.next, self.node, self.partition, self.table = (
            n.Array(pool.array(what), UINT32) for what in ("next", "node", "partition", "table")
        )
        self.over = n.Array(pool.array(OVER), UINT8)
        self.free, self.used, self.room = (
            n.Local(f"{what}_{pool.name}", scalar)
            for what, scalar in (("free", UINT32), ("used", INT64), ("room", INT64))
        )
        for name in pool.lists:
            values.declare(pool.first(name), initial=NIL)
        if self.by_partition:
            values.declare(pool.count)
        if merges:
            values.declare(self.marked, initial=8)

    def state(self) -> Iterator[StateArray]:
        """The arrays of the entries."""
        yield StateArray(self.next, Extent.RUNS, 0, self.pool.name)
        yield StateArray(self.node, Extent.RUNS, NIL, self.pool.name)
        yield StateArray(self.partition, Extent.RUNS, 0, self.pool.name)
        for name, scalar, coded in self.registers.fields(self.pool.registers):
            yield StateArray(n.Array(self.pool.array(name), scalar), Extent.RUNS, 0, self.pool.name, coded)
        if self.pool.lasting:
            yield StateArray(n.Array(self.pool.array(ENDED), INT64), Extent.RUNS, 0, self.pool.name)
        if self.pool.ending:
            yield StateArray(self.over, Extent.RUNS, 0, self.pool.name)
        if self.merges:
            yield StateArray(self.table, Extent.TABLE, NIL, self.pool.name)

    def first(self, name: str) -> n.Expr:
        """The first entry of a list."""
        return self.values.get(self.pool.first(name))

    @property
    def count(self) -> n.Expr:
        """How many entries the partition has, in all lists."""
        return self.values.get(self.pool.count).to(INT64) if self.by_partition else self.used

    def field(self, at: n.Local) -> Read:
        """The registers of an entry."""
        return lambda name, scalar: n.Array(self.pool.array(name), scalar)[at]

    # Entries.

    def take(self) -> None:
        """A free entry."""
        code = self.code
        code.set(FRESH, self.free)
        code.set(self.free, self.next[FRESH])
        code.step(self.used)
        if self.by_partition:
            self.values.put(self.pool.count, self.values.get(self.pool.count) + 1)
            code.put(self.partition, FRESH, PARTITION)

    def release(self) -> None:
        """The entry of the run at hand is free."""
        code = self.code
        code.put(self.node, RUN, NOWHERE)
        if self.pool.ending:
            code.put(self.over, RUN, 0)
        code.put(self.next, RUN, self.free)
        code.set(self.free, RUN)
        code.set(self.used, self.used - 1)
        if self.by_partition:
            self.values.put(self.pool.count, self.values.get(self.pool.count) - 1)

    def fill(self, registers: Sequence[Register], read: Read) -> None:
        """Registers of the new entry."""
        for name, scalar, _ in self.registers.fields(registers):
            self.put_field(name, scalar, read(name, scalar))

    def put_field(self, name: str, scalar: Scalar, value: n.Expr) -> None:
        """A register of the new entry."""
        self.code.put(n.Array(self.pool.array(name), scalar), FRESH, value)

    def change_field(self, name: str, scalar: Scalar, value: n.Expr) -> None:
        """A register of the run at hand, which stays."""
        self.code.put(n.Array(self.pool.array(name), scalar), RUN, value)

    # Lists.

    def open(self, room: Room) -> None:
        """Before the event: it has added nothing yet."""
        self.code.set(chain_of(room), NOWHERE)
        if self.has_tail(room):
            self.code.set(tail_of(room), NOWHERE)

    def has_tail(self, room: Room) -> bool:
        """Whether what an event adds to a list is put before what is there."""
        return self.apart or not room.state.ends.contiguous

    def add(self, room: Room, node: n.Expr | None, registered: Registered, reuse: n.Expr) -> None:
        """A run of a list, kept aside until the event is over. `node`: its history, if not that of the run at hand.

        reuse: whether the run at hand is over, so that the new one can have its entry.
        """
        code = self.code
        with code.when(reuse):
            code.set(FRESH, RUN)
            code.set(REUSED, n.TRUE)
        with code.otherwise():
            self.take()
            if node is None or self.valued:
                code.put(self.node, FRESH, HISTORY if node is None else node)
            if registered.old is not None:
                self.fill(registered.kept, registered.old)
        if node is not None and not self.valued:
            code.put(self.node, FRESH, node)
        self.fill(registered.changed, registered.new)
        chain = chain_of(room)
        code.put(self.next, FRESH, chain)
        if self.has_tail(room):
            with code.when(chain.equals(NOWHERE)):
                code.set(tail_of(room), FRESH)
        code.set(chain, FRESH)

    def put_first(self, name: str, node: n.Expr) -> None:
        """A new entry at the head of a list."""
        code, name = self.code, soon(name) if self.apart else name
        self.take()
        code.put(self.node, FRESH, node)
        code.put(self.next, FRESH, self.first(name))
        self.values.put(self.pool.first(name), FRESH)

    def unlink(self, name: str, gone: n.Expr, reused: n.Expr = n.FALSE) -> None:
        """Take the run at hand out of its list, or go on to the next."""
        code = self.code
        with code.when(gone):
            with code.when(BEFORE.equals(NOWHERE)):
                self.values.put(self.pool.first(name), FOLLOWING)
            with code.otherwise():
                code.put(self.next, BEFORE, FOLLOWING)
            with code.when(negate(reused)):
                self.release()
        with code.otherwise():
            code.set(BEFORE, RUN)

    def close(self, room: Room) -> None:
        """After the event: what it has added is part of the list."""
        chain, first = chain_of(room), self.pool.first(soon(room.name) if self.apart else room.name)
        if not self.has_tail(room):  # no run waits longer than for one event: these are all
            self.values.put(first, chain)
            return
        with self.code.when(chain.differs(NOWHERE)):
            if self.apart and not room.state.ends.contiguous:
                with self.code.when(SETTLES):  # nothing more sees the instant
                    self.prepend(room, self.pool.first(room.name))
                with self.code.otherwise():
                    self.prepend(room, first)
            else:
                self.prepend(room, first)

    def prepend(self, room: Room, first: str) -> None:
        """What the event has added comes before what a list has."""
        self.code.put(self.next, tail_of(room), self.values.get(first))
        self.values.put(first, chain_of(room))

    # Instants.

    def end(self, name: str) -> None:
        """The run at hand of a list ends with the instant."""
        self.code.put(self.over, RUN, 1)
        self.values.put(over(name), 1)

    def forget_end(self) -> None:
        """Another run may have the entry at once; an earlier event of the instant may have ended this one before."""
        self.code.put(self.over, RUN, 0)

    def drop_ended(self, name: str) -> None:
        """After an instant: the runs that it has ended go."""
        code = self.code
        with code.when(self.values.get(over(name)).differs(0)):
            self.values.put(over(name), 0)
            self.drop(name, self.over[RUN].differs(0))

    def drop(self, name: str, gone: n.Expr) -> None:
        """Some runs of a list go."""
        code = self.code
        code.set(RUN, self.first(name))
        code.set(BEFORE, NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, self.next[RUN])
            self.unlink(name, gone)
            code.set(RUN, FOLLOWING)

    def admit(self, name: str) -> None:
        """After an instant: what it has added is part of the list."""
        code, first, added = self.code, self.pool.first(name), self.pool.first(soon(name))
        with code.when(self.first(soon(name)).differs(NOWHERE)):
            code.set(RUN, self.first(soon(name)))
            with code.loop(self.next[RUN].differs(NOWHERE)):
                code.set(RUN, self.next[RUN])
            code.put(self.next, RUN, self.first(name))
            self.values.put(first, self.values.get(added))
            self.values.put(added, NOWHERE)

    def clear(self, name: str) -> None:
        """End all runs of a list."""
        code = self.code
        code.set(RUN, self.first(name))
        self.values.put(self.pool.first(name), NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, self.next[RUN])
            self.release()
            code.set(RUN, FOLLOWING)

    def merge(self, rooms: Sequence[Room], lost: Mapping[str, n.Expr]) -> None:
        """When the runs of a partition have doubled: those that are alike become one (SASE+ 5.2.2).

        lost: by room, whether the run at hand can't go on.
        """
        with self.code.when(self.count > self.values.get(self.marked).to(INT64)):
            for room in rooms:
                if room.name in lost:
                    self.drop(room.name, lost[room.name])
                self.merge_alike(room)
            self.values.put(self.marked, self.count * 2 + 8)

    def merge_alike(self, room: Room) -> None:
        """Runs of a list that agree on all registers become one."""
        code, table = self.code, self.table
        place, found = n.Local("place", UINT64), n.Local("found", UINT32)
        mask = n.Local("mask", UINT64)
        fields = [n.Array(self.pool.array(name), s) for name, s, _ in self.registers.fields(room.registers)]
        fields += [self.over] if self.pool.ending else []

        def find(until: n.Expr) -> None:
            code.set(place, n.Immediate(0, UINT64))
            for field in fields:
                code.set(place, n.Invoke("mix", (place, field[RUN]), UINT64))
            code.set(place, place & mask)
            code.set(found, table[place])
            with code.loop(until):
                code.set(place, (place + 1) & mask)
                code.set(found, table[place])

        unlike = negate(all_of(_alike(field[found], field[RUN]) for field in fields))
        code.set(mask, (self.room.to(UINT64) * 2) - 1)
        code.set(RUN, self.first(room.name))
        code.set(BEFORE, NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, self.next[RUN])
            find(all_of([found.differs(NOWHERE), unlike]))
            with code.when(found.equals(NOWHERE)):
                code.put(table, place, RUN)
            with code.otherwise():
                code.set(HISTORY, self.node[found])
                self.graph.unite(HISTORY, self.node[RUN])
                code.put(self.node, found, HISTORY)
            self.unlink(room.name, found.differs(NOWHERE))
            code.set(RUN, FOLLOWING)
        code.note("The table is left empty.")
        code.set(RUN, self.first(room.name))
        with code.loop(RUN.differs(NOWHERE)):
            find(found.differs(RUN))
            code.put(table, place, NOWHERE)
            code.set(RUN, self.next[RUN])


def _alike(first: n.Expr, second: n.Expr) -> n.Expr:
    return n.Invoke("same", (first, second), BOOL) if first.type.real else first.equals(second)
