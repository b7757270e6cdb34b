"""Walks over a match store: which events its histories start with, and where those lead, without enumerating them.

A node stands for the histories that end with its own event and for those of `other`. A node's number is greater than
those of the nodes that it leads to, and events come in the order of the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from cepheid.engine.matches.graph import MatchGraph
from cepheid.kernel.runtime import NIL


def _view(array: list[int] | np.ndarray) -> Any:
    """An array whose elements are read one by one."""
    return array.data if isinstance(array, np.ndarray) else array


class GraphWalk:
    """Follows the links of a match store, from the end of a match to its start."""

    def __init__(self, graph: MatchGraph) -> None:
        self.word, self.next, self.other, self.start = map(_view, graph.nodes)
        self.shift = graph.shift
        self.stretched = graph.stretched

    def event(self, node: int) -> int:
        """The event of a node, by its id."""
        return int(self.word[node]) >> self.shift

    def is_stretched(self, word: int) -> bool:
        """Whether a node of this word stands for all events up to the one that follows."""
        return bool(self.stretched) and self.stretched[word & ((1 << self.shift) - 1)]

    def last_event(self, node: int) -> int:
        """The last event of some history of a node: all of its histories are in one partition."""
        while self.word[node] < 0:
            node = self.next[node]
        return self.event(node)

    def below(self, roots: Iterable[tuple[int, int]]) -> dict[int, int]:
        """The nodes that some roots lead to, each with the oldest start that counts for one of them; roots first."""
        limits: dict[int, int] = {}
        for root, low in roots:
            if root != NIL and self.start[root] >= low:
                limits[root] = min(low, limits.get(root, low))
        heap = [-root for root in limits]
        heapify(heap)
        lows: dict[int, int] = {}
        while heap:
            node = -heappop(heap)
            low = lows[node] = limits[node]
            for child in (self.next[node], self.other[node]):
                if child == NIL or self.start[child] < low:
                    continue
                if child not in limits:
                    limits[child] = low
                    heappush(heap, -child)
                elif low < limits[child]:
                    limits[child] = low
        return lows

    def starts(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """The first events of histories, with their nodes, in order."""
        return sorted((self.event(node), node) for node in nodes if self.next[node] == NIL)

    def first_start(self, root: int, low: int, bound: int) -> int | None:
        """The earliest event, from `bound` on, with which a history of a node starts whose window began at `low`."""
        return next((event for event, _ in self.starts(self.below([(root, low)])) if event >= bound), None)


class Upwards:
    """Some nodes of a match store, and the way from each to those that lead to it."""

    def __init__(self, walk: GraphWalk, nodes: Sequence[int] | dict[int, int]) -> None:
        self.walk = walk
        self.sets: dict[int, list[int]] = {}  # nodes that have all histories of a node
        self.items: dict[int, list[int]] = {}  # nodes whose event comes after those histories
        for node in nodes:
            following, other = walk.next[node], walk.other[node]
            if following != NIL:
                (self.items if walk.word[node] >= 0 else self.sets).setdefault(following, []).append(node)
            if other != NIL:
                self.sets.setdefault(other, []).append(node)

    def above(self, nodes: Iterable[int]) -> set[int]:
        """All nodes that have a history which begins as one of some nodes does."""
        nodes_above = set(nodes)
        stack = list(nodes_above)
        while stack:
            node = stack.pop()
            for parent in (*self.sets.get(node, ()), *self.items.get(node, ())):
                if parent not in nodes_above:
                    nodes_above.add(parent)
                    stack.append(parent)
        return nodes_above

    def after(self, node: int, *, every: bool) -> tuple[list[int], set[int]]:
        """The nodes whose events come next after the event of a node: all of them, or those of the first such event.

        And the nodes that have its history as it is; these are complete where all next ones are asked for, or there
        are none.
        """
        seen, heap = {node}, [node]
        next_nodes: list[int] = []
        passed: set[int] = set()
        waiting: set[int] = set()  # those on the heap whose event comes next
        while heap:
            at = heappop(heap)
            if at in waiting:
                if not every and next_nodes and self.walk.event(at) != self.walk.event(next_nodes[0]):
                    break
                next_nodes.append(at)
            if at in seen:
                passed.add(at)
                for parent in self.sets.get(at, ()):
                    if parent not in seen:
                        seen.add(parent)
                        if parent not in waiting:
                            heappush(heap, parent)
                for parent in self.items.get(at, ()):
                    if parent not in waiting:
                        waiting.add(parent)
                        if parent not in seen:
                            heappush(heap, parent)
        return next_nodes, passed
