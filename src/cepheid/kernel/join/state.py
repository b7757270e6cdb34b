"""The state of a join: its stacks, and what is counted.

All of it is in arrays that the kernels work on. Here they grow, are cleared of what no match to come can need, are
written down and taken up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.arrays import Array, Pins, as_kind, as_read, longer, nbytes, new_array, owned, rounded
from cepheid.kernel.join.kernel import COUNTS, JoinFunction, JoinKernel, Size, WorkArray
from cepheid.kernel.join.select import SEEN
from cepheid.kernel.runtime import FAILED, TESTS
from cepheid.plan.join import Join
from cepheid.values.json import Json

FEW = 1024
"""Entries that are kept although their window is over."""


class StackState:
    """The arrays of one join. `window` is in ticks, or in events; `once`: all events come in one batch."""

    def __init__(self, join: Join, kernel: JoinKernel, window: int | None, *, native: bool, once: bool = False) -> None:
        self.join = join
        self.kernel = kernel
        self.window = window
        self.native = native
        self.once = once
        self.partitions = 0
        self.arrays: dict[str, Array] = {}
        self.work: dict[str, Array] = {}  # what is filled and read in one go
        self.cells: Array = new_array("int64", kernel.cells, 0, native=native)
        self.stacks = kernel.stacks
        self.enough = FEW
        self._fitted: int | None = None  # partitions for which there is room; None: it is not known
        self._spare = 0  # events for which there is room, wherever they go
        self._pins: dict[str, Pins] = {}
        self._component_cells = [COUNTS + stack for stack in join.positive]
        last = join.members(join.groups - 1)
        # The stack of the one event that ends a sequence, where nothing waits for an absence after it.
        self._last = last[0] if len(last) == 1 and not join.waits else None

    # Arrays.

    def fit(self, partitions: int) -> None:
        """Make every array of the state as long as it has to be; what there is stays."""
        self.reserve(0, partitions)

    def reserve(self, events: int, partitions: int) -> None:
        """Room for so many more events, in so many partitions."""
        if partitions != self.partitions or self._fitted is None:
            self.partitions = partitions
            fits = rounded(partitions) == self._fitted
        else:
            fits = True
        if not fits or events > self._spare:
            self._fitted = rounded(partitions)
            counts = self._counts()
            for wanted in self.kernel.select.state:
                self._lengthen(wanted, counts[wanted.owner] if wanted.owner else 0, events)
            for name, array in zip(self.kernel.select.work_names, self.kernel.select.work, strict=True):
                if name not in self.work or len(self.work[name]) <= events:
                    self._renew(name, array, events + 1)
            self._spare = self._least_room(counts)
        self._spare -= events

    def _counts(self) -> dict[str, int]:
        """How many entries the stack of each variable has."""
        counts = map(int, self.cells[COUNTS:])
        return dict(zip(self.kernel.variables, counts, strict=True))

    def _least_room(self, counts: Mapping[str, int]) -> int:
        """How many events have room, wherever they go."""
        select = self.kernel.select
        rooms = [
            len(self.arrays[name]) - counts[array.owner]
            for name, array in zip(select.state_names, select.state, strict=True)
            if array.extent is not Extent.PARTITIONS
        ]
        return min(rooms + [len(self.work[name]) - 1 for name in select.work_names])

    def reserve_work(self, function: JoinFunction) -> None:
        """Room for what a function fills and reads in one go; its output has room of its own."""
        partitions, counts = rounded(self.partitions), self._counts()
        kept = [array for array in function.work if array.size is not Size.MATCHES]
        for name, array in zip(function.work_names, kept, strict=True):
            match array.size:
                case Size.PARTITIONS:
                    size = partitions
                case Size.BOUNDS:
                    size = partitions + 2
                case Size.ENTRIES:
                    size = counts[array.owner] + 1
                case _:
                    size = self.kernel.positive + 1
            if name not in self.work or len(self.work[name]) < size:
                self._renew(name, array, size)

    def _lengthen(self, wanted: StateArray, count: int, events: int) -> None:
        name, by_partition = wanted.array.name, wanted.extent is Extent.PARTITIONS
        size = rounded(self.partitions) if by_partition else count + events
        old = self.arrays.get(name)
        have = 0 if old is None else len(old)
        if old is not None and have >= size:
            return
        # What has no meaning yet is not written: memory that is never touched costs nothing. A flag of NULL that the
        # entries so far did not have is not set.
        meant = by_partition or (old is None and count > 0)
        size = max(size, 0 if self.once else 2 * have, 16)
        initial = wanted.initial if meant else None
        self.arrays[name] = longer(old, wanted.array.element.name, size, initial, native=self.native)

    def _renew(self, name: str, wanted: WorkArray, size: int) -> None:
        have = len(self.work.get(name, ()))
        size = max(size, 0 if self.once else 2 * have, 16)
        self.work[name] = new_array(wanted.array.element.name, size, wanted.initial, native=self.native)

    def arguments(self, function: JoinFunction) -> list[Array]:
        """The arrays of a function in the order of its parameters; after them come its output and the cells.

        For machine code they are pinned.
        """
        arrays = [
            *map(self.arrays.__getitem__, function.state_names),
            *map(self.work.__getitem__, function.work_names),
        ]
        return self._pins.setdefault(function.code.function.name, Pins()).pin(arrays) if self.native else arrays

    def change_kernel(self, kernel: JoinKernel) -> None:
        """Go on with a kernel for another order, or for which more columns have NULLs."""
        self.kernel = kernel
        self._fitted = None
        self.fit(self.partitions)

    def to_native(self) -> None:
        """From lists to arrays: the values are the same."""
        self.native = True
        self.cells = as_kind(self.cells, "int64", native=True)
        for wanted in self.kernel.select.state:
            name = wanted.array.name
            if name in self.arrays:
                self.arrays[name] = as_kind(self.arrays[name], wanted.array.element.name, native=True)
        self.work, self._fitted = {}, None

    def reset(self) -> None:
        """As empty as new: another compiled run can have the arrays, since to touch fresh memory takes long."""
        self.cells[:] = 0
        for wanted in self.kernel.select.state:
            if wanted.extent is Extent.PARTITIONS:
                self.arrays[wanted.array.name].fill(wanted.initial)
        self.enough = FEW

    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(map(nbytes, self.arrays.values()))

    # What is counted.

    def count(self, x: int) -> int:
        """How many entries a stack has."""
        return int(self.cells[COUNTS + x])

    def count_of(self, variable: str) -> int:
        """How many entries the stack of a variable has."""
        return self.count(self.kernel.variables.index(variable))

    @property
    def entries(self) -> int:
        """How many events are stored."""
        return int(sum(self.cells[COUNTS : COUNTS + len(self.stacks)]))

    @property
    def complete(self) -> bool:
        """Whether there is an event for every component."""
        return 0 not in map(self.cells.__getitem__, self._component_cells)

    @property
    def failed(self) -> int | None:
        """The first event of the batch at which a condition could not be computed."""
        position = int(self.cells[FAILED])
        return position - 1 if position else None

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return int(self.cells[TESTS])

    # Entries.

    def _values(self, array: Any, x: int) -> np.ndarray:
        """What an array has of the entries of a stack."""
        return np.asarray(self.arrays[array.name][: self.count(x)], np.dtype(array.element.name))

    def first_at(self, x: int) -> int | None:
        """The position of the first entry of a stack."""
        return int(self.arrays[self.stacks[x].at.name][0]) if self.count(x) else None

    def oldest_event(self) -> int | None:
        """The first position that a match to come can have among the events so far."""
        firsts = (self.first_at(x) for x in self.join.positive)
        return min((at for at in firsts if at is not None), default=None)

    def first_uncertain(self) -> int | None:
        """The first position where a match ends that waits for an absence."""
        if not self.join.waits:
            return None
        (first,) = self.join.members(0)
        start = self.first_at(first)
        if start is None:
            return None
        ends = []
        for x in self.join.members(self.join.groups - 1):
            at = self._values(self.stacks[x].at, x)
            place = int(np.searchsorted(at, start, side="right"))
            ends += at[place : place + 1].tolist()
        return min(ends, default=None)

    # Clearing.

    def drop_used(self) -> None:
        """The event that ends a sequence has had all its matches by now."""
        if self._last is not None:
            self.cells[COUNTS + self._last] = 0

    def drop_certain(self, until: int) -> None:
        """First events whose windows were over at a time have had all their matches."""
        (first,) = self.join.members(0)
        if self.count(first):
            times = self._values(self.stacks[first].when, first)
            self._cut(first, int(np.searchsorted(times, until, side="right")))

    def compact(self, watermark: int) -> None:
        """Let go of entries whose window is over, once there are many."""
        if self.window is None or self.entries < self.enough:
            return
        oldest = watermark - self.window + 1
        if self.join.waits:
            (first,) = self.join.members(0)
            if self.count(first):
                oldest = min(oldest, int(self.arrays[self.stacks[first].when.name][0]))
        for stack in self.stacks:
            x = stack.number
            if not self.count(x):
                continue
            times = self._values(stack.when, x)
            if self.join.query.timed:
                # A match that waits looks for what must be absent before it as far back as a window from its end.
                back = self.join.waits and x in self.join.negated and not self.join.around(x)[0]
                self._cut(x, int(np.searchsorted(times, oldest - (self.window if back else 0))))
            else:
                partitions = (
                    np.zeros(len(times), np.int64) if stack.partition is None else self._values(stack.partition, x)
                )
                self._keep(x, times > np.asarray(self.arrays[SEEN.name], np.int64)[partitions] - self.window)
        self.enough = 2 * self.entries + FEW

    def _cut(self, x: int, count: int) -> None:
        """Let go of the first entries of a stack."""
        if count:
            kept: np.ndarray = np.ones(self.count(x), bool)
            kept[:count] = False
            self._keep(x, kept)

    def _keep(self, x: int, wanted: np.ndarray) -> None:
        """Some entries of a stack, in their order."""
        rest = int(wanted.sum())
        if rest == len(wanted):
            return
        for column in self._arrays_of(x):
            left = self._values(column.array, x)[wanted]
            self.arrays[column.array.name][:rest] = left if self.native else left.tolist()
        self.cells[COUNTS + x] = rest

    def _arrays_of(self, x: int) -> Iterator[StateArray]:
        """The arrays of a stack."""
        yield from (column for column in self.kernel.select.state if column.owner == self.kernel.variables[x])

    def held_partitions(self) -> np.ndarray:
        """Which partitions have an entry."""
        alive: np.ndarray = np.zeros(self.partitions, bool)
        for stack in self.stacks:
            if stack.partition is not None:
                alive[self._values(stack.partition, stack.number)] = True
        return alive

    def keep_partitions(self, alive: np.ndarray) -> None:
        """Give up partitions that have nothing; the others are numbered anew, in order."""
        self.fit(len(alive))  # another query of the stream may have met keys that this one has not
        partitions, kept = self.partitions, np.flatnonzero(alive)
        number: np.ndarray = np.zeros(partitions, np.uint32)
        number[kept] = np.arange(len(kept))
        for wanted in self.kernel.select.state:
            name = wanted.array.name
            if wanted.extent is Extent.PARTITIONS and name in self.arrays:
                values = np.asarray(self.arrays[name][:partitions])[kept]
                self.arrays[name] = as_kind(values, wanted.array.element.name, native=self.native)
        for stack in self.stacks:
            if stack.partition is not None:
                moved = number[self._values(stack.partition, stack.number)]
                self.arrays[stack.partition.name][: len(moved)] = moved if self.native else moved.tolist()
        self._fitted = None
        self.fit(len(kept))

    def held_strings(self) -> Iterator[np.ndarray]:
        """The codes of strings that entries hold."""
        yield from (self._values(column.array, x) for column, x in self._coded())

    def renumber_strings(self, number: np.ndarray) -> None:
        """Strings have other codes from now on."""
        for column, x in self._coded():
            codes = np.clip(self._values(column.array, x), -1, len(number) - 1)
            moved = number[codes]
            self.arrays[column.array.name][: len(moved)] = moved if self.native else moved.tolist()

    def _coded(self) -> Iterator[tuple[StateArray, int]]:
        for wanted in self.kernel.select.state:
            if wanted.coded and wanted.array.name in self.arrays:
                yield wanted, self.kernel.variables.index(wanted.owner)

    # Snapshots.

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The stacks as they are; the matches of all events have been made."""
        names, arrays = ["cells"], [np.asarray(self.cells, np.int64)]
        for wanted in self.kernel.select.state:
            array = self.arrays.get(wanted.array.name, [])
            length = self.partitions if wanted.extent is Extent.PARTITIONS else self.count_of(wanted.owner)
            names.append(wanted.array.name)
            arrays.append(np.array(array[:length], np.dtype(wanted.array.element.name)))
        return {"names": names}, arrays

    def load(self, facts: Json, arrays: list[np.ndarray], partitions: int) -> None:
        """Take up a state that was dumped, by either kind of run, for the same NULLs."""
        named = dict(zip(facts["names"], arrays, strict=True))
        self.cells = as_kind(named.pop("cells"), "int64", native=self.native)
        self.arrays = {name: as_read(array, native=self.native) for name, array in named.items()}
        self.work, self._fitted = {}, None
        self.fit(partitions)
        self.arrays = {name: owned(array) for name, array in self.arrays.items()}
