"""The state of a scan: the runs of each state, the match store, and what is counted.

All of it is in arrays that the kernel works on. Here they grow, are cleared of what no match to come can need, are
written down and taken up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.arrays import Array, Pins, as_kind, as_read, longer, nbytes, owned, rounded
from cepheid.kernel.compile import library_function
from cepheid.kernel.match_store import MatchArrays, NodeArrays
from cepheid.kernel.runtime import FAILED, NIL, TESTS
from cepheid.kernel.scan.kernel import MATCH_ROOM, MATCHES, MERGED, NODE_ROOM, NODES, Pool, ScanKernel
from cepheid.kernel.scan.variables import BLOCK, ENDED, OVER
from cepheid.kernel.store import FREE
from cepheid.values.json import Json

MOST_NODES = 8_000_000
"""How large a match store may become while nobody has asked for its matches."""


FAR = 2**62
"""No time that partitions are compared with is further than this."""
MOST_EXPECTED = 65_536
"""Nodes and matches for which room is made before there are so many."""

MOST_GIVEN = 2**18
"""Results with values of their own for which room is made at first: they have many columns, and can be taken early."""


class ScanState:
    """The arrays of one scan. `window` is in ticks or, where the scan has `seen`, in events of a partition.

    period: for how many ticks after its last event a match waits, where the absence lasts for a while.
    """

    def __init__(
        self, kernel: ScanKernel, window: int | None, *, native: bool, events: int = 0, period: int = 0
    ) -> None:
        self.kernel = kernel
        self.window = window
        self.period = period
        self.native = native
        self.partitions = 0
        self.ahead: np.ndarray | None = (
            None  # of each partition: up to which time its events are known, where that is further than all
        )
        least = 16_384 if native else 256
        many = max(least, min(2 * events, MOST_GIVEN if kernel.valued else MOST_NODES // 2))
        self.room = {Extent.MATCHES: many} if kernel.valued else {Extent.NODES: many, Extent.MATCHES: many}
        self.pool_room = {pool.name: 1024 if native else 64 for pool in kernel.pools}
        self.cells: Array = longer(None, "int64", kernel.cells, 0, native=native)
        self.arrays: dict[str, Array] = {}
        self._fitted: tuple[object, ...] = ()  # for what the arrays were made
        self._partition_room = 0
        self._names = [wanted.array.name for wanted in kernel.state]
        self._pins = Pins()

    # Arrays.

    def fit(self, partitions: int) -> None:
        """Make every array that the kernel asks for, as long as it has to be; what there is stays."""
        self._partition_room = max(self._partition_room, rounded(partitions))  # no array becomes shorter
        asked = self.kernel, self._partition_room, *self.room.values(), *self.pool_room.values()
        self.partitions = partitions
        if asked == self._fitted:
            return
        self._fitted = asked
        linked = {pool.array("next"): pool for pool in self.kernel.pools}
        for wanted in self.kernel.state:
            name, size = wanted.array.name, self._size(wanted)
            old = self.arrays.get(name)
            if old is None or len(old) < size:
                have = 0 if old is None else len(old)
                # A node or a match is written before it is read, but for a start where there is no window.
                blank = wanted.extent in (Extent.NODES, Extent.MATCHES) and (
                    name != "node_start" or self.window is not None
                )
                initial = None if blank else wanted.initial
                self.arrays[name] = longer(old, wanted.array.element.name, size, initial, native=self.native)
                if name in linked:
                    self._add_free(linked[name], have, size)
        self.cells[NODE_ROOM], self.cells[MATCH_ROOM] = self.room.get(Extent.NODES, 0), self.room[Extent.MATCHES]
        for pool in self.kernel.pools:
            self.cells[pool.cells.room] = self.pool_room[pool.name]

    def _size(self, wanted: StateArray) -> int:
        match wanted.extent:
            case Extent.PARTITIONS:
                return self._partition_room
            case Extent.RUNS:
                return self.pool_room[wanted.owner]
            case Extent.TABLE:
                return 2 * self.pool_room[wanted.owner]
            case Extent.BLOCK:
                return BLOCK
        return self.room[wanted.extent]

    def _add_free(self, pool: Pool, begin: int, end: int) -> None:
        """New entries of a pool are free; a new pool begins with all of them."""
        following = self.arrays[pool.array("next")]
        following[begin:end] = range(begin + 1, end + 1)
        following[end - 1] = NIL if begin == 0 else self.cells[pool.cells.free]
        self.cells[pool.cells.free] = begin

    def change_kernel(self, kernel: ScanKernel) -> None:
        """Go on with a kernel for which more columns have NULLs: some registers get a flag, which is not set."""
        self.kernel = kernel
        self._names = [wanted.array.name for wanted in kernel.state]
        self.fit(self.partitions)

    def to_native(self) -> None:
        """From lists to arrays: the values are the same."""
        self.native = True
        self.cells = as_kind(self.cells, "int64", native=True)
        for wanted in self.kernel.state:
            name = wanted.array.name
            self.arrays[name] = as_kind(self.arrays[name], wanted.array.element.name, native=True)

    def arguments(self) -> list[Array]:
        """The arrays in the order of the kernel's parameters, and the cells; for machine code they are pinned."""
        arrays = [*map(self.arrays.__getitem__, self._names), self.cells]
        return self._pins.pin(arrays) if self.native else arrays

    def reserve(self, *, stuck: bool, keeps: bool) -> bool:
        """The scan has stopped before an event that could make an array overflow: make more room; whether there is.

        stuck: it has not gone over a single event. It needs as much of every array: those with the least are short.
        keeps: nodes stay as long as there are not too many; otherwise those that were not needed are gone by now.
        """
        if keeps and max(self.room.values()) >= MOST_NODES:
            return False
        used = {pool.name: int(self.cells[pool.cells.used]) for pool in self.kernel.pools}
        held = {extent: self.nodes if extent is Extent.NODES else self.matches for extent in self.room}
        least = min(self.room[e] - held[e] for e in held)
        least = min([least, *(self.pool_room[name] - used[name] for name in used)])
        for extent, count in held.items():
            if 2 * count > self.room[extent] or (stuck and self.room[extent] - count == least):
                self.room[extent] *= 2
        for name, count in used.items():
            if 2 * count > self.pool_room[name] or (stuck and self.pool_room[name] - count == least):
                self.pool_room[name] *= 2
        self.fit(self.partitions)
        return True

    def expect(self, events: int) -> None:
        """Room for what so many events may make, but not for very many."""
        for extent in self.room:
            self.room[extent] = max(self.room[extent], min(2 * events, MOST_EXPECTED))

    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(map(nbytes, self.arrays.values()))

    # What is counted.

    @property
    def nodes(self) -> int:
        """Nodes of the match store."""
        return int(self.cells[NODES])

    @property
    def matches(self) -> int:
        """Matches that were found and not yet taken."""
        return int(self.cells[MATCHES])

    @property
    def failed(self) -> int | None:
        """The first event of the batch at which a condition could not be computed."""
        position = int(self.cells[FAILED])
        return position - 1 if position else None

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return int(self.cells[TESTS])

    @property
    def merged(self) -> int:
        """How many runs became one with another."""
        return int(self.cells[MERGED])

    @property
    def runs(self) -> int:
        """How many runs are alive: merged ones are one."""
        used = sum(int(self.cells[pool.cells.used]) for pool in self.kernel.pools)
        return used + sum(int((np.asarray(self.arrays[name]) != NIL).sum()) for name in self.kernel.slots)

    # Matches.

    def store(self) -> tuple[NodeArrays, MatchArrays]:
        """The arrays of the match store: its nodes, and the matches in it."""
        s = self.arrays
        nodes = NodeArrays(s["node_word"], s["node_next"], s["node_other"], s["node_start"])
        return nodes, MatchArrays(s["match_root"], s["match_word"], s["match_low"])

    @property
    def given_fields(self) -> list[str]:
        """What matches give of the register of an automaton of one's own, by the names of the fields."""
        names = (wanted.array.name for wanted in self.kernel.state if wanted.extent is Extent.MATCHES)
        return [name.removeprefix("match_") for name in names if name not in ("match_root", "match_word", "match_low")]

    def take_matches(self) -> None:
        """The matches were read."""
        self.cells[MATCHES] = 0

    def keep_matches(self, kept: Sequence[int]) -> None:
        """The matches were read; some of them, by their numbers, stay."""
        for name in ("match_root", "match_word", "match_low"):
            array = self.arrays[name]
            array[: len(kept)] = [array[k] for k in sorted(kept)]
        self.cells[MATCHES] = len(kept)

    def _ends(self) -> np.ndarray:
        """The event that ends each match which was not taken, by its id."""
        words = np.array(self.arrays["match_word"][: self.matches], np.int64)
        inside = words < 0
        words[inside] = np.asarray(self.arrays["node_word"], np.int64)[self._match_roots()[inside]]
        return words >> self.kernel.shift

    def first_end(self) -> int | None:
        """The first event at which a match ends that was not taken, by its id."""
        return int(self._ends().min()) if self.matches else None

    def expire(self, watermark: int | None) -> None:
        """Matches after which nothing came that must be absent are certain: their waits are over (None: all are).

        A window of events is over when the partition has had so many.
        """
        for pool in self.kernel.pools:
            if not pool.waits or not int(self.cells[pool.cells.used]):
                continue
            nodes = np.asarray(self.arrays[pool.array("node")])
            alive = np.flatnonzero(nodes != NIL)
            if watermark is not None and pool.lasting:
                partitions = np.asarray(self.arrays[pool.array("partition")])[alive]
                alive = alive[
                    np.asarray(self.arrays[pool.array(ENDED)])[alive] + self.period <= self._at(watermark, partitions)
                ]
            elif watermark is not None:
                starts = np.asarray(self.arrays["node_start"])[nodes[alive]]
                partitions = np.asarray(self.arrays[pool.array("partition")])[alive]
                # Of a window of events the last one is in; of a window of time the watermark has passed the last tick.
                alive = alive[starts <= self._oldest(self._at(watermark, partitions) - 1, partitions)]
            if len(alive):
                self._give(pool, alive)

    def _give(self, pool: Pool, over: np.ndarray) -> None:
        """Some entries are certain: write their matches down, in the order of their ends, and free them."""
        while self.matches + len(over) > self.room[Extent.MATCHES]:
            self.room[Extent.MATCHES] *= 2
        self.fit(self.partitions)
        nodes = np.asarray(self.arrays[pool.array("node")])[over]
        order = np.argsort(np.asarray(self.arrays["node_word"])[nodes], kind="stable")
        lows = self._lows(pool, over) if pool.lasting else np.asarray(self.arrays["node_start"])[nodes]
        for k, (node, low) in enumerate(zip(nodes[order].tolist(), lows[order].tolist(), strict=True), self.matches):
            self.arrays["match_root"][k], self.arrays["match_word"][k] = node, -1
            self.arrays["match_low"][k] = low
        for field in self.given_fields:
            emitted, held = self.arrays[f"match_{field}"], self.arrays[pool.array(field)]
            for k, entry in enumerate(over[order].tolist(), self.matches):
                emitted[k] = held[entry]
        self.cells[MATCHES] += len(over)
        self._free(pool, set(over.tolist()))

    def _lows(self, pool: Pool, entries: np.ndarray) -> np.ndarray:
        """The oldest starts that are in one window with the ends of matches that wait."""
        if self.window is None:
            return np.zeros(len(entries), np.int64)
        ends: np.ndarray = np.asarray(self.arrays[pool.array(ENDED)], np.int64)[entries]
        return ends - self.window + 1

    def _free(self, pool: Pool, gone: set[int]) -> None:
        """Some entries of a pool are no longer needed."""
        links, nodes, cells = self.arrays[pool.array("next")], self.arrays[pool.array("node")], pool.cells
        counts = self.arrays.get(pool.count)  # where there are partitions
        partitions = {int(self.arrays[pool.array("partition")][entry]) for entry in gone}
        for name, partition in product(pool.lists, partitions):
            heads = self.arrays[pool.first(name)]
            kept = []
            entry = int(heads[partition])
            while entry != NIL:
                following = int(links[entry])
                if entry in gone:
                    links[entry] = self.cells[cells.free]
                    self.cells[cells.free] = entry
                    self.cells[cells.used] -= 1
                    nodes[entry] = NIL
                    if pool.ending:
                        self.arrays[pool.array(OVER)][entry] = 0
                    if counts is not None:
                        counts[partition] -= 1
                else:
                    kept.append(entry)
                entry = following
            for entry, after in zip(kept, [*kept[1:], NIL], strict=False):
                links[entry] = after
            heads[partition] = kept[0] if kept else NIL

    def first_uncertain(self) -> int | None:
        """The first event at which a match ends that waits for an absence, by its id."""
        ends = []
        for pool in self.kernel.pools:
            if pool.waits and int(self.cells[pool.cells.used]):
                nodes = np.asarray(self.arrays[pool.array("node")])
                words = np.asarray(self.arrays["node_word"])[nodes[nodes != NIL]]
                ends.append(int(words.min()) >> self.kernel.shift)
        return min(ends, default=None)

    # Clearing.

    def _roots(self) -> Iterator[tuple[Array, Pool | None]]:
        """The arrays of nodes that a match to come can use: of each partition, or of the entries of a pool."""
        yield from ((self.arrays[name], None) for name in self.kernel.slots)
        yield from ((self.arrays[pool.array("node")], pool) for pool in self.kernel.pools)

    def _partitions(self, pool: Pool | None, used: np.ndarray) -> np.ndarray:
        """The partitions of some entries; where there is no pool, an entry has the number of its partition."""
        return used if pool is None else np.asarray(self.arrays[pool.array("partition")])[used]

    def _match_roots(self) -> np.ndarray:
        """The nodes that lead to matches which were not taken."""
        return np.asarray(self.arrays["match_root"][: self.matches], np.uint32)

    def _at(self, time: int, partitions: np.ndarray) -> int:
        """A time, or those that some partitions have reached where these are later."""
        return time if self.ahead is None else np.maximum(min(max(time, -FAR), FAR), self.ahead[partitions])

    def _oldest(self, clock: Any, partitions: np.ndarray) -> np.ndarray:
        """The oldest start that is still in the window, for some partitions. clock: one time, or one per partition."""
        if self.window is None:
            return np.zeros(len(partitions), np.int64)
        if "seen" in self.arrays:
            seen: np.ndarray = np.asarray(self.arrays["seen"])[partitions]
            return seen - self.window + 1
        oldest = clock - self.window + 1
        if self.ahead is not None:
            return np.broadcast_to(oldest, len(partitions))
        return np.full(
            len(partitions), min(max(oldest, -(2**63)), 2**63 - 1), np.int64
        )  # a watermark may be beyond 64 bits

    def collect(self, clock: int) -> None:
        """Clear the nodes that no match to come can reach, and close the gaps."""
        if self.kernel.valued:
            return
        s, nodes = self.arrays, self.nodes
        limits: Array = np.full(nodes, FREE, np.int64)
        starts = np.asarray(s["node_start"])
        for array, pool in self._roots():
            entries = np.asarray(array)
            used = np.flatnonzero(entries != NIL)
            if pool is not None and pool.lasting:
                np.minimum.at(limits, entries[used], self._lows(pool, used))
            elif len(used):
                partitions = self._partitions(pool, used)
                oldest = self._oldest(self._at(clock, partitions), partitions)
                np.minimum.at(limits, entries[used], np.minimum(oldest, starts[entries[used]]))
        ends = self._match_roots()
        if len(ends):
            lows = np.asarray(s["match_low"][: self.matches], np.int64)[ends != NIL]
            np.minimum.at(limits, ends[ends != NIL], lows)
        number: Array = np.zeros(nodes, np.uint32)
        if not self.native:
            limits, number = limits.tolist(), number.tolist()

        def run(name: str, *arguments: Array) -> int:
            return int(library_function(name, native=self.native)(*arguments))

        kept = run("mark_nodes", nodes, s["node_next"], s["node_other"], s["node_start"], limits, number)
        run("move_nodes", nodes, s["node_word"], s["node_next"], s["node_other"], s["node_start"], number)
        for array, _ in self._roots():
            run("renumber", array, number, len(array))
        run("renumber", s["match_root"], number, self.matches)
        self.cells[NODES] = kept

    def open_runs(self, watermark: int) -> tuple[list[int], list[int]]:
        """The nodes of the runs that an event at or after a time can extend or refute, and which starts still count."""
        nodes: list[int] = []
        lows: list[int] = []
        for array, pool in self._roots():
            entries = np.asarray(array)
            used = np.flatnonzero(entries != NIL)
            nodes += entries[used].tolist()
            if pool is not None and pool.lasting:
                lows += self._lows(pool, used).tolist()
            elif self.window is not None and "seen" in self.arrays:
                seen = np.asarray(self.arrays["seen"])[self._partitions(pool, used)]
                lows += (seen - self.window + 2).tolist()
            else:
                lows += [0 if self.window is None else watermark - self.window + 1] * len(used)
        return nodes, lows

    def end_runs_from(self, register: str, before: int) -> None:
        """Give up runs of which a register has a time before some other."""
        for pool in self.kernel.pools:
            used = np.flatnonzero(np.asarray(self.arrays[pool.array("node")]) != NIL)
            times = np.asarray(self.arrays[pool.array(register)], np.int64)[used]
            self._free(pool, set(used[times < before].tolist()))

    def end_old_runs(self, clock: int) -> None:
        """Give up runs whose window is over."""
        if self.window is None or "seen" in self.arrays:
            return
        starts, window = np.asarray(self.arrays["node_start"]), self.window
        for name in self.kernel.slots:
            nodes = np.array(self.arrays[name][: self.partitions], np.uint32)
            used = np.flatnonzero(nodes != NIL)
            for partition in used[starts[nodes[used]] < self._at(clock, used) - window + 1].tolist():
                self.arrays[name][partition] = NIL
        for pool in self.kernel.pools:
            if not pool.waits:
                nodes = np.asarray(self.arrays[pool.array("node")])
                used = np.flatnonzero(nodes != NIL)
                oldest = self._at(clock, self._partitions(pool, used)) - window + 1
                self._free(pool, set(used[starts[nodes[used]] < oldest].tolist()))

    def held_partitions(self, clock: int) -> np.ndarray:
        """Which partitions have something that a match to come can need."""
        alive: np.ndarray = np.zeros(self.partitions, bool)
        for name in self.kernel.slots:
            alive |= np.asarray(self.arrays[name][: self.partitions], np.uint32) != NIL
        for pool in self.kernel.pools:
            used = np.asarray(self.arrays[pool.array("node")]) != NIL
            alive[np.asarray(self.arrays[pool.array("partition")])[used]] = True
        every = np.arange(self.partitions)
        reached = self._at(clock, every)
        oldest = self._oldest(reached, every)
        for name in self.kernel.witnesses:
            alive |= np.asarray(self.arrays[name][: self.partitions], np.int64) >= oldest
        for name, period in self.kernel.lasting.items():
            alive |= np.asarray(self.arrays[name][: self.partitions], np.int64) > reached - period
        return alive

    def keep_partitions(self, alive: np.ndarray) -> None:
        """Give up partitions that have nothing; the others are numbered anew, in order."""
        self.fit(len(alive))  # another query of the stream may have met keys that this one has not
        partitions, kept = self.partitions, np.flatnonzero(alive)
        number: np.ndarray = np.zeros(partitions, np.uint32)
        number[kept] = np.arange(len(kept))
        for wanted in self.kernel.state:
            name = wanted.array.name
            if wanted.extent is Extent.PARTITIONS:
                values = np.asarray(self.arrays[name][:partitions])[kept]
                self.arrays[name] = as_kind(values, wanted.array.element.name, native=self.native)
        for pool in self.kernel.pools:
            owners = number[np.minimum(np.asarray(self.arrays[pool.array("partition")]), partitions - 1)]
            self.arrays[pool.array("partition")] = as_kind(owners, "uint32", native=self.native)
        if self.ahead is not None:
            self.ahead = self.ahead[kept]
        self._fitted, self._partition_room = (), 0
        self.fit(len(kept))

    def clear_partitions(self, partitions: np.ndarray) -> None:
        """End the runs of some partitions."""
        s = self.arrays
        counts = [pool.count for pool in self.kernel.pools if pool.count in s]
        initial = {wanted.array.name: wanted.initial for wanted in self.kernel.state}
        free_lists = library_function("free_lists", native=self.native)
        cleared = partitions if self.native else partitions.tolist()
        for pool in self.kernel.pools:
            pool_arrays = s[pool.array("next")], s[pool.array("node")], self.cells, pool.cells.free, pool.cells.used
            for name in pool.lists:
                free_lists(cleared, len(cleared), s[pool.first(name)], *pool_arrays)
        for name in (*self.kernel.slots, *self.kernel.witnesses, *self.kernel.lasting, *counts):
            if self.native:
                s[name][partitions] = initial[name]
            else:
                for partition in cleared:
                    s[name][partition] = initial[name]

    def renumber_events(self) -> np.ndarray:
        """Once nodes have been collected: number the events that they have from 0 on; the ids that these had."""
        words = np.array(self.arrays["node_word"][: self.nodes], np.int64)
        real, shift = words >= 0, self.kernel.shift
        used: np.ndarray
        used, place = np.unique(words[real] >> shift, return_inverse=True)
        words[real] = place << shift | words[real] & ((1 << shift) - 1)
        self.arrays["node_word"][: self.nodes] = words if self.native else words.tolist()
        return used

    def held_strings(self) -> Iterator[np.ndarray]:
        """The codes of strings that runs hold; what is left in free entries does not count."""
        used = {pool.name: np.asarray(self.arrays[pool.array("node")]) != NIL for pool in self.kernel.pools}
        for wanted in self._coded():
            codes = np.asarray(self.arrays[wanted.array.name], np.int64)
            if wanted.extent is Extent.MATCHES:
                codes = codes[: self.matches]
            yield codes[used[wanted.owner]] if wanted.owner else codes

    def renumber_strings(self, number: np.ndarray) -> None:
        """Strings have other codes from now on."""
        for wanted in self._coded():
            name = wanted.array.name
            codes = np.clip(np.asarray(self.arrays[name], np.int64), -1, len(number) - 1)
            self.arrays[name] = as_kind(number[codes], "int64", native=self.native)

    def _coded(self) -> Iterator[StateArray]:
        yield from (wanted for wanted in self.kernel.state if wanted.coded)

    def oldest_event(self) -> int | None:
        """The first event that a match to come can have, by its id, once nodes have been collected."""
        words = np.asarray(self.arrays["node_word"][: self.nodes], np.int64)
        words = words[words >= 0]
        oldest = [int(words.min()) >> self.kernel.shift] if len(words) else []
        first = self.first_end()  # a match of one event has no node
        return min([*oldest, *([] if first is None else [first])], default=None)

    def oldest_start(self) -> int:
        """When the first run or match of a scan with a window of time started, once nodes have been collected."""
        starts = np.asarray(self.arrays["node_start"][: self.nodes], np.int64)
        return int(starts.min()) if len(starts) else FREE

    # Snapshots.

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The arrays as they are, once nodes have been collected."""
        names, arrays = ["cells"], [np.asarray(self.cells, np.int64)]
        for wanted in self.kernel.state:
            if wanted.extent in (Extent.TABLE, Extent.BLOCK) or (wanted.extent is Extent.MATCHES and not self.matches):
                continue
            array = self.arrays[wanted.array.name]
            lengths = {Extent.NODES: self.nodes, Extent.PARTITIONS: self.partitions, Extent.MATCHES: self.matches}
            length = lengths.get(wanted.extent, len(array))
            names.append(wanted.array.name)
            arrays.append(np.asarray(array[:length], np.dtype(wanted.array.element.name)))
        room = {extent.value: size for extent, size in self.room.items()}
        return {"names": names, "room": room, "pools": self.pool_room}, arrays

    def load(self, facts: Json, arrays: list[np.ndarray], partitions: int) -> None:
        """Take up a state that was dumped, by either kind of run."""
        self.room = {Extent(name): size for name, size in facts["room"].items()}
        self.pool_room = dict(facts["pools"])
        named = dict(zip(facts["names"], arrays, strict=True))
        self.cells = as_kind(named.pop("cells"), "int64", native=self.native)
        self.arrays = {name: as_read(array, native=self.native) for name, array in named.items()}
        self._fitted = ()
        self.fit(partitions)
        self.arrays = {name: owned(array) for name, array in self.arrays.items()}

    def reset(self) -> None:
        """As empty as new: another run can have the arrays, since to touch fresh memory takes long."""
        self.cells[:] = 0
        for wanted in self.kernel.state:
            if wanted.extent not in (Extent.NODES, Extent.MATCHES) and wanted.array.name in self.arrays:
                self.arrays[wanted.array.name].fill(wanted.initial)
        for pool in self.kernel.pools:
            self._add_free(pool, 0, self.pool_room[pool.name])
        self._fitted = ()  # the cells must be told again for how much there is room
