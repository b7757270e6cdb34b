"""A scan as it is called: its function, its constants, the events that it reads, and the arrays of its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cepheid.automaton.model import Register
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray, Mask, PieceBits, PieceValues, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constant

NODES, MATCHES, MERGED, NODE_ROOM, MATCH_ROOM = 0, 1, 4, 5, 6
"""Places among the cells, beside those of `runtime`: how many there are, and for how many there is room."""
FIRST_POOL = 7


@dataclass(frozen=True, slots=True)
class PoolCells:
    """Where a pool has its cells."""

    free: int
    used: int
    room: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Entries linked to lists, one of each name for each partition: runs, or matches that are not certain yet."""

    name: str
    number: int
    waits: bool  # these are matches that wait for an absence
    lists: tuple[str, ...]
    registers: tuple[Register, ...]  # that an entry has room for
    ending: bool = False  # an entry also has whether its run ends with the instant that is going on
    lasting: bool = False  # an entry also has the time of the last event of its match, which its wait counts from

    @property
    def cells(self) -> PoolCells:
        """Where its cells are."""
        first = FIRST_POOL + 3 * self.number
        return PoolCells(first, first + 1, first + 2)

    def array(self, what: str) -> str:
        """The name of an array of the entries: next, node, partition, or a register."""
        return f"{self.name}_{what}"

    @property
    def count(self) -> str:
        """The name of what counts the entries of each partition; it is not there where all are of one partition."""
        return f"count_{self.name}"

    @staticmethod
    def first(list_name: str) -> str:
        """The name of what holds the first entry of a list, for each partition."""
        return f"first_{list_name}"


@dataclass(frozen=True, eq=False)
class ScanKernel:
    """A generated scan."""

    code: Compilable
    constants: tuple[Constant, ...]
    events: tuple[EventArray, ...]
    state: tuple[StateArray, ...]
    slots: tuple[str, ...]  # arrays of nodes, one for each partition
    pools: tuple[Pool, ...]
    witnesses: tuple[str, ...]  # arrays of when an event was seen that must be absent before a first one
    lasting: Mapping[str, int]  # likewise, where it must be absent for so many ticks
    types: tuple[str, ...]
    shift: int  # a word of the match store is id << shift | config or exit
    stretched: tuple[bool, ...]  # by config or exit: whether a node stands for all events up to the one that follows
    valued: bool = False  # runs and matches are values: there is no match store

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return FIRST_POOL + 3 * len(self.pools)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads as values."""
        return tuple(e.holds.column for e in self.events if isinstance(e.holds, ColumnValues))

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The conditions that are computed beforehand."""
        return tuple(e.holds for e in self.events if isinstance(e.holds, Mask))


def parameters(
    constants: Sequence[Constant], events: Sequence[EventArray], state: Sequence[StateArray]
) -> tuple[n.Local | n.Array, ...]:
    """What a kernel is called with, after its numbers and before its cells."""
    return (*(c.parameter for c in constants), *(e.array for e in events), *(s.array for s in state))


def event_arrays(arrays: dict[EventArray, None]) -> tuple[EventArray, ...]:
    """Facts first, then columns with their flags, then masks: whatever asked for them first."""
    order = {ColumnValues: 1, ColumnNulls: 1, PieceValues: 1, PieceBits: 1, Mask: 2}
    return tuple(sorted(arrays, key=lambda e: (order.get(type(e.holds), 0), e.array.name)))
