"""S12 and S24 in the match store: the matches that are given are found node by node, and no others are enumerated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from cepheid.engine.matches.choice import Choice, KeptEvents, Key, Open
from cepheid.engine.matches.graph import MatchGraph
from cepheid.engine.matches.graph_matches import Decoder
from cepheid.engine.matches.graph_walk import GraphWalk, Upwards
from cepheid.engine.matches.having import Having
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.smallest_match import StoredMatch, matches_in_order, smallest_match
from cepheid.kernel.runtime import NIL


class GraphChoice:
    """Chooses among the matches of a store. `kept`: the numbers of those that must wait."""

    def __init__(
        self, graph: MatchGraph, decoder: Decoder, choice: Choice, events: KeptEvents, having: Having | None = None
    ) -> None:
        self.having = having
        self.walk = GraphWalk(graph)
        self.decoder = decoder
        self.choice = choice
        self.events = events
        self.found = list(_found(graph, self.walk))
        self.keys = events.keys([stored.end for stored in self.found], choice.columns)
        self.words: list[list[int]] = []
        self.kept: list[int] = []

    def apart(self, limit: int | None) -> MatchTable:
        """S12: the matches that are given now. From `limit` on, an earlier match may still become certain."""
        order = sorted(range(len(self.found)), key=lambda k: self.found[k].end)
        for end, numbers in groupby(order, key=lambda k: self.found[k].end):
            same = list(numbers)
            if limit is not None and end >= limit:
                self.kept += same
                continue
            key, of_one_end = self.keys[same[0]], [self.found[k] for k in same]
            bound = self.choice.bound(key, self.events)
            for start in self.starts(of_one_end, bound):
                if self.give(key, [stored for stored in of_one_end if self.covers(stored, *start)], *start):
                    break
        return self.table()

    def longest(self, opened: Open | None) -> MatchTable:
        """S24: the matches that are given now; None: no event is to come."""
        partitions: dict[Key, list[int]] = {}
        for k, key in enumerate(self.keys):
            partitions.setdefault(key, []).append(k)
        for key, numbers in partitions.items():
            self.longest_in(key, numbers, opened)
        return self.table()

    def longest_in(self, key: Key, numbers: Sequence[int], opened: Open | None) -> None:
        """Choose the longest matches of one partition; `opened` has the runs that may still become longer."""
        of_partition = [self.found[k] for k in numbers]
        nodes = self.walk.below((stored.root, stored.low) for stored in of_partition)
        upwards = Upwards(self.walk, nodes)
        starts = self.walk.starts(nodes) + [(stored.end, NIL) for stored in of_partition if stored.root == NIL]
        known: Sequence[tuple[int, list[int]]] = [
            (event, [node for _, node in same]) for event, same in groupby(sorted(starts), key=lambda start: start[0])
        ]
        at = 0
        while True:
            bound = self.choice.bound(key, self.events)
            while at < len(known) and known[at][0] < bound:
                at += 1
            if at == len(known):
                return
            event, leaves = known[at]
            first = None if opened is None else opened(key, bound)
            if first is not None and first <= event:
                break
            time = max((self.walk.start[node] for node in leaves if node != NIL), default=0)
            above = upwards.above(node for node in leaves if node != NIL)
            with_start = [
                stored
                for stored in of_partition
                if (stored.root in above and stored.low <= time) or (stored.root == NIL and stored.end == event)
            ]
            at += 1
            for last in sorted({stored.end for stored in with_start}, reverse=True):
                if self.give(key, [stored for stored in with_start if stored.end == last], event, time):
                    break
        # What is left is what a start can lead to that may still be taken.
        leaves = [node for _, same in known[at:] for node in same if node != NIL]
        alone = {event for event, _ in known[at:]}
        above = upwards.above(leaves)
        self.kept += [
            k
            for k, stored in zip(numbers, of_partition, strict=True)
            if stored.root in above or (stored.root == NIL and stored.end in alone)
        ]

    def starts(self, of_one_end: Sequence[StoredMatch], bound: int) -> list[tuple[int, int]]:
        """The starts, from an event on, of some matches that have one end, with their times; the earliest first."""
        nodes = self.walk.below((stored.root, stored.low) for stored in of_one_end)
        starts = {stored.end: 0 for stored in of_one_end if stored.root == NIL}
        starts |= {event: self.walk.start[node] for event, node in self.walk.starts(nodes)}
        return sorted((event, time) for event, time in starts.items() if event >= bound)

    def covers(self, stored: StoredMatch, start: int, time: int) -> bool:
        """Whether a start can be that of a match, as far as its window says."""
        return stored.end == start if stored.root == NIL else stored.low <= time

    def give(self, key: Key, found: Sequence[StoredMatch], start: int, time: int) -> bool:
        """Give the first of some matches that have one start and one end, and pass HAVING; whether there is one."""
        decoder = self.decoder
        mask = (1 << decoder.shift) - 1

        def label(word: int) -> int:
            return int(decoder.variables[word & mask])

        def reach(word: int) -> int:
            return len(decoder.reaches[decoder.reached[word & mask]])

        if self.having is None:
            words = smallest_match(self.walk, found, start, time, label, reach)
        else:
            self.having.begin()
            passed = filter(self.having.holds, matches_in_order(self.walk, found, start, time, label, reach))
            first = next(passed, None)
            if first is None:
                return False
            words = first
        self.words.append(words)
        self.choice.take(key, found[0].end, self.events)
        return True

    def table(self) -> MatchTable:
        """The matches that were chosen, in the order of S9."""
        if not self.words:
            return NONE
        self.words.sort(key=lambda words: words[-1] >> self.decoder.shift)
        offsets: np.ndarray = np.cumsum([0, *map(len, self.words)])
        words: np.ndarray = np.array([word for match in self.words for word in match], np.int64)
        return self.decoder.decode(words, offsets, self.events.base)


def _found(graph: MatchGraph, walk: GraphWalk) -> Iterator[StoredMatch]:
    roots, words, lows = (np.asarray(column[: graph.count]).tolist() for column in graph.matches)
    for root, word, low in zip(roots, words, lows, strict=True):
        yield StoredMatch(root, word, low, (word if word >= 0 else walk.word[root]) >> graph.shift)
