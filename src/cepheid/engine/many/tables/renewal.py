"""Tables made anew in a thread beside the input, without what is gone, while the old ones go on.

The rules of all levels come into one. What has come since is added in rounds, each smaller than the one before, until
so little is left that it can be done between two batches; then the runs move over. A run costs a few steps there, a
rule none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import numpy as np

from cepheid.engine.many.tables.asked import stir
from cepheid.engine.many.tables.placed import PlacedLevel, PlacedPart, place
from cepheid.engine.many.tables.tables import SharedTables, no_listeners
from cepheid.kernel import shared as k
from cepheid.kernel.compile import library_function, run_on_arrays

Alive = Callable[[Any], Any]
"""Which rules may still match, by their numbers: a mask."""


class Renewal:
    """New tables under way. placed: the levels of the new tables."""

    def __init__(self, old: SharedTables) -> None:
        self.old = old
        self.new = SharedTables(
            simultaneous=old.simultaneous, native=old.native, merge=old.merge, numbers=old.numbers.copy()
        )
        self.placed: list[PlacedLevel] = []
        self._covered: set[int] = set()
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._done = True
        # By old node: the new one, or where several are.
        self._goes = np.zeros(2 * old.nodes.size // k.NODE + 1, np.int32)
        self._several: list[int] = [0]
        self._twins: list[np.ndarray] = [np.zeros(1, np.uint8)]  # by new node: whether several old ones have become one
        self._listeners = no_listeners(1 << 10)

    def covers(self, level: PlacedLevel) -> bool:
        """Whether a level of the old tables is in the new ones."""
        return level.level in self._covered

    def left(self, levels: Sequence[PlacedLevel]) -> list[PlacedLevel]:
        """The levels that are not renewed."""
        return [level for level in levels if not self.covers(level)]

    def begin(self, levels: Sequence[PlacedLevel], alive: Alive) -> None:
        """Take levels over, in a thread."""
        self._covered |= {level.level for level in levels}
        known = int(self.old.cells[k.LISTENERS])
        self._done = False
        self._thread = Thread(target=self._run, args=(levels, alive, known), name="cepheid rules", daemon=True)
        self._thread.start()

    def _run(self, levels: Sequence[PlacedLevel], alive: Alive, known: int) -> None:
        try:
            self._take(levels, alive)
            self._listeners = no_listeners(1 << int(6 * known + 1024).bit_length())
            for name in ("move_runs", "link_fresh"):  # so that it is compiled when it is needed
                library_function(name, native=self.old.native)
            self.new.numbers.kernel.compiled()
            self._done = True
        except BaseException as error:
            # It is raised where the tables are needed.
            self._failure = error

    @property
    def ready(self) -> bool:
        """Whether no round is under way."""
        return self._thread is None or not self._thread.is_alive()

    @property
    def lost(self) -> bool:
        """Whether the process was forked: it has no thread that would go on."""
        return self.ready and not self._done and self._failure is None

    @property
    def lacked_memory(self) -> bool:
        """Whether there was no room for tables beside the old ones, which are as they were."""
        return self.ready and isinstance(self._failure, MemoryError)

    def wait(self) -> None:
        """Until the round is over."""
        if self._thread is not None:
            self._thread.join()

    def _take(self, levels: Sequence[PlacedLevel], alive: Alive) -> None:
        """Put the rules of levels into the new tables, and note where their nodes have gone."""
        parts: list[PlacedPart] = []
        for level in levels:
            for kind, rules in level.parts:
                wanted = np.flatnonzero(alive(rules.numbers))
                if len(wanted):
                    parts.append((kind, rules.take(wanted)))
        if not parts:
            return
        base = self.new.nodes.size // k.NODE
        made = place(self.new, parts)
        self.placed.append(made)
        if not len(made):
            return
        order = np.argsort(made.numbers, kind="stable")
        numbers = made.numbers[order]
        pairs = [np.zeros(0, np.int64)]
        for level in levels:
            there = np.minimum(np.searchsorted(numbers, level.numbers), len(numbers) - 1)
            rows_there = np.flatnonzero(numbers[there] == level.numbers)
            paths, rows = level.paths[rows_there], order[there[rows_there]]
            for step in range(min(paths.shape[1], made.paths.shape[1])):
                before, after = paths[:, step].astype(np.int64), made.paths[rows, step]
                both = (before > 0) & (after > 0)
                pairs.append(np.unique(before[both] << 32 | after[both]))
        every = np.unique(np.concatenate(pairs))
        self._note(every >> 32, every & k.LOW, base)

    def _note(self, before: Any, after: Any, base: int) -> None:
        """Old nodes, ascending, and the new ones of each."""
        if len(before) and int(before[-1]) >= len(self._goes):
            self._goes = np.append(self._goes, np.zeros(int(before[-1]) + 1, np.int32))
        self._goes[before] = after
        again = np.unique(before[1:][before[1:] == before[:-1]])
        for node in again.tolist():
            new_nodes = after[np.searchsorted(before, node) : np.searchsorted(before, node, "right")]
            self._goes[node] = -len(self._several)
            self._several += [len(new_nodes), *new_nodes.tolist()]
        sources = np.bincount(after - base, minlength=self.new.nodes.size // k.NODE - base)
        self._twins.append((sources > 1).astype(np.uint8))

    def finish(self, levels: Sequence[PlacedLevel], alive: Alive) -> SharedTables:
        """The new tables with the rest of the levels, and with all runs; there is no match that was not taken out."""
        if self._failure is not None:
            raise self._failure
        self._take(levels, alive)
        old, new = self.old, self.new
        new.positions = max(new.positions, old.positions)
        new.numbers.slots = max(new.numbers.slots, old.numbers.slots)
        new.lay_out()
        missing = old.nodes.size // k.NODE - len(self._goes)
        goes = self._goes if missing <= 0 else np.append(self._goes, np.zeros(missing, np.int32))
        self._move(goes)
        return new

    def _move(self, goes: Any) -> None:
        old, new = self.old, self.new
        if old.cells[k.FRESH]:
            run_on_arrays(
                "link_fresh", old.listeners, old.stride, old.runs, old.fresh, old.cells, native=old.native
            )  # fmt: skip
        new.take_state(old)
        cells = new.cells
        alive = int(cells[k.ALIVE])
        more = 0
        if len(self._several) > 1:
            nodes = old.runs.reshape(-1, old.stride)[old.live(), 0] & k.LOW
            several = np.array(self._several)
            goals = goes[nodes].astype(np.int64)
            more = int((several[-goals[goals < 0]] - 1).sum())
            new.make_room_for(more)
        if len(self._listeners) // 3 < 4 * (int(cells[k.LISTENERS]) + more):
            self._listeners = no_listeners(1 << int(6 * (int(cells[k.LISTENERS]) + more) + 1024).bit_length())
        ended = np.zeros(alive + more + 1, np.int64)
        count = run_on_arrays(
            "move_runs", len(old.listeners) // 3, old.listeners, new.stride, int(cells[k.REALS]), new.runs, new.held,
            goes, np.array(self._several, np.int64), new.nodes.array, new.kinds.array,
            len(self._listeners) // 3 - 1, self._listeners, np.concatenate(self._twins), ended, cells,
            native=old.native,
        )  # fmt: skip
        new.listeners = self._listeners
        if count:
            _end_twins(new, ended[:count])


def _end_twins(tables: SharedTables, runs: Any) -> None:
    """Of runs that are at one node with the same events and values, one is enough."""
    rows = tables.runs.reshape(-1, tables.stride)[runs].copy()
    rows[:, 0] &= k.LOW
    held = tables.held.reshape(-1, int(tables.cells[k.REALS]))[runs]
    flags = rows[:, k.WAITS]
    tables.clean(rows, held, flags & k.DEPTH, flags >> k.TRANSFER_AT & 65535)
    columns = [*rows.T, *held.view(np.int64).T]
    mixed = np.zeros(len(runs), np.uint64)
    for column in columns:
        mixed = stir(mixed, column)
    order = np.argsort(mixed, kind="stable")
    same = np.zeros(len(runs), bool)
    same[1:] = mixed[order][1:] == mixed[order][:-1]
    for column in columns:
        same[1:] &= column[order][1:] == column[order][:-1]
    tables.runs.reshape(-1, tables.stride)[runs[order[same]], k.EXPIRES] = k.NULL
