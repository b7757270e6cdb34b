"""What the shared tables hold, as a value that can be shown: nodes by depth, and the columns that they are found by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cepheid.engine.many.tables.chain import Chain, Key
from cepheid.kernel import shared as k
from cepheid.kernel import shared_ranges as r

if TYPE_CHECKING:
    from cepheid.engine.many.tables.tables import SharedTables


@dataclass(frozen=True, slots=True)
class NodeLookup:
    """Nodes that are looked up by columns, how many there are, and of these at most for one event, below one node.

    Without columns all of them are compared with the event. sorted_by: a column by whose bounds they are sorted, so
    that only those are compared whose bounds an event passes. cells: likewise, by the cells of some columns.
    """

    keys: tuple[Key, ...]
    nodes: int
    most: int
    sorted_by: Key | None = None
    cells: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingNodes:
    """How many nodes have runs that listen to the value of a column; None: to every event."""

    key: Key | None
    nodes: int


@dataclass(frozen=True)
class TablesLayout:
    """The tables as they are.

    chains: of each kind of rules, its template, its chain, and how many rules have it. depths: the nodes by depth.
    found_by: by depth, how nodes are looked up, each in all of its ways. children: how many nodes are not, because
    their parent has few.
    """

    chains: tuple[tuple[int, Chain, int], ...]
    depths: tuple[int, ...]
    found_by: tuple[tuple[NodeLookup, ...], ...]
    children: int
    waiting: tuple[WaitingNodes, ...]
    levels: int
    nbytes: int

    @property
    def rules(self) -> int:
        """How many rules there are."""
        return sum(count for _, _, count in self.chains)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the rules by depth, each on its own."""
        counts = [0] * max((len(chain.steps) for _, chain, _ in self.chains), default=0)
        for _, chain, count in self.chains:
            for depth in range(len(chain.steps)):
                counts[depth] += count
        return tuple(counts)


def layout_of(tables: SharedTables, chains: Iterator[tuple[int, Chain, int]], levels: int) -> TablesLayout:
    """The layout of tables, of whose levels so many are in use."""
    flags = tables.flags(np.arange(1, tables.nodes.size // k.NODE))
    depth = flags & k.DEPTH
    found_by = tuple(_lookups(tables, depth, at) for at in range(len(tables.depths)))
    looked_up = sum(lookup.nodes for lookups in found_by for lookup in lookups)
    return TablesLayout(
        chains=tuple(chains),
        depths=tuple(tables.depths),
        found_by=found_by,
        children=len(flags) - looked_up,
        waiting=tuple(_waiting(tables, flags)),
        levels=levels,
        nbytes=tables.nbytes(),
    )


def _lookups(tables: SharedTables, depths: np.ndarray, depth: int) -> tuple[NodeLookup, ...]:
    """How nodes of a depth are looked up; those of most nodes first."""
    by_lookup: dict[NodeLookup, NodeLookup] = {}
    for level in tables.levels.reshape(-1, k.LEVEL):
        begin, size = int(level[k.HASH_AT]), int(level[k.HASH_MASK]) + 1
        hashes = tables.hashes.values[k.SLOT * begin : k.SLOT * (begin + size)].reshape(-1, k.SLOT)
        hashes = hashes[hashes[:, 0] != k.NOBODY]
        ranged = hashes[:, 3] >= r.RANGED
        first = hashes[:, 3] & k.LOW
        first[ranged] = tables.ranges.array[hashes[ranged, 3] - r.RANGED + r.SEGMENTS_AT + 1]
        here = depths[first - 1] == depth
        hashes, ranged = hashes[here], ranged[here]
        for number in np.unique(hashes[:, 0] >> 32):
            at = int(level[k.SETS_AT]) + int(number) * k.SET
            places = tables.sets.values[at + 1 : at + 1 + tables.sets.values[at]]
            columns = tuple(_key(tables, int(place)) for place in places)
            mine = hashes[:, 0] >> 32 == number
            tried = (hashes[mine & ~ranged, 3] >> 32).tolist()
            alike = [(NodeLookup(columns, 0, 0), size) for size in tried]
            for where in (hashes[mine & ranged, 3] - r.RANGED).tolist():
                alike += _segments(tables, where, columns)
            for lookup, size in alike:
                known = by_lookup.get(lookup, lookup)
                by_lookup[lookup] = replace(known, nodes=known.nodes + size, most=max(known.most, size))
    return tuple(sorted(by_lookup.values(), key=lambda lookup_: -lookup_.nodes))


def _segments(tables: SharedTables, where: int, columns: tuple[Key, ...]) -> Iterator[tuple[NodeLookup, int]]:
    """How the nodes of a bucket with a block are found, and how many they are."""
    ranges = tables.ranges.array
    for at in range(int(ranges[where])):
        word, _, size, begin = ranges[where + r.SEGMENTS_AT + r.SEGMENT * at :][: r.SEGMENT].tolist()
        kind, column = word & r.KIND, word >> r.KIND_BITS
        if kind == r.MARKED:
            marked = ranges[where + begin + r.MARKS_AT :][: column * r.MARKS : r.MARKS].tolist()
            yield NodeLookup(columns, 0, 0, cells=tuple(_key(tables, place) for place in marked)), size
        else:
            sorted_by = None if kind == r.SCANNED else _key(tables, column)
            yield NodeLookup(columns, 0, 0, sorted_by), size


def _waiting(tables: SharedTables, flags: np.ndarray) -> Iterator[WaitingNodes]:
    """What the runs at nodes listen to, and at how many nodes; the most first."""
    flags = flags[(flags & (k.LEAF | k.ALIAS)) == 0]
    all_events = (flags & k.EVERYTHING) != 0
    columns, counts = np.unique(flags[~all_events] >> k.LISTEN_AT & 65535, return_counts=True)
    for at in np.argsort(-counts, kind="stable"):
        yield WaitingNodes(_key(tables, int(columns[at])), int(counts[at]))
    if all_events.any():
        yield WaitingNodes(None, int(all_events.sum()))


def _key(tables: SharedTables, place: int) -> Key:
    key = tables.keys.keys[place]
    assert key is not None
    return key
