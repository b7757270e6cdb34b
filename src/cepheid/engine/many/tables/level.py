"""Rules to tables: steps that are equal become one node, and nodes are found by the values that they ask for.

Nothing is done rule by rule, and little template by template: all rules are rows of a few long arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Ends
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.columns import numbers_of
from cepheid.engine.many.tables.asked import Asking, RowConditions, RowWays, stir
from cepheid.engine.many.tables.chain import Bounds, Chain, ChainWait, Constant, Fence, RuleConstant, SharedTest
from cepheid.engine.many.tables.code import CodeNumbers
from cepheid.engine.many.tables.keys import MOST, KeyColumns
from cepheid.engine.many.tables.listening import listened, together
from cepheid.engine.many.tables.node_tables import LevelTables, NodeTables, RowSteps, TableOffsets
from cepheid.engine.many.tables.packed import packed, unpacked
from cepheid.kernel import shared as k
from cepheid.kernel.expressions import KernelSort, sort_of

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Extra:
    """A condition that only some rules of a chain have, at one of its steps; or on what ends the wait after it."""

    step: int
    ending: bool
    bounds: Bounds
    rows: np.ndarray
    constants: pa.Table

    def of(self, places: np.ndarray) -> Extra:
        """Of rules that have other places now; -1: of those no more."""
        rows = places[self.rows]
        kept = np.flatnonzero(rows >= 0)
        return replace(self, rows=rows[kept], constants=self.constants.take(from_numpy(kept)))

    def packed(self) -> Extra:
        """The same in less memory."""
        return replace(self, rows=self.rows.astype(np.int32), constants=packed(self.constants))


@dataclass(frozen=True)
class ChainRules:
    """Some rules of a chain, all of which are to be put into the tables together."""

    chain: Chain
    numbers: np.ndarray
    constants: pa.Table
    extras: tuple[Extra, ...] = field(default=())

    def take(self, wanted: np.ndarray) -> ChainRules:
        """Some of them, by their places, with the conditions that these have."""
        if np.array_equal(wanted, np.arange(len(self.numbers))):
            return self
        places = np.full(len(self.numbers), -1)
        places[wanted] = np.arange(len(wanted))
        extras = tuple(taken for extra in self.extras if len((taken := extra.of(places)).rows))
        return ChainRules(self.chain, self.numbers[wanted], self.constants.take(from_numpy(wanted)), extras)

    def packed(self) -> ChainRules:
        """The same in less memory: from now on they are only needed if tables are made anew."""
        return replace(self, extras=tuple(extra.packed() for extra in self.extras)) if self.extras else self


@dataclass
class _Constants:
    """The constants of tests: whole and real, side by side, each followed by whether it is NULL."""

    whole: list[Any] = field(default_factory=list)
    real: list[Any] = field(default_factory=list)
    count: int = 0

    def add(self, test: SharedTest, rules: pa.Table, count: int) -> np.ndarray:
        """The place of the constants of each rule; equal ones have the same."""
        width = 2 * len(test.constants)
        if not width:
            return np.zeros(count, np.int64)
        whole, real = np.zeros((count, width), np.int64), np.zeros((count, width))
        for at, constant in enumerate(test.constants):
            values, null = _values(constant, rules)
            (real if values.dtype.kind == "f" else whole)[:, 2 * at] = values
            whole[:, 2 * at + 1] = null
        columns = [*whole.T, *(np.ascontiguousarray(column).view(np.int64) for column in real.T)]
        _, first, codes = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
        self.whole.append(whole[first].reshape(-1))
        self.real.append(real[first].reshape(-1))
        begin, self.count = self.count, self.count + width * len(first)
        return begin + width * codes.reshape(-1)


def _values(constant: Constant, rules: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(constant, RuleConstant)
    column = rules.column(constant.column)
    null = np.asarray(column.is_null().combine_chunks().to_numpy(zero_copy_only=False), bool)
    values = numbers_of(constant.column, constant.type.kind, column)
    return np.ascontiguousarray(values, np.float64 if sort_of(constant.type) is KernelSort.REAL else np.int64), null


@dataclass(frozen=True)
class _Waits:
    """How the runs of each row wait after a step."""

    flags: np.ndarray
    lasts: np.ndarray
    ending: RowConditions
    ended: np.ndarray  # whether it is `ending` that ends the wait


class LevelBuilder:
    """Makes the tables of some rules; `merge`: whether equal steps become one."""

    def __init__(self, keys: KeyColumns, numbers: CodeNumbers, *, merge: bool = True) -> None:
        self.keys = keys
        self.numbers = numbers
        self.merge = merge
        self.constants = _Constants()
        self.choices: dict[tuple[Fence, ...], int] = {}
        self.chosen = 1  # constants of choices that are told apart; 0: there are none

    def build(self, parts: Sequence[ChainRules], begin: TableOffsets) -> LevelTables:
        """The tables, to be put behind others."""
        sizes = [len(part.numbers) for part in parts]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        count = int(begins[-1])
        lengths = np.repeat(np.array([len(part.chain.steps) for part in parts], np.int64), sizes)
        depth = int(lengths.max(initial=0))
        asked = [self._asked(parts, begins, count, step) for step in range(depth)]
        waits = [self._waits(parts, begins, count, step) for step in range(depth)]
        never = np.zeros(count, bool)
        for step_asked in asked:
            never |= step_asked.never
        ranks = self._ranks(asked, len(self.keys))
        tables = NodeTables(self.keys, ranks, begin)
        paths = np.zeros((count, max(depth, 1)), np.int64)
        for step in range(depth):
            rows = np.flatnonzero(~never & (lengths > step))
            if not len(rows):
                continue
            asked_of = asked[step].take(rows)
            parent = paths[rows, step - 1] if step else np.zeros(len(rows), np.int64)
            steps = self._steps(asked_of, parent, rows, step, asked, waits[step], lengths, ranks)
            codes, first = steps.codes(merge=self.merge)
            ways = self._ways(parts, begins, rows[first], step, asked_of.take(first))
            paths[rows, step] = tables.add(steps.take(first), ways, step)[codes]
        alive = np.flatnonzero(~never)
        leaves = paths[alive, lengths[alive] - 1]
        numbers = np.concatenate([part.numbers for part in parts]) if parts else _NONE
        return tables.finish(leaves, numbers[alive], paths, (self.constants.whole, self.constants.real))

    def _asked(self, parts: Sequence[ChainRules], begins: np.ndarray, count: int, step: int) -> RowConditions:
        asking = Asking()
        for part, begin, end in zip(parts, begins[:-1], begins[1:], strict=True):
            if step < len(part.chain.steps):
                rows = np.arange(begin, end)
                self._fence(asking, part.chain.steps[step].fence, rows, part.constants)
                self._partition(asking, part, rows, step)
                self._extras(asking, part, begin, step, ending=False)
        return asking.asked(count)

    def _partition(self, asking: Asking, part: ChainRules, rows: np.ndarray, step: int) -> None:
        if part.chain.partition is not None and step == 0:
            low = np.zeros(len(rows), np.int64)
            asking.between(rows, self.keys.place(part.chain.partition), low, low + MOST)

    def _ways(
        self, parts: Sequence[ChainRules], begins: np.ndarray, rows: np.ndarray, step: int, asked: RowConditions
    ) -> RowWays:
        """How an event can pass what some rows ask; where they have a choice, each of its ways."""
        only = np.ones(len(rows), bool)
        choosing: list[np.ndarray] = [_NONE]
        asking, count = Asking(), 0
        for part, begin, end in zip(parts, begins[:-1], begins[1:], strict=True):
            fence = part.chain.steps[step].fence if step < len(part.chain.steps) else None
            mine = np.flatnonzero((rows >= begin) & (rows < end)) if fence is not None and fence.ways else _NONE
            if fence is None or not len(mine):
                continue
            only[mine] = False
            members = part.take(rows[mine] - begin)
            for way in fence.ways:
                at = np.arange(count, count + len(mine))
                count += len(mine)
                choosing.append(mine)
                self._fence(asking, replace(fence, ways=()), at, members.constants)
                self._fence(asking, way, at, members.constants)
                self._partition(asking, members, at, step)
                self._extras(asking, members, int(at[0]), step, ending=False)
        return RowWays.of(asked, np.flatnonzero(only), np.concatenate(choosing), asking.asked(count))

    def _extras(self, asking: Asking, part: ChainRules, begin: int, step: int, *, ending: bool) -> None:
        for extra in part.extras:
            if extra.step == step and extra.ending is ending:
                rows = np.int64(begin) + extra.rows
                self._bounds(asking, extra.bounds, rows, unpacked(extra.constants))

    def _fence(self, asking: Asking, fence: Fence, rows: np.ndarray, constants: pa.Table) -> None:
        for bounds in fence.bounds:
            self._bounds(asking, bounds, rows, constants)
        for test in fence.tests:
            asking.test(rows, self.numbers.test(test), self.constants.add(test, constants, len(rows)))
        if fence.ways:
            number = self.choices.setdefault(fence.ways, len(self.choices))
            asking.choice(rows, number, self._constants_of(fence.ways, len(rows), constants))

    def _constants_of(self, ways: Sequence[Fence], count: int, constants: pa.Table) -> np.ndarray:
        """A number for the constants of a choice of each rule, the same where these are."""
        columns: list[np.ndarray] = []
        for way in ways:
            for bounds in way.bounds:
                self.keys.place(bounds.key)  # all columns are known before there are nodes
                if isinstance(bounds.constant, RuleConstant):
                    values, null = self.keys.constants(bounds.key, bounds.constant, constants, count)
                    columns += [np.where(null, 0, values), null.astype(np.int64)]
            columns += [self.constants.add(test, constants, count) for test in way.tests if test.constants]
        if not columns:
            return np.zeros(count, np.int64)
        codes = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        begin, self.chosen = self.chosen, self.chosen + count
        return begin + codes

    def _bounds(self, asking: Asking, bounds: Bounds, rows: np.ndarray, constants: pa.Table) -> None:
        values, null = self.keys.constants(bounds.key, bounds.constant, constants, len(rows))
        asking.bound(rows, self.keys.place(bounds.key), bounds.operator, values, null)

    def _waits(self, parts: Sequence[ChainRules], begins: np.ndarray, count: int, step: int) -> _Waits:
        flags, lasts = np.full(count, step, np.int64), np.zeros(count, np.int64)
        ended = np.zeros(count, bool)
        asking = Asking()
        for part, begin, end in zip(parts, begins[:-1], begins[1:], strict=True):
            if step >= len(part.chain.steps):
                continue
            chain_step = part.chain.steps[step]
            flags[begin:end] |= self.numbers.transfer(chain_step.transfer) << k.TRANSFER_AT
            if chain_step.wait is None:
                flags[begin:end] |= k.LEAF
                continue
            flags[begin:end] |= self._ends(chain_step.wait, part.chain)
            if chain_step.wait.lasts is not None:
                lasts[begin:end] = _ticks(chain_step.wait.lasts, part.constants, end - begin)
            if chain_step.wait.ending is not None:
                ended[begin:end] = True
                self._fence(asking, chain_step.wait.ending, np.arange(begin, end), part.constants)
                self._extras(asking, part, begin, step, ending=True)
        return _Waits(flags, lasts, asking.asked(count), ended)

    def _ends(self, wait: ChainWait, chain: Chain) -> int:
        flags = k.ENDS_ALWAYS if wait.ends.contiguous else k.ENDS_NEVER if wait.ends is Ends.NOTHING else 0
        if (
            chain.partition is not None
        ):  # a strict strategy sees the events of its partition alone: no partition is narrower then
            return flags | k.DYNAMIC | self.keys.place(chain.partition) << k.LISTEN_AT
        return flags

    def _steps(
        self,
        asked_of: RowConditions,
        parent: np.ndarray,
        rows: np.ndarray,
        step: int,
        asked: Sequence[RowConditions],
        waits: _Waits,
        lengths: np.ndarray,
        ranks: np.ndarray,
    ) -> RowSteps:
        """The steps of some rows, with what their nodes must have in common beside what they ask."""
        flags, lasts, ended = waits.flags[rows], waits.lasts[rows], waits.ended[rows]
        ending = waits.ending.take(rows)
        listens = np.zeros(len(rows), np.int64)
        after = _none(len(rows))
        if (lengths[rows] > step + 1).any():
            after = asked[min(step + 1, len(asked) - 1)].take(rows)
            # What ends a wait without a condition is any event.
            flags |= np.where(ended & (ending.counts == 0), k.ENDS_ALWAYS, 0)
            free = (flags & (k.LEAF | k.DYNAMIC)) == 0
            chosen, values = listened(after, ranks)
            wanted = free & ~ended & ((flags & k.ENDS_NEVER) != 0)
            if self.merge and wanted.any():
                alike = asked_of.hashes()
                for numbers in (parent, flags, lasts):
                    alike = stir(alike, numbers)
                chosen, values = together(after, ranks, chosen, values, alike, wanted)
            other, other_values = listened(ending, ranks)
            chosen, values = np.where(ended, other, chosen), np.where(ended, other_values, values)
            chosen = np.where((flags & k.ENDS_ALWAYS) != 0, 0, chosen)
            flags |= np.where(free, np.where(chosen > 0, chosen << k.LISTEN_AT, k.EVERYTHING), 0)
            listens = np.where(free & (chosen > 0), values, 0)
            # A wait that ends with the very value that its runs listen to ends with every event that they hear.
            heard = free & ended & (chosen > 0) & (ending.counts == 1)
            flags |= np.where(heard, k.ENDS_ALWAYS, 0)
            ending = ending.only(~heard)
        # Where the next step ends the wait, rules that differ in it have no node in common.
        decides = (flags & (k.LEAF | k.ENDS_ALWAYS | k.ENDS_NEVER)) == 0
        ahead = after.take(np.arange(len(rows))) if (decides & ~ended).any() else _none(len(rows))
        return RowSteps(asked_of, parent, flags, listens, lasts, ending, ahead, decides & ~ended)

    def _ranks(self, asked: Sequence[RowConditions], width: int) -> np.ndarray:
        """The columns in the order of how many values they are asked to be equal to."""
        counts = np.zeros(width, np.int64)
        for conditions in asked:
            columns, lows = conditions.columns[conditions.equal], conditions.lows[conditions.equal]
            for column in np.unique(columns):
                counts[column] = max(counts[column], len(np.unique(lows[columns == column])))
        ranks = np.empty(width, np.int64)
        ranks[np.lexsort((np.arange(width), counts))] = np.arange(width)
        return ranks


def _ticks(lasts: Constant, rules: pa.Table, count: int) -> np.ndarray:
    """The window of each rule."""
    if isinstance(lasts, RuleConstant):
        return np.asarray(rules.column(lasts.column).combine_chunks().to_numpy(zero_copy_only=False), np.int64)
    assert isinstance(lasts.value, int)
    return np.full(count, min(lasts.value, MOST), np.int64)


def _none(rows: int) -> RowConditions:
    return Asking().asked(rows)
