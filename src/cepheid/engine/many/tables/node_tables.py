"""Steps as rows of numbers: nodes and edges side by side, and a hash table in which an event finds its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engine.many.tables.asked import RowConditions, RowWays, distinct, stir
from cepheid.engine.many.tables.chain import ComparisonForm
from cepheid.engine.many.tables.condition_lists import NO_STAMP, ConditionLists
from cepheid.engine.many.tables.keys import LEAST, MOST, KeyColumns, short
from cepheid.engine.many.tables.ranges import MANY, block, segments
from cepheid.kernel import shared as k
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.shared_ranges import RANGED, SEGMENT, SEGMENTS_AT

FEW = 4
"""Children that are tried one by one."""
MOST_SETS, MOST_COLUMNS = 16, k.SET - 1
"""Sets of columns that are looked up; columns of one set."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class TableOffsets:
    """How much there is in the tables before a level: of each kind, where its own begin."""

    level: int = 0
    nodes: int = 1
    kinds: int = 1
    rules: int = 0
    lists: int = 1
    constants: int = 0
    ranges: int = 0
    members: int = 0
    stamps: int = 0


@dataclass(frozen=True)
class LevelTables:
    """Tables of some rules, and where their matches go."""

    edges: np.ndarray
    nodes: np.ndarray
    kinds: np.ndarray
    rules: np.ndarray
    lists: np.ndarray
    constants: np.ndarray
    reals: np.ndarray
    hashes: np.ndarray
    ranges: np.ndarray
    sets: np.ndarray
    root_sets: int
    members: np.ndarray
    paths: np.ndarray  # the nodes of each rule, step by step; 0 where it has none
    listening: frozenset[int]
    depths: tuple[int, ...]  # how many nodes there are, by depth
    stamps: int  # how many nodes can be reached in several ways


@dataclass(frozen=True)
class RowSteps:
    """Steps of some rows: what a node asks, how its runs wait, and what ends them."""

    asked: RowConditions
    parent: np.ndarray
    flags: np.ndarray
    listens: np.ndarray
    lasts: np.ndarray
    ending: RowConditions
    ahead: RowConditions
    decides: np.ndarray  # whether what is ahead matters

    def take(self, rows: np.ndarray) -> RowSteps:
        parent, flags, listens, lasts = (a[rows] for a in (self.parent, self.flags, self.listens, self.lasts))
        ending, ahead = self.ending.take(rows), self.ahead.take(rows)
        return RowSteps(self.asked.take(rows), parent, flags, listens, lasts, ending, ahead, self.decides[rows])

    def codes(self, *, merge: bool) -> tuple[np.ndarray, np.ndarray]:
        """The code of each step, equal ones having the same, and a row of each code."""
        count = len(self.parent)
        if not merge:
            return np.arange(count), np.arange(count)
        mixed = self.asked.hashes()
        numbers = (self.parent, self.flags, self.listens, self.lasts)
        ahead = np.where(self.decides, self.ahead.hashes(), np.uint64(0))
        for values in (*numbers, self.ending.hashes().view(np.int64), ahead.view(np.int64)):
            mixed = stir(mixed, values)
        first, codes = distinct(mixed)
        other = first[codes]
        alike = all((values == values[other]).all() for values in numbers)
        decided = self.ahead.take(np.flatnonzero(self.decides))
        places = np.cumsum(self.decides) - 1
        alike = alike and self.asked.same_as(other) and self.ending.same_as(other)
        assert alike, "two hashes of 64 bits are equal"
        assert decided.same_as(places[other[self.decides]]), "two hashes of 64 bits are equal"
        return codes, first


class NodeTables:
    """The arrays of a level under construction: `add` for each depth, then `finish`."""

    def __init__(self, keys: KeyColumns, ranks: np.ndarray, begin: TableOffsets) -> None:
        self.wide = np.array(keys.wide, bool)
        # That an event has a partition is asked by all alike.
        self.searched = np.array([key is not None and key.form != ComparisonForm.PARTITION for key in keys.keys], bool)
        self.ranks = ranks
        self.begin = begin
        self.count = 0
        self.edges: list[Any] = []
        self.nodes: list[Any] = []
        self.kinds: list[Any] = []  # of each node, what many have in common
        self.lists = ConditionLists(begin.lists)
        self.sets: dict[tuple[int, ...], int] = {}
        self.buckets: list[tuple[Any, Any, Any, Any]] = []
        self.ranges: list[Any] = []
        self.range_count = 0
        self.root_sets = 0
        self.listening: set[int] = set()
        self.depths: list[int] = []
        self.stamps = begin.stamps

    def add(self, steps: RowSteps, ways: RowWays, depth: int) -> Any:
        """The nodes of one depth: those of one parent side by side, and of these, those with equal values.

        A node that can be reached in several ways has a row for each: the first is its own, the others lead to it.
        Returns the numbers of the nodes.
        """
        asked, keyed, sets = self._keyed(ways.asked)
        steps = steps.take(ways.rows)
        parent, count = steps.parent, len(steps.parent)
        values = _padded(asked, keyed)
        order = np.lexsort((*values.T[::-1], sets, parent))
        parent, sets, values, keyed = (a[order] for a in (parent, sets, values, keyed))
        hashed = _has_many(parent) if depth else np.ones(count, bool)
        begin, length = _buckets(parent, sets, values)
        begin, length = begin[hashed[begin]], length[hashed[begin]]
        first = self.begin.nodes + self.count
        where = (first + begin) | length << 32
        for at in np.flatnonzero(length > MANY).tolist():
            rows = order[begin[at] : begin[at] + length[at]]
            where[at] = self._arrange(asked, rows, int(keyed[begin[at]]), first + int(begin[at]), int(where[at]))
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        edges = self._edges(asked.take(order), keyed, hashed, self._stamps(ways)[order])
        nodes, kinds = np.zeros((count, k.NODE), np.int64), np.zeros((count, k.NODE_KIND), np.int64)
        nodes[:, k.LISTENS] = steps.listens[order]
        kinds[:, k.FLAGS], kinds[:, k.LASTS] = steps.flags[order], steps.lasts[order]
        kinds[:, k.FLAGS] |= self.begin.level << k.LEVEL_AT
        numbers = first + place[ways.first]
        other = ~ways.first[order]
        nodes[other], kinds[other] = 0, 0
        kinds[other, k.FLAGS] = k.ALIAS | depth | self.begin.level << k.LEVEL_AT
        nodes[other, k.CHILDREN] = numbers[ways.rows[order][other]]
        waiting = (kinds[:, k.FLAGS] & (k.LEAF | k.EVERYTHING | k.ALIAS)) == 0
        self.listening.update(np.unique(kinds[waiting, k.FLAGS] >> k.LISTEN_AT & 65535).tolist())
        ending = steps.ending.take(order).only(~other)
        if len(ending.columns):
            kinds[:, k.ENDING] = np.where(ending.counts > 0, self.lists.add(ending), 0)
            kinds[:, k.FLAGS] |= np.where(ending.counts > 0, k.LOOKS, 0)
        if depth:
            self._link(parent, first)
        self._look_up(parent[begin], sets[begin], values[begin], where, first, depth)
        self.edges.append(edges)
        self.nodes.append(nodes)
        self.kinds.append(kinds)
        self.count += count
        self.depths.append(len(numbers))
        return numbers

    def _stamps(self, ways: RowWays) -> np.ndarray:
        """The stamps of nodes that can be reached in several ways, so that an event does so once; -1: of others."""
        several = ways.several
        begins = ways.first & several
        number = self.stamps + np.cumsum(begins) - 1
        self.stamps += int(begins.sum())
        return np.where(several, number, NO_STAMP)

    def _keyed(self, asked: RowConditions) -> tuple[RowConditions, np.ndarray, np.ndarray]:
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

    def _edges(self, asked: RowConditions, keyed: np.ndarray, hashed: np.ndarray, stamps: np.ndarray) -> np.ndarray:
        """Rows of edges: two conditions in 32 bits each, and where all of them are."""
        count = len(asked)
        skip = np.where(hashed, keyed, 0)
        plain = asked.per_row(asked.columns >= 0)
        more, rough = asked.counts - skip > 2, np.zeros(count, bool)
        more |= asked.counts > plain
        quick, exact = [], []
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
            exact.append(there & ~wide & fits)
            quick.append((column, np.where(there, np.maximum(least, 1), 0), most))
        edges = np.zeros((count, k.EDGE), np.int64)
        edges[:, 0] = quick[0][0] | quick[1][0] << k.COLUMN_BITS | more * k.MORE | rough * k.ROUGH
        edges[:, 1] = quick[0][1] << 32 | quick[1][1]
        edges[:, 2] = quick[0][2] << 32 | quick[1][2]
        # What an edge is found by, or what its quick bounds decide, is not asked again.
        many = hashed & (keyed > 2)  # of these, all values are compared when the edge is found
        each = np.repeat(np.arange(count), asked.counts)
        index = np.arange(len(asked.columns)) - asked.offsets[each]
        decided = index < np.where(hashed, keyed, 0)[each]
        for at in range(2):
            decided |= (index == (skip + at)[each]) & exact[at][each]
        kept = asked.pick(~decided | (many[each] & (index < keyed[each])))
        edges[:, 0] |= (stamps != NO_STAMP) * k.AGAIN | np.where(many, keyed, 0) << k.KEYED_AT
        edges[:, 0] |= self.lists.add(kept, stamps) << k.LIST_AT
        return edges

    def _kinds(self, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kinds of nodes, each once, and which of them each node is of."""
        mixed = np.zeros(len(kinds), np.uint64)
        for values in kinds.T:
            mixed = stir(mixed, values)
        first, codes = distinct(mixed)
        assert (kinds == kinds[first][codes]).all(), "two hashes of 64 bits are equal"
        return kinds[first], self.begin.kinds + codes

    def _link(self, parent: np.ndarray, first: int) -> None:
        """Tell nodes of the depth before where their children are."""
        begin = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
        count = np.diff(np.concatenate([begin, [len(parent)]]))
        nodes = self.nodes[-1]
        nodes[parent[begin] - (first - len(nodes)), k.CHILDREN] = (first + begin) | count << 32

    def _arrange(self, asked: RowConditions, rows: np.ndarray, keyed: int, first: int, where: int) -> int:
        """Put the rows of a bucket into an order in which bounds are searched, where they have some; where it is."""
        asked_of = asked.take(rows)
        segments_ = segments(asked_of, keyed, self.searched)
        if segments_ is None:
            return where
        rows[:] = rows[np.concatenate([segment.rows for segment in segments_])]
        numbers = block(segments_)
        numbers[SEGMENTS_AT + 1 : SEGMENTS_AT + SEGMENT * len(segments_) : SEGMENT] += first
        self.ranges.append(numbers)
        begin, self.range_count = self.range_count, self.range_count + len(numbers)
        return RANGED | (self.begin.ranges + begin)

    def _look_up(
        self, parent: np.ndarray, sets: np.ndarray, values: np.ndarray, where: np.ndarray, first: int, depth: int
    ) -> None:
        """Tell nodes which sets of columns their children are found by; of each bucket, its values and where it is."""
        if not len(where):
            return
        self.buckets.append((parent | sets << 32, values[:, 0], self._mixed(sets, values), where))
        if not depth:
            self.root_sets = int(np.bitwise_or.reduce(np.left_shift(1, np.unique(sets))))
            return
        kinds = self.kinds[-1]
        bits = np.left_shift(1, sets)
        kinds[np.unique(parent) - (first - len(kinds)), k.FLAGS] |= k.LOOKS
        np.bitwise_or.at(kinds[:, k.SETS], parent - (first - len(kinds)), bits)

    def _mixed(self, sets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """All values but the first as one number, as the kernel makes it of an event."""
        widths = np.zeros(len(self.sets), np.int64)
        widths[list(self.sets.values())] = [len(columns) for columns in self.sets]
        mixed = values[:, 1].copy()
        for at in range(2, MOST_COLUMNS):
            rows = np.flatnonzero(widths[sets] > at)
            mixed[rows] = (mixed[rows] * k.SPREAD + values[rows, at]) & k.HASH
        return mixed

    def finish(
        self,
        leaves: np.ndarray,
        numbers: np.ndarray,
        paths: np.ndarray,
        constants: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    ) -> LevelTables:
        """The arrays, with the rules of each leaf and the hash table."""
        nodes = np.concatenate([np.zeros((0, k.NODE), np.int64), *self.nodes])
        kinds, nodes[:, k.KIND_OF] = self._kinds(np.concatenate([np.zeros((0, k.NODE_KIND), np.int64), *self.kinds]))
        rules, lists = self.lists.finish(self.begin.rules, self.begin.constants)
        order = np.lexsort((numbers, leaves))
        leaves, numbers = leaves[order], numbers[order]
        if len(leaves):
            begin = np.flatnonzero(np.concatenate([[True], leaves[1:] != leaves[:-1]]))
            count = np.diff(np.concatenate([begin, [len(leaves)]]))
            nodes[leaves[begin] - self.begin.nodes, k.CHILDREN] = (self.begin.members + begin) | count << 32
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
        return LevelTables(
            edges=_joined([a.reshape(-1) for a in self.edges]),
            nodes=nodes.reshape(-1),
            kinds=kinds.reshape(-1),
            rules=rules,
            lists=lists,
            constants=_joined(constants[0]),
            reals=_joined(constants[1]).astype(np.float64),
            hashes=hashes,
            ranges=_joined(self.ranges),
            sets=sets.reshape(-1),
            root_sets=self.root_sets,
            members=numbers.astype(np.int32),
            paths=paths,
            listening=frozenset(self.listening),
            depths=tuple(self.depths),
            stamps=self.stamps - self.begin.stamps,
        )


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else _NONE


def _buckets(parent: np.ndarray, sets: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where those begin that are found by the same values, and how many they are."""
    new = np.ones(len(parent), bool)
    new[1:] = (parent[1:] != parent[:-1]) | (sets[1:] != sets[:-1]) | (values[1:] != values[:-1]).any(axis=1)
    begin = np.flatnonzero(new)
    return begin, np.diff(np.concatenate([begin, [len(parent)]]))


def _has_many(parent: np.ndarray) -> np.ndarray:
    """Whether the parent of each node has more than a few children; nodes of one parent are side by side."""
    begin = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
    count = np.diff(np.concatenate([begin, [len(parent)]]))
    return np.repeat(count > FEW, count)


def _sets(asked: RowConditions, used: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """The columns of some conditions of each row: a code, and what the codes stand for."""
    counts = asked.per_row(used)
    columns = asked.columns[used]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    some = RowConditions(columns, columns, columns, offsets, asked.never)
    first, codes = distinct(some.hashes())
    assert some.same_as(first[codes]), "two hashes of 64 bits are equal"
    return codes, [tuple(columns[offsets[row] : offsets[row + 1]].tolist()) for row in first]


def _padded(asked: RowConditions, keyed: np.ndarray) -> np.ndarray:
    """The values that each row is found by, side by side."""
    values = np.zeros((len(asked), MOST_COLUMNS), np.int64)
    for at in range(int(keyed.max(initial=0))):
        rows = np.flatnonzero(keyed > at)
        values[rows, at] = asked.lows[asked.offsets[rows] + at]
    return values
