"""What a join keeps of its events, and what everything is called in the text of its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, INT64, UINT8, UINT32, Scalar
from cepheid.kernel.expressions import KernelSort, Value, sort_of
from cepheid.kernel.library import FUNCTIONS
from cepheid.kernel.names import distinct, identifier
from cepheid.plan.join import Join, Stack

FACTS = ("at", "time", "partition")
"""Of every entry: the position of its event, its time if there is a window, its partition if there are several."""
WORDS = (
    *FACTS, "begin", "by", "ceiling", "count", "end", "entry", "first", "floor", "from", "grouped", "heads", "high",
    "key", "keys", "last", "least", "low", "most", "moved", "new", "next", "out", "place", "places", "since", "spare",
    "stop", "to", "until", "upto",
    # Names of the events and of the constants begin with these.
    "constant", "event", "null", "test", "type",
)  # fmt: skip
"""What the name of a variable is put after, with an underscore; none of them has one."""


@dataclass(frozen=True)
class StackField:
    """A column of a stack: its values, and which of them are NULL."""

    column: str
    sort: KernelSort
    values: n.Array
    nulls: n.Array | None

    def read(self, entry: n.Expr) -> Value:
        """The value of an entry."""
        return Value(self.values[entry], self.sort, n.FALSE if self.nulls is None else self.nulls[entry].differs(0))


@dataclass(frozen=True)
class StackLayout:
    """The arrays of one stack, one element for each entry. `name`: what its variable is called in the text."""

    number: int
    stack: Stack
    name: str
    at: n.Array
    time: n.Array | None
    partition: n.Array | None
    fields: tuple[StackField, ...]

    @property
    def entry(self) -> n.Local:
        """The entry that is bound."""
        return n.Local(f"j{self.name}", INT64)

    def local(self, word: str) -> n.Local:
        """A variable of a kernel that is of this stack."""
        assert word in WORDS
        return n.Local(f"{word}_{self.name}", BOOL if word == "by" else INT64)

    def array(self, word: str, element: Scalar = UINT32) -> n.Array:
        """An array of a kernel that is of this stack."""
        assert word in WORDS
        return n.Array(f"{word}_{self.name}", element)

    @property
    def when(self) -> n.Array:
        """The times, where there is a window."""
        assert self.time is not None
        return self.time

    def field(self, column: str) -> StackField:
        """One of the columns."""
        return next(field for field in self.fields if field.column == column)

    @property
    def arrays(self) -> Iterator[StateArray]:
        """What there is of each entry, the partition last."""
        yield self._of_entries(self.at)
        if self.time is not None:
            yield self._of_entries(self.time)
        for field in self.fields:
            yield self._of_entries(field.values, coded=field.sort is KernelSort.STRING)
            if field.nulls is not None:
                yield self._of_entries(field.nulls)
        if self.partition is not None:
            yield self._of_entries(self.partition)

    def _of_entries(self, array: n.Array, *, coded: bool = False) -> StateArray:
        return StateArray(array, Extent.ENTRIES, 0, self.stack.variable, coded)


@dataclass(frozen=True)
class JoinLayout:
    """The stacks of a join, in its order."""

    join: Join
    nullable: frozenset[str]
    stacks: tuple[StackLayout, ...]

    @property
    def timed(self) -> bool:
        """Whether the window is of time."""
        return self.join.query.timed

    @property
    def counted(self) -> bool:
        """Whether the window is of events."""
        return self.join.query.counted

    @property
    def alone(self) -> bool:
        """Whether there is one partition only."""
        return not self.join.partitions.all

    @property
    def nowhere(self) -> bool:
        """Whether an event may be in no partition."""
        return not self.nullable.isdisjoint(self.join.partitions.agreed)

    @property
    def positive(self) -> Sequence[StackLayout]:
        """Those that a match binds."""
        return self.stacks[: len(self.join.positive)]

    def members(self, group: int) -> tuple[StackLayout, ...]:
        """The positive ones of a group."""
        return tuple(self.stacks[x] for x in self.join.members(group))

    @property
    def last(self) -> tuple[StackLayout, ...]:
        """Those of the last group."""
        return self.members(self.join.groups - 1)

    @property
    def pivots(self) -> tuple[StackLayout, ...]:
        """Where several events end a sequence, one of them is new, and no later one of them: each in turn.

        Where one event ends it, that one is new.
        """
        return self.last if len(self.last) > 1 and not self.join.waits else ()


def lay_out(join: Join, nullable: frozenset[str]) -> JoinLayout:
    """The layout of a join where some columns have NULLs."""
    names = _names(join)
    arrays = _arrays(join, names)
    stacks = []
    for x, (stack, name) in enumerate(zip(join.stacks, names, strict=True)):
        fields = []
        for column in stack.columns:
            sort = sort_of(join.query.schema.columns[column])
            nulls = n.Array(arrays[x, column, True], UINT8) if column in nullable else None
            fields.append(StackField(column, sort, n.Array(arrays[x, column, False], sort.scalar), nulls))
        time = n.Array(f"time_{name}", INT64) if join.query.within is not None else None
        partition = n.Array(f"partition_{name}", UINT32) if join.partitions.all else None
        stacks.append(StackLayout(x, stack, name, n.Array(f"at_{name}", INT64), time, partition, tuple(fields)))
    return JoinLayout(join, nullable, tuple(stacks))


def _names(join: Join) -> list[str]:
    """The variables as the text has them: different, and such that nothing made of them is a function of ours."""
    wanted = distinct({x: stack.variable for x, stack in enumerate(join.stacks)})
    names: list[str] = []
    for name in wanted.values():
        while any(f"{word}_{name}" in FUNCTIONS for word in WORDS) or name in names:
            name += "_"
        names.append(name)
    return names


def _arrays(join: Join, names: Sequence[str]) -> dict[tuple[int, str, bool], str]:
    """The names of the columns' arrays and of their flags, not to be mistaken for anything else."""
    wanted = {(x, "", False): f"j{name}" for x, name in enumerate(names)}
    for is_flag in (False, True):
        for x, name in enumerate(names):
            start = "of_" * (name.split("_")[0] in WORDS)
            for column in join.stacks[x].columns:
                wanted[x, column, is_flag] = f"{start}{name}_{identifier(column)}{'_null' * is_flag}"
    return distinct(wanted)
