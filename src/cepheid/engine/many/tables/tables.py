"""The tables that all rules share, and the runs at their nodes: arrays that grow, and a kernel over events."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.engine.many.tables.chain import ComparisonForm
from cepheid.engine.many.tables.code import CodeNumbers
from cepheid.engine.many.tables.growing import Growing
from cepheid.engine.many.tables.keys import KeyColumns
from cepheid.engine.many.tables.level import ChainRules, LevelBuilder
from cepheid.engine.many.tables.node_tables import LevelTables, TableOffsets
from cepheid.kernel import shared as k
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.shared_lists import find_listener


class SharedTables:
    """Nodes, edges and what they ask, of all rules, level by level; and the runs that wait at the nodes."""

    def __init__(
        self, *, simultaneous: bool, native: bool = True, merge: bool = True, numbers: CodeNumbers | None = None
    ) -> None:
        self.keys = KeyColumns()
        self.numbers = CodeNumbers() if numbers is None else numbers
        self.merge = merge
        self.native = native
        # Nothing is at the beginning: 0 is no child, no list, and the kind of a node of which nothing is asked.
        self.edges, self.nodes = Growing(np.int64, k.EDGE), Growing(np.int64, k.NODE)
        self.kinds, self.lists = Growing(np.int64, k.NODE_KIND), Growing(np.int32, 1)
        self.rules, self.constants, self.reals = Growing(np.int64), Growing(np.int64), Growing(np.float64)
        self.hashes, self.sets, self.levels = Growing(np.int64), Growing(np.int32), np.zeros(0, np.int64)
        self.ranges = Growing(np.int64)
        self.members = Growing(np.int32)
        self.level_count = 0
        self.active: list[int] = []  # the levels in which runs can begin
        self.listening: set[int] = set()
        self.depths: list[int] = []
        self.positions = 1
        self.simultaneous = simultaneous
        self._begin(k.CELL_COUNT)

    def _begin(self, cells: int) -> None:
        """There is no run, and no event yet."""
        self.cells = np.zeros(cells, np.int64)
        self.cells[k.FREE] = k.NOBODY
        self.cells[k.SIMULTANEOUS] = int(self.simultaneous)
        self.listeners = no_listeners(1 << 10)
        self.runs, self.held = np.zeros(0, np.int64), np.zeros(0)
        self.matches, self.real_matches = np.zeros(0, np.int64), np.zeros(0)
        self.actions, self.fresh = np.zeros(3 << 12, np.int64), np.zeros(0, np.int64)
        self.lay_out()
        self._swept = 1 << 14  # runs alive at which lists are gone over for those that are over
        self.last: int | None = None  # the time of the last event

    def anew(self, *, own: bool) -> SharedTables:
        """The same tables without runs; own: rules can be added, so that nothing that they alter is shared."""
        found = copy(self)
        for name, one in vars(self).items() if own else ():  # what is in the tables stays where it is
            if isinstance(one, Growing | KeyColumns | CodeNumbers | list | set):
                setattr(found, name, one.copy())
        if own:
            found.levels = self.levels.copy()  # which are linked anew
        found._begin(len(self.cells))
        return found

    # Rules.

    def add(self, parts: Sequence[ChainRules]) -> LevelTables:
        """More rules, in tables of their own."""
        builder = LevelBuilder(self.keys, self.numbers, merge=self.merge)
        made = builder.build(parts, self._end)
        self.cells = np.concatenate([self.cells, np.zeros(k.STAMP * made.stamps, np.int64)])
        mask = len(made.hashes) // k.SLOT - 1
        self.levels = np.append(
            self.levels, [self.hashes.size // k.SLOT, mask, self.sets.size, made.root_sets, k.NOBODY]
        )
        for own, values in (
            (self.edges, made.edges), (self.nodes, made.nodes), (self.kinds, made.kinds), (self.ranges, made.ranges),
            (self.rules, made.rules), (self.lists, made.lists), (self.constants, made.constants),
            (self.reals, made.reals), (self.hashes, made.hashes), (self.sets, made.sets), (self.members, made.members),
        ):  # fmt: skip
            own.append(values)
        self.active.append(self.level_count)
        self.level_count += 1
        self._link_levels()
        self.listening |= made.listening
        self.depths += [0] * (len(made.depths) - len(self.depths))
        for depth, count in enumerate(made.depths):
            self.depths[depth] += count
        self.positions = max(self.positions, *(len(part.chain.steps) for part in parts))
        self.lay_out()
        return made

    @property
    def _end(self) -> TableOffsets:
        """Where another level begins."""
        return TableOffsets(
            level=self.level_count,
            nodes=self.nodes.size // k.NODE,
            kinds=self.kinds.size // k.NODE_KIND,
            rules=self.rules.size // 3,
            lists=self.lists.size,
            constants=self.constants.size,
            ranges=self.ranges.size,
            members=self.members.size,
            stamps=(len(self.cells) - k.CELL_COUNT) // k.STAMP,
        )

    def flags(self, numbers: np.ndarray) -> Any:
        """The flags of nodes."""
        return self.kinds.array[self.nodes.array[numbers * k.NODE + k.KIND_OF] * k.NODE_KIND + k.FLAGS]

    def retire(self, levels: Sequence[int]) -> None:
        """No run begins in some levels any more; those that wait there go on."""
        self.active = [level for level in self.active if level not in levels]
        self._link_levels()

    def _link_levels(self) -> None:
        """Tell the kernel which levels runs begin in."""
        for level, after in zip(self.active, [*self.active[1:], k.NOBODY], strict=False):
            self.levels[level * k.LEVEL + k.LEVEL_AFTER] = after

    # The state.

    @property
    def stride(self) -> int:
        """How many numbers a run has."""
        return int(self.cells[k.STRIDE])

    def lay_out(self) -> None:
        """Make runs as wide as the templates need."""
        slots_at = k.HELD + self.positions
        stride = slots_at + self.numbers.slots + int(self.simultaneous)
        real_stride = max(1, self.numbers.slots)
        if stride == self.stride and real_stride == self.cells[k.REALS]:
            return
        if self.stride:
            self.runs = self._wider(self.runs, slots_at, stride)
            self.matches = self._wider(self.matches, slots_at, stride)
            for name in ("held", "real_matches"):
                old = getattr(self, name).reshape(-1, int(self.cells[k.REALS]))
                new = np.zeros((len(old), real_stride))
                new[:, : old.shape[1]] = old
                setattr(self, name, new.reshape(-1))
        self.cells[k.STRIDE], self.cells[k.REALS], self.cells[k.SLOTS_AT] = stride, real_stride, slots_at

    def _wider(self, old: np.ndarray, slots_at: int, stride: int) -> np.ndarray:
        rows = old.reshape(-1, self.stride)
        new = np.zeros((len(rows), stride), np.int64)
        before = int(self.cells[k.SLOTS_AT])
        slots = self.stride - before - int(self.simultaneous)
        new[:, :before] = rows[:, :before]
        new[:, slots_at : slots_at + slots] = rows[:, before : before + slots]
        if self.simultaneous:
            new[:, -1] = rows[:, -1]
        return new.reshape(-1)

    def _make_room(self) -> None:
        """The kernel has stopped before an event: for so many runs, matches and actions there must be room."""
        wanted = int(self.cells[k.STOPPED]) - 1
        if self.cells[k.FULL]:
            self.actions = np.zeros(2 * len(self.actions), np.int64)
            return
        cells, stride, reals = self.cells, self.stride, int(self.cells[k.REALS])
        if cells[k.USED] + wanted > cells[k.ROOM]:
            self.make_room_for(max(2 * wanted, int(cells[k.ROOM])))
        if cells[k.MATCHES] + wanted > cells[k.MATCH_ROOM]:
            room = max(1 << 12, 2 * int(cells[k.MATCH_ROOM]), int(cells[k.MATCHES]) + 2 * wanted)
            self.matches = _longer(self.matches, room * stride)
            self.real_matches = _longer(self.real_matches, room * reals)
            cells[k.MATCH_ROOM] = room
        if 2 * (cells[k.LISTENERS] + wanted) > cells[k.LISTENER_MASK]:
            size = 1 << int(4 * (int(cells[k.LISTENERS]) + wanted) + 1).bit_length()
            new = no_listeners(size)
            old = self.listeners
            cells[k.LISTENERS] = run_on_arrays(
                "rehash_listeners", len(old) // 3, old, size - 1, new, stride, self.runs, native=self.native
            )
            # What was made in the instant that goes on knows its place in the old table.
            self._replace_fresh(old, new, size - 1)
            self.listeners = new

    def clean(self, rows: np.ndarray, held: np.ndarray, depth: np.ndarray, transfer: np.ndarray) -> None:
        """Set what runs do not have to zero: other runs have left it there. By the depth and the transfer of each."""
        slots_at, slots = int(self.cells[k.SLOTS_AT]), self.numbers.slots
        rows[:, k.HELD : slots_at][np.arange(slots_at - k.HELD) > depth[:, None]] = 0
        whole, real = self.numbers.held()
        rows[:, slots_at : slots_at + slots][~whole[transfer]] = 0
        held[:, :slots][~real[transfer]] = 0

    def make_room_for(self, runs: int) -> None:
        """There is room for so many more runs."""
        cells = self.cells
        if cells[k.USED] + runs > cells[k.ROOM]:
            room = int(cells[k.USED]) + runs + (1 << 12)
            self.runs = _longer(self.runs, room * self.stride)
            self.held = _longer(self.held, room * int(cells[k.REALS]))
            self.fresh = _longer(self.fresh, 3 * room if self.simultaneous else 3)
            cells[k.ROOM] = room

    def take_state(self, other: SharedTables) -> None:
        """Go on with the runs of other tables, which are as wide; where they wait is still to be said."""
        assert (self.stride, self.cells[k.REALS]) == (other.stride, other.cells[k.REALS]), "runs are of another width"
        for name in ("runs", "held", "matches", "real_matches", "actions", "fresh", "_swept", "last"):
            setattr(self, name, getattr(other, name))
        self.cells[: k.CELL_COUNT] = other.cells[: k.CELL_COUNT]

    def _replace_fresh(self, old: np.ndarray, new: np.ndarray, mask: int) -> None:
        for at in range(int(self.cells[k.FRESH])):
            place = int(self.fresh[3 * at + 1])
            if place:
                column, value = int(old[3 * place]), int(old[3 * place + 1])
                found = find_listener(column, value, mask, new)
                if new[3 * found] == k.NOBODY:
                    new[3 * found], new[3 * found + 1], new[3 * found + 2] = column, value, k.NOBODY
                    self.cells[k.LISTENERS] += 1
                self.fresh[3 * at + 1] = found

    # Events.

    def partitions(self, batch: Batch) -> list[PartitionIndex | None]:
        """The partitions that keys stand for, by column."""
        found: list[PartitionIndex | None] = []
        for key in self.keys.keys:
            is_partition = key is not None and key.form == ComparisonForm.PARTITION
            found.append(
                batch.codes.partitions(key.partitions) if is_partition and key is not None and key.partitions else None
            )
        return found

    def feed(self, batch: Batch) -> None:
        """Go over events."""
        if not len(batch):
            return
        if not self.level_count:
            self.last = int(batch.times[-1])
            return
        keys, quick = self.keys.of(batch, self.partitions(batch), native=self.native)
        numbers, reals, nulls = self.numbers.of(batch)
        columns = np.array(sorted(self.listening) or [0], np.int64)
        cells = self.cells
        cells[k.COLUMNS], cells[k.WIDTH] = len(self.listening), len(self.keys)
        cells[k.LEVELS] = self.active[0] if self.active else k.NOBODY
        function = self.numbers.kernel.compiled()
        events = k.EventRows(keys, quick, numbers, reals, nulls)
        tables = self._tables()
        at, times = 0, np.ascontiguousarray(batch.times, np.int64)
        while at < len(batch):
            cells[k.ACTION_ROOM], cells[k.LISTENER_MASK] = len(self.actions) // 3 - 1, len(self.listeners) // 3 - 1
            at = function(at, len(batch), batch.first, times, columns, *events, *tables, *self._state())
            if at < len(batch):
                if cells[k.ALIVE] > self._swept:
                    self.sweep(int(times[at]))
                self._make_room()
        self.last = int(times[-1])

    def _tables(self) -> k.RuleTables:
        return k.RuleTables(
            levels=self.levels,
            sets=self.sets.array,
            hashes=self.hashes.array,
            ranges=self.ranges.array,
            edges=self.edges.array,
            nodes=self.nodes.array,
            kinds=self.kinds.array,
            lists=self.lists.array,
            rules=self.rules.array,
            constants=self.constants.array,
            real_constants=self.reals.array,
        )

    def _state(self) -> k.SharedRuns:
        return k.SharedRuns(
            listeners=self.listeners,
            runs=self.runs,
            held=self.held,
            actions=self.actions,
            fresh=self.fresh,
            matches=self.matches,
            real_matches=self.real_matches,
            cells=self.cells,
        )

    def sweep(self, now: int) -> None:
        """Let go of runs that are over by a time."""
        run_on_arrays(
            "sweep_runs", len(self.listeners) // 3, now, self.listeners, self.stride, self.runs,
            self.cells, native=self.native,
        )  # fmt: skip
        self._swept = 2 * int(self.cells[k.ALIVE]) + (1 << 14)

    def take_matches(self) -> tuple[np.ndarray, np.ndarray]:
        """The matches so far, row by row."""
        count = int(self.cells[k.MATCHES])
        self.cells[k.MATCHES] = 0
        rows = self.matches[: count * self.stride].reshape(count, self.stride).copy()
        reals = int(self.cells[k.REALS])
        return rows, self.real_matches[: count * reals].reshape(count, reals).copy()

    def oldest(self) -> int | None:
        """The first event that a run has."""
        found = run_on_arrays(
            "oldest_event", len(self.listeners) // 3, self.listeners, self.stride, self.runs, self.fresh, self.cells,
            native=self.native,
        )  # fmt: skip
        return None if found == k.NOBODY else found

    def live(self) -> np.ndarray:
        """The numbers of the runs that are alive."""
        found = np.zeros(int(self.cells[k.USED]) + 1, np.int64)
        count = run_on_arrays(
            "list_runs", len(self.listeners) // 3, self.listeners, self.stride, self.runs, self.fresh, found,
            self.cells, native=self.native,
        )  # fmt: skip
        return found[:count]

    def install(self, rows: np.ndarray, held: np.ndarray, listened: np.ndarray) -> None:
        """Take up runs, whose first number is their node, in the lists of the values that they listen to."""
        count = len(rows)
        room = max(1 << 12, 2 * count)
        self.runs, self.held = np.zeros(room * self.stride, np.int64), np.zeros(room * int(self.cells[k.REALS]))
        self.runs[: rows.size], self.held[: held.size] = rows.reshape(-1), held.reshape(-1)
        self.fresh = np.zeros(3 * room if self.simultaneous else 3, np.int64)
        size = 1 << int(4 * count + 1024).bit_length()
        self.listeners = no_listeners(size)
        cells = self.cells
        cells[k.FREE], cells[k.USED], cells[k.ROOM], cells[k.ALIVE], cells[k.FRESH] = k.NOBODY, count, room, count, 0
        cells[k.LISTENERS] = run_on_arrays(
            "install_runs", count, np.ascontiguousarray(listened), size - 1, self.listeners, self.stride, self.runs,
            self.nodes.array, self.kinds.array, native=self.native,
        )  # fmt: skip

    def nbytes(self) -> int:
        """How much the tables take."""
        return sum(one.values.nbytes for one in vars(self).values() if isinstance(one, Growing))


def no_listeners(size: int) -> np.ndarray:
    """A table of lists, a power of two, in which nobody waits."""
    made = np.full(3 * size, k.NOBODY, np.int64)
    made[0] = -2  # the first place is for what listens to everything, and is nobody's by its key
    return made


def _longer(old: np.ndarray, size: int) -> np.ndarray:
    made = np.zeros(size, old.dtype)
    made[: len(old)] = old
    return made
