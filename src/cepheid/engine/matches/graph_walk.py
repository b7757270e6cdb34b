"""Walks over a match store: the first events of its histories, without enumerating them."""

from __future__ import annotations

from cepheid.engine.matches.graph import Graph
from cepheid.kernel.runtime import NIL


class Walk:
    """Reads a match store. A node's number is greater than those of the nodes that it leads to."""

    def __init__(self, graph: Graph) -> None:
        self.word, self.next, self.other, self.start = graph.nodes
        self.shift = graph.shift

    def last_event(self, node: int) -> int:
        """The last event of some history of a node: all of its histories are in one partition."""
        while self.word[node] < 0:
            node = self.next[node]
        return int(self.word[node]) >> self.shift

    def first_start(self, root: int, low: int, bound: int) -> int | None:
        """The earliest event, from `bound` on, with which a history of a node starts whose window began at `low`."""
        found: int | None = None
        seen = {root}
        stack = [root] if self.start[root] >= low else []
        while stack:
            node = stack.pop()
            following, other = self.next[node], self.other[node]
            if following == NIL:
                event = int(self.word[node]) >> self.shift
                if event >= bound and (found is None or event < found):
                    found = event
            elif following not in seen:
                seen.add(following)
                stack.append(following)
            if other != NIL and other not in seen and self.start[other] >= low:
                seen.add(other)
                stack.append(other)
        return found
