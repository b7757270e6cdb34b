"""Rules to tables: steps that are equal become one node, and nodes are found by the values that they ask for.

Nothing is done rule by rule, and little template by template: all rules are rows of a few long arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Ends
from cepheid.engine.encoding.columns import numbers_of
from cepheid.engine.many.asked import Asked, Asking, stir
from cepheid.engine.many.chain import Bounds, Chain, Constant, Fence, RuleConstant, Test, Wait
from cepheid.engine.many.code import CodeNumbers
from cepheid.engine.many.keys import LEAST, MOST, KeyColumns, short
from cepheid.kernel import shared as k
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.expressions import Sort, sort_of

FEW = 4
"""Children that are tried one by one."""
MOST_SETS, MOST_COLUMNS = 16, k.SET - 1
"""Sets of columns that are looked up; columns of one set."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Extra:
    """A condition that only some rules of a chain have, at one of its steps; or on what ends the wait after it."""

    step: int
    ending: bool
    bounds: Bounds
    rows: Any
    constants: pa.Table


@dataclass(frozen=True)
class Rules:
    """Some rules of a chain, all of which are to be put into the tables together."""

    chain: Chain
    numbers: Any
    constants: pa.Table
    extras: tuple[Extra, ...] = field(default=())


@dataclass(frozen=True)
class Level:
    """Tables of some rules, and where their matches go."""

    edges: Any
    parents: Any
    nodes: Any
    rules: Any
    constants: Any
    reals: Any
    hashes: Any
    sets: Any
    root_sets: int
    members: Any
    paths: Any  # the nodes of each rule, step by step; 0 where it has none
    listening: frozenset[int]
    depths: tuple[int, ...]  # how many nodes there are, by depth


@dataclass
class _Constants:
    """The constants of tests: whole and real, side by side, each followed by whether it is NULL."""

    whole: list[Any] = field(default_factory=list)
    real: list[Any] = field(default_factory=list)
    count: int = 0

    def add(self, test: Test, rules: pa.Table, count: int) -> Any:
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


def _values(constant: Constant, rules: pa.Table) -> tuple[Any, Any]:
    assert isinstance(constant, RuleConstant)
    column = rules.column(constant.column)
    null = np.asarray(column.is_null().combine_chunks().to_numpy(zero_copy_only=False), bool)
    values = numbers_of(constant.column, constant.type.kind, column)
    return np.ascontiguousarray(values, np.float64 if sort_of(constant.type) is Sort.REAL else np.int64), null


@dataclass(frozen=True)
class _Waits:
    """How the runs of each row wait after a step."""

    flags: Any
    lasts: Any
    ending: Asked
    ended: Any  # whether it is `ending` that ends the wait


class LevelBuilder:
    """Makes the tables of some rules; `merge`: whether equal steps become one."""

    def __init__(self, keys: KeyColumns, numbers: CodeNumbers, *, merge: bool = True) -> None:
        self.keys = keys
        self.numbers = numbers
        self.merge = merge
        self.constants = _Constants()

    def build(self, parts: Sequence[Rules], level: int, base: int) -> Level:
        """The tables, whose nodes are numbered from a base."""
        sizes = [len(part.numbers) for part in parts]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        count = int(begins[-1])
        lengths = np.repeat(np.array([len(part.chain.steps) for part in parts], np.int64), sizes)
        depth = int(lengths.max(initial=0))
        asked = [self._asked(parts, begins, count, step) for step in range(depth)]
        waits = [self._waits(parts, begins, count, step) for step in range(depth)]
        never = np.zeros(count, bool)
        for one in asked:
            never |= one.never
        ranks = self._ranks(asked, len(self.keys))
        tables = _Tables(self.keys, ranks, level, base)
        paths = np.zeros((count, max(depth, 1)), np.int64)
        for step in range(depth):
            rows = np.flatnonzero(~never & (lengths > step))
            if not len(rows):
                continue
            own = asked[step].take(rows)
            parent = paths[rows, step - 1] if step else np.zeros(len(rows), np.int64)
            steps = self._steps(own, parent, rows, step, asked, waits[step], lengths, ranks)
            codes, first = steps.codes(merge=self.merge)
            paths[rows, step] = tables.add(steps.take(first), step)[codes]
        alive = np.flatnonzero(~never)
        leaves = paths[alive, lengths[alive] - 1]
        numbers = np.concatenate([part.numbers for part in parts]) if parts else _NONE
        return tables.finish(leaves, numbers[alive], paths, self.constants)

    def _asked(self, parts: Sequence[Rules], begins: Any, count: int, step: int) -> Asked:
        asking = Asking()
        for part, begin, end in zip(parts, begins[:-1], begins[1:], strict=True):
            if step < len(part.chain.steps):
                rows = np.arange(begin, end)
                self._fence(asking, part.chain.steps[step].fence, rows, part.constants)
                if part.chain.lane is not None and step == 0:
                    low = np.zeros(len(rows), np.int64)
                    asking.between(rows, self.keys.place(part.chain.lane), low, low + MOST)
                self._extras(asking, part, begin, step, ending=False)
        return asking.asked(count)

    def _extras(self, asking: Asking, part: Rules, begin: int, step: int, *, ending: bool) -> None:
        for extra in part.extras:
            if extra.step == step and extra.ending is ending:
                self._bounds(asking, extra.bounds, begin + extra.rows, extra.constants)

    def _fence(self, asking: Asking, fence: Fence, rows: Any, constants: pa.Table) -> None:
        for bounds in fence.bounds:
            self._bounds(asking, bounds, rows, constants)
        for test in fence.tests:
            asking.test(rows, self.numbers.test(test), self.constants.add(test, constants, len(rows)))

    def _bounds(self, asking: Asking, bounds: Bounds, rows: Any, constants: pa.Table) -> None:
        values, null = self.keys.constants(bounds.key, bounds.constant, constants, len(rows))
        asking.bound(rows, self.keys.place(bounds.key), bounds.operator, values, null)

    def _waits(self, parts: Sequence[Rules], begins: Any, count: int, step: int) -> _Waits:
        flags, lasts = np.full(count, step, np.int64), np.zeros(count, np.int64)
        ended = np.zeros(count, bool)
        asking = Asking()
        for part, begin, end in zip(parts, begins[:-1], begins[1:], strict=True):
            if step >= len(part.chain.steps):
                continue
            own = part.chain.steps[step]
            flags[begin:end] |= self.numbers.transfer(own.transfer) << k.TRANSFER_AT
            if own.wait is None:
                flags[begin:end] |= k.LEAF
                continue
            flags[begin:end] |= self._ends(own.wait, part.chain)
            if own.wait.lasts is not None:
                lasts[begin:end] = _ticks(own.wait.lasts, part.constants, end - begin)
            if own.wait.ending is not None:
                ended[begin:end] = True
                self._fence(asking, own.wait.ending, np.arange(begin, end), part.constants)
                self._extras(asking, part, begin, step, ending=True)
        return _Waits(flags, lasts, asking.asked(count), ended)

    def _ends(self, wait: Wait, chain: Chain) -> int:
        found = k.ENDS_ALWAYS if wait.ends.contiguous else k.ENDS_NEVER if wait.ends is Ends.NOTHING else 0
        if chain.lane is not None and wait.ends is not Ends.ANYTHING:
            return found | k.DYNAMIC | self.keys.place(chain.lane) << k.LISTEN_AT
        return found

    def _steps(
        self,
        own: Asked,
        parent: Any,
        rows: Any,
        step: int,
        asked: Sequence[Asked],
        waits: _Waits,
        lengths: Any,
        ranks: Any,
    ) -> _Steps:
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
            chosen, values = _listened(after, ranks)
            other, other_values = _listened(ending, ranks)
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
        return _Steps(own, parent, flags, listens, lasts, ending, ahead, decides & ~ended)

    def _ranks(self, asked: Sequence[Asked], width: int) -> Any:
        """The columns in the order of how many values they are asked to be equal to."""
        found = np.zeros(width, np.int64)
        for one in asked:
            columns, lows = one.columns[one.equal], one.lows[one.equal]
            for column in np.unique(columns):
                found[column] = max(found[column], len(np.unique(lows[columns == column])))
        ranks = np.empty(width, np.int64)
        ranks[np.lexsort((np.arange(width), found))] = np.arange(width)
        return ranks


def _ticks(lasts: Constant, rules: pa.Table, count: int) -> Any:
    """The window of each rule."""
    if isinstance(lasts, RuleConstant):
        return np.asarray(rules.column(lasts.column).combine_chunks().to_numpy(zero_copy_only=False), np.int64)
    return np.full(count, lasts.value, np.int64)


def _none(rows: int) -> Asked:
    return Asking().asked(rows)


def _listened(after: Asked, ranks: Any) -> tuple[Any, Any]:
    """The equality that the runs of each row listen to: of the next step's, the one with most values; 0: none."""
    chosen, values = np.zeros(len(after), np.int64), np.zeros(len(after), np.int64)
    equal = np.flatnonzero(after.equal)
    rows = np.repeat(np.arange(len(after)), after.counts)[equal]
    order = np.lexsort((ranks[after.columns[equal]], rows))
    chosen[rows[order]] = after.columns[equal][order]  # of several, the last one stays
    values[rows[order]] = after.lows[equal][order]
    return chosen, values


@dataclass(frozen=True)
class _Steps:
    """Steps of some rows."""

    asked: Asked
    parent: Any
    flags: Any
    listens: Any
    lasts: Any
    ending: Asked
    ahead: Asked
    decides: Any  # whether what is ahead matters

    def take(self, rows: Any) -> _Steps:
        """Some of them."""
        parent, flags, listens, lasts = (a[rows] for a in (self.parent, self.flags, self.listens, self.lasts))
        ending, ahead = self.ending.take(rows), self.ahead.take(rows)
        return _Steps(self.asked.take(rows), parent, flags, listens, lasts, ending, ahead, self.decides[rows])

    def codes(self, *, merge: bool) -> tuple[Any, Any]:
        """The code of each step, equal ones having the same, and a row of each code."""
        count = len(self.parent)
        if not merge:
            return np.arange(count), np.arange(count)
        mixed = self.asked.hashes()
        numbers = (self.parent, self.flags, self.listens, self.lasts)
        ahead = np.where(self.decides, self.ahead.hashes(), np.uint64(0))
        for values in (*numbers, self.ending.hashes().view(np.int64), ahead.view(np.int64)):
            mixed = stir(mixed, values)
        _, first, codes = np.unique(mixed, return_index=True, return_inverse=True)
        other = first[codes]
        alike = all((values == values[other]).all() for values in numbers)
        decided = self.ahead.take(np.flatnonzero(self.decides))
        places = np.cumsum(self.decides) - 1
        alike = alike and self.asked.same_as(other) and self.ending.same_as(other)
        assert alike, "two hashes of 64 bits are equal"
        assert decided.same_as(places[other[self.decides]]), "two hashes of 64 bits are equal"
        return codes, first


class _Tables:
    """Arrays under construction."""

    def __init__(self, keys: KeyColumns, ranks: Any, level: int, base: int) -> None:
        self.wide = np.array(keys.wide, bool)
        self.ranks = ranks
        self.level = level
        self.base = base
        self.count = 0
        self.edges: list[Any] = []
        self.parents: list[Any] = []
        self.nodes: list[Any] = []
        self.rules: list[Any] = []
        self.rule_count = 0
        self.sets: dict[tuple[int, ...], int] = {}
        self.buckets: list[tuple[Any, Any, Any, Any]] = []
        self.root_sets = 0
        self.listening: set[int] = set()
        self.depths: list[int] = []

    def add(self, steps: _Steps, depth: int) -> Any:
        """The nodes of one depth: those of one parent side by side, and of these, those with equal values.

        Returns their numbers.
        """
        asked, keyed, sets = self._keyed(steps.asked)
        parent, count = steps.parent, len(steps.parent)
        values = _padded(asked, keyed)
        order = np.lexsort((*values.T[::-1], sets, parent))
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        parent, sets, values, keyed = (a[order] for a in (parent, sets, values, keyed))
        hashed = _has_many(parent) if depth else np.ones(count, bool)
        first = self.base + self.count
        edges = self._edges(asked.take(order), keyed, hashed)
        nodes = np.zeros((count, k.NODE), np.int64)
        for at, own in ((k.FLAGS, steps.flags), (k.LISTENS, steps.listens), (k.LASTS, steps.lasts)):
            nodes[:, at] = own[order]
        waiting = (nodes[:, k.FLAGS] & (k.LEAF | k.EVERYTHING)) == 0
        self.listening.update(np.unique(nodes[waiting, k.FLAGS] >> k.LISTEN_AT & 65535).tolist())
        ending = steps.ending.take(order)
        where = self._rules(ending)
        nodes[:, k.ENDING] = np.where(ending.counts > 0, where | ending.counts << 40, 0)
        nodes[:, k.FLAGS] |= np.where(ending.counts > 0, k.LOOKS, 0)
        if depth:
            self._link(parent, first)
        self._look_up(parent, sets, values, hashed, first, depth)
        self.edges.append(edges)
        self.nodes.append(nodes)
        self.parents.append(parent.astype(np.int32))
        self.count += count
        self.depths.append(count)
        return first + place

    def _keyed(self, asked: Asked) -> tuple[Asked, Any, Any]:
        """How many equalities of each row its node is found by, these first, and the number of the set of columns.

        Where there are too many sets, those that are seldom have one column each: the one with most values.
        """
        equal = asked.equal
        index = np.arange(len(asked.columns)) - np.repeat(asked.offsets[:-1], asked.counts)
        used = equal & (index < MOST_COLUMNS)
        sets, names = _sets(asked, used)
        known = sum(name in self.sets for name in names)
        if len(self.sets) + len(names) - known > MOST_SETS:
            often = np.argsort(-np.bincount(sets, minlength=len(names)), kind="stable")[: MOST_SETS // 2]
            kept = np.isin(sets, often)
            rank = np.where(equal, self.ranks[np.where(equal, asked.columns, 0)], -1)
            best = np.maximum.reduceat(rank, np.minimum(asked.offsets[:-1], max(len(rank) - 1, 0)))
            chosen = equal & (rank == np.repeat(best, asked.counts))
            used = np.where(np.repeat(kept, asked.counts), used, chosen)
            asked = asked.ordered(np.where(used, 0, np.where(equal, 1, np.where(asked.columns >= 0, 2, 3))))
            equal = asked.equal
            index = np.arange(len(asked.columns)) - np.repeat(asked.offsets[:-1], asked.counts)
            width = np.where(kept, MOST_COLUMNS, 1)
            used = equal & (index < np.repeat(width, asked.counts))
            sets, names = _sets(asked, used)
        numbers = np.array([self.sets.setdefault(name, len(self.sets)) for name in names], np.int64)
        assert len(self.sets) <= 56, "more sets of columns than there are bits for"
        return asked, asked.per_row(used), numbers[sets] if len(names) else sets

    def _edges(self, asked: Asked, keyed: Any, hashed: Any) -> Any:
        """Rows of edges: two conditions in 32 bits each, and where all of them are."""
        count = len(asked)
        skip = np.where(hashed, keyed, 0)
        plain = asked.per_row(asked.columns >= 0)
        more, rough = asked.counts - skip > 2, np.zeros(count, bool)
        more |= asked.counts > plain
        quick = []
        for at in range(2):
            there = skip + at < plain
            index = np.minimum(asked.offsets[:-1] + skip + at, max(len(asked.columns) - 1, 0))
            if not len(asked.columns):
                there, index = np.zeros(count, bool), np.zeros(count, np.int64)
            column = np.where(there, asked.columns[index] if len(asked.columns) else 0, 0)
            low = np.where(there, asked.lows[index] if len(asked.columns) else 0, LEAST)
            high = np.where(there, asked.highs[index] if len(asked.columns) else 0, MOST)
            wide = self.wide[column]
            fits = (short(low) | (low == LEAST)) & (short(high) | (high == MOST))
            more |= ~wide & ~fits
            least = np.where(wide, (low >> 32) + k.HALF, np.where(fits & (low != LEAST), low + k.HALF, 1))
            most = np.where(wide, (high >> 32) + k.HALF, np.where(fits & (high != MOST), high + k.HALF, k.LOW))
            rough |= wide
            quick.append((column, np.where(there, np.maximum(least, 1), 0), most))
        found = np.zeros((count, k.EDGE), np.int64)
        found[:, 0] = quick[0][0] | quick[1][0] << k.COLUMN_BITS | more * k.MORE | rough * k.ROUGH
        found[:, 1] = quick[0][1] << 32 | quick[1][1]
        found[:, 2] = quick[0][2] << 32 | quick[1][2]
        found[:, 3] = self._rules(asked) | keyed << 32 | asked.counts << 40
        return found

    def _rules(self, asked: Asked) -> Any:
        """The conditions of each row one after the other; where they begin."""
        found = np.stack([asked.columns, asked.lows, asked.highs], axis=1)
        tests = asked.columns < 0
        found[tests, 0] = k.NOBODY
        found[tests, 1] = k.NOBODY - asked.columns[tests]
        found[tests, 2] = asked.lows[tests]
        where = self.rule_count + asked.offsets[:-1]
        self.rules.append(found.reshape(-1))
        self.rule_count += len(found)
        return where

    def _link(self, parent: Any, first: int) -> None:
        """Tell nodes of the depth before where their children are."""
        begin = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
        count = np.diff(np.concatenate([begin, [len(parent)]]))
        nodes = self.nodes[-1]
        nodes[parent[begin] - (first - len(nodes)), k.CHILDREN] = (first + begin) | count << 32

    def _look_up(self, parent: Any, sets: Any, values: Any, hashed: Any, first: int, depth: int) -> None:
        """Tell nodes which sets of columns their children are found by."""
        if not hashed.any():
            return
        new = np.ones(len(parent), bool)
        new[1:] = (parent[1:] != parent[:-1]) | (sets[1:] != sets[:-1]) | (values[1:] != values[:-1]).any(axis=1)
        begin = np.flatnonzero(new)
        count = np.diff(np.concatenate([begin, [len(parent)]]))
        begin, count = begin[hashed[begin]], count[hashed[begin]]
        owners = parent[begin] | sets[begin] << 32
        self.buckets.append((owners, values[begin, 0], values[begin, 1], (first + begin) | count << 32))
        if not depth:
            self.root_sets = int(np.bitwise_or.reduce(np.left_shift(1, np.unique(sets))))
            return
        nodes = self.nodes[-1]
        bits = np.left_shift(1, sets[begin]) | self.level << 56
        nodes[np.unique(parent[begin]) - (first - len(nodes)), k.FLAGS] |= k.LOOKS
        np.bitwise_or.at(nodes[:, k.SETS], parent[begin] - (first - len(nodes)), bits)

    def finish(self, leaves: Any, numbers: Any, paths: Any, constants: _Constants) -> Level:
        """The arrays, with the rules of each leaf and the hash table."""
        nodes = np.concatenate(self.nodes) if self.nodes else np.zeros((0, k.NODE), np.int64)
        order = np.lexsort((numbers, leaves))
        leaves, numbers = leaves[order], numbers[order]
        if len(leaves):
            begin = np.flatnonzero(np.concatenate([[True], leaves[1:] != leaves[:-1]]))
            count = np.diff(np.concatenate([begin, [len(leaves)]]))
            nodes[leaves[begin] - self.base, k.CHILDREN] = begin | count << 32
        buckets = [np.ascontiguousarray(_joined(column)) for column in zip(*self.buckets, strict=True)]
        total = len(buckets[0]) if buckets else 0
        size = 1 << max(4, int(1.5 * total + 1).bit_length())
        hashes = np.full(k.SLOT * size, k.NOBODY, np.int64)
        if total:
            run_on_arrays("fill_hashes", total, *buckets, size - 1, hashes, native=True)
        sets = np.zeros((max(len(self.sets), 1), k.SET), np.int32)
        for columns, at in self.sets.items():
            sets[at, 0] = len(columns)
            sets[at, 1 : 1 + len(columns)] = columns
        return Level(
            edges=_joined([a.reshape(-1) for a in self.edges]),
            parents=_joined(self.parents).astype(np.int32),
            nodes=nodes.reshape(-1),
            rules=_joined(self.rules),
            constants=_joined(constants.whole),
            reals=_joined(constants.real).astype(np.float64),
            hashes=hashes,
            sets=sets.reshape(-1),
            root_sets=self.root_sets,
            members=numbers,
            paths=paths,
            listening=frozenset(self.listening),
            depths=tuple(self.depths),
        )


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else _NONE


def _has_many(parent: Any) -> Any:
    """Whether the parent of each node has more than a few children; nodes of one parent are side by side."""
    begin = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
    count = np.diff(np.concatenate([begin, [len(parent)]]))
    return np.repeat(count > FEW, count)


def _sets(asked: Asked, used: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """The columns of some conditions of each row: a code, and what the codes stand for."""
    counts = asked.per_row(used)
    columns = asked.columns[used]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    some = Asked(columns, columns, columns, offsets, asked.never)
    _, first, codes = np.unique(some.hashes(), return_index=True, return_inverse=True)
    assert some.same_as(first[codes]), "two hashes of 64 bits are equal"
    return codes, [tuple(columns[offsets[row] : offsets[row + 1]].tolist()) for row in first]


def _padded(asked: Asked, keyed: Any) -> Any:
    """The values that each row is found by, side by side."""
    found = np.zeros((len(asked), MOST_COLUMNS), np.int64)
    for at in range(int(keyed.max(initial=0))):
        rows = np.flatnonzero(keyed > at)
        found[rows, at] = asked.lows[asked.offsets[rows] + at]
    return found
