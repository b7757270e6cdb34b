"""What the shared tables hold, as a value that can be told: nodes by depth, and the columns that they are found by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.engine.many.chain import Chain, Key
from cepheid.kernel import shared as k

if TYPE_CHECKING:
    from cepheid.engine.many.tables import SharedTables


@dataclass(frozen=True, slots=True)
class Lookup:
    """Nodes that are looked up by columns, how many there are, and of these at most for one event, below one node.

    Without columns all of them are compared with the event.
    """

    keys: tuple[Key, ...]
    nodes: int
    most: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many nodes have runs that listen to the value of a column; None: to every event."""

    key: Key | None
    nodes: int


@dataclass(frozen=True)
class Layout:
    """The tables as they are.

    chains: of each kind of rules, its template, its chain, and how many rules have it. depths: the nodes by depth.
    found_by: by depth, how nodes are looked up. children: how many nodes are not, because their parent has few.
    """

    chains: tuple[tuple[int, Chain, int], ...]
    depths: tuple[int, ...]
    found_by: tuple[tuple[Lookup, ...], ...]
    children: int
    waiting: tuple[Waiting, ...]
    levels: int
    nbytes: int

    @property
    def rules(self) -> int:
        """How many rules there are."""
        return sum(count for _, _, count in self.chains)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the rules by depth, each on its own."""
        found = [0] * max((len(chain.steps) for _, chain, _ in self.chains), default=0)
        for _, chain, count in self.chains:
            for depth in range(len(chain.steps)):
                found[depth] += count
        return tuple(found)


def layout_of(tables: SharedTables, chains: Iterator[tuple[int, Chain, int]], levels: int) -> Layout:
    """The layout of tables, of whose levels so many are in use."""
    nodes = tables.nodes.values.reshape(-1, k.NODE)[1:]
    depth = nodes[:, k.FLAGS] & k.DEPTH
    found = tuple(_lookups(tables, depth, at) for at in range(len(tables.depths)))
    looked_up = sum(one.nodes for lookups in found for one in lookups)
    return Layout(
        chains=tuple(chains),
        depths=tuple(tables.depths),
        found_by=found,
        children=sum(tables.depths) - looked_up,
        waiting=tuple(_waiting(tables, nodes[:, k.FLAGS])),
        levels=levels,
        nbytes=tables.nbytes(),
    )


def _lookups(tables: SharedTables, depths: Any, depth: int) -> tuple[Lookup, ...]:
    """How nodes of a depth are looked up; those of most nodes first."""
    found: dict[tuple[Key, ...], Lookup] = {}
    for level in tables.levels.values.reshape(-1, k.LEVEL):
        begin, size = int(level[k.HASH_AT]), int(level[k.HASH_MASK]) + 1
        hashes = tables.hashes.values[k.SLOT * begin : k.SLOT * (begin + size)].reshape(-1, k.SLOT)
        hashes = hashes[hashes[:, 0] != k.NOBODY]
        hashes = hashes[depths[(hashes[:, 3] & k.LOW) - 1] == depth]
        for number in np.unique(hashes[:, 0] >> 32):
            sizes = hashes[hashes[:, 0] >> 32 == number, 3] >> 32
            at = int(level[k.SETS_AT]) + int(number) * k.SET
            places = tables.sets.values[at + 1 : at + 1 + tables.sets.values[at]]
            columns = tuple(_key(tables, int(place)) for place in places)
            known = found.get(columns, Lookup(columns, 0, 0))
            most = max(known.most, int(sizes.max()))
            found[columns] = Lookup(columns, known.nodes + int(sizes.sum()), most)
    return tuple(sorted(found.values(), key=lambda own: -own.nodes))


def _waiting(tables: SharedTables, flags: Any) -> Iterator[Waiting]:
    """What the runs at nodes listen to, and at how many nodes; the most first."""
    flags = flags[(flags & k.LEAF) == 0]
    all_events = (flags & k.EVERYTHING) != 0
    columns, counts = np.unique(flags[~all_events] >> k.LISTEN_AT & 65535, return_counts=True)
    for at in np.argsort(-counts, kind="stable"):
        yield Waiting(_key(tables, int(columns[at])), int(counts[at]))
    if all_events.any():
        yield Waiting(None, int(all_events.sum()))


def _key(tables: SharedTables, place: int) -> Key:
    key = tables.keys.keys[place]
    assert key is not None
    return key
