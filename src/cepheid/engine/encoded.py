"""Matches as a kernel writes them: words of position and config, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.automaton.model import Automaton
from cepheid.engine.found import NONE, Found
from cepheid.errors import EvaluationError
from cepheid.kernel import store
from cepheid.kernel.load import Function, store_functions
from cepheid.kernel.plain import NIL

Ints = Any
Functions = Mapping[str, Function]
PLAIN: Functions = {
    name: getattr(store, name)
    for name in ("enumerate_matches", "count_matches", "mark_nodes", "move_nodes", "renumber", "order_matches")
}
MOST = 50_000_000
"""Matches that are enumerated at once; more are counted, or given in parts."""


@dataclass(frozen=True)
class Decoder:
    """What the words of a query mean."""

    shift: int
    variables: Ints  # of a config or an exit: which positive component its event is bound to
    reached: Ints  # of an exit: a number into `reaches`
    reaches: tuple[frozenset[str], ...]
    ambiguous: bool
    count: int  # of positive components
    compiled: bool

    def decode(self, words: Ints, offsets: Ints, base: int) -> Found:
        """Matches in the order of S9, each once; rows count from `base`."""
        matches = len(offsets) - 1
        ends = words[offsets[1:] - 1] >> self.shift
        if (ends[1:] < ends[:-1]).any():  # matches that had to wait for an absence
            words, offsets = _taken(words, offsets, np.argsort(ends, kind="stable"))
        order = np.arange(matches)
        if matches > 1:
            spare = np.zeros(matches, np.int64)
            lists = (words, offsets, self.variables, order, spare)
            if self.compiled:
                store_functions()["order_matches"](matches, self.shift, self.count, *lists)
            else:
                plain = [array.tolist() for array in lists]
                PLAIN["order_matches"](matches, self.shift, self.count, *plain)
                order = np.array(plain[3], np.int64)
        mask = (1 << self.shift) - 1
        codes = words & mask
        reached = self.reached[codes[offsets[1:] - 1]]
        found = Found((words >> self.shift) - base, self.variables[codes], offsets, reached, self.reaches)
        if matches > 1:
            found = found.take(self.unique(found, order) if self.ambiguous else order)
        return found

    def unique(self, found: Found, order: Ints) -> Ints:
        """Of equal matches, the one that reached most."""
        chosen: dict[tuple[bytes, bytes], int] = {}
        for k in order.tolist():
            part = slice(found.offsets[k], found.offsets[k + 1])
            key = found.rows[part].tobytes(), found.variables[part].tobytes()
            old = chosen.setdefault(key, k)
            if len(found.reaches[found.reached[k]]) > len(found.reaches[found.reached[old]]):
                chosen[key] = k
        return np.array(list(chosen.values()), np.int64)


def make_decoder(automaton: Automaton, shift: int, *, compiled: bool) -> Decoder:
    """The decoder of a query."""
    places = automaton.query.layout.places
    numbers = {component.variable: k for k, component in enumerate(automaton.query.positive)}
    configs = [numbers[places[config.place].variable] for config in automaton.configs]
    exits = [configs[exit_.config] for exit_ in automaton.exits]
    reaches = tuple(dict.fromkeys(exit_.reached for exit_ in automaton.exits)) or (frozenset(),)
    reached = [0] * len(configs) + [reaches.index(exit_.reached) for exit_ in automaton.exits]
    variables = np.array(configs + exits, np.int64)
    return Decoder(shift, variables, np.array(reached, np.int64), reaches, automaton.ambiguous, len(numbers), compiled)


@dataclass
class Graph:
    """A match store and the matches that were found in it."""

    nodes: tuple[Any, Any, Any, Any]  # word, next, alt, max
    matches: tuple[Any, Any, Any]  # root, word, low
    count: int
    compiled: bool

    def enumerate(self, most: int | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Words and offsets, in parts of at most so many matches (None: as many as come)."""
        make = (lambda n, t: np.zeros(n, t)) if self.compiled else (lambda n, t: [0] * n)
        function = (store_functions() if self.compiled else PLAIN)["enumerate_matches"]
        size = 256 if not self.compiled else 65_536
        words, offsets = make(size, np.int64), make((most or size) + 1, np.int64)
        stack, depths, path = make(256, np.uint32), make(256, np.int64), make(256, np.int64)
        place = make(6, np.int64)
        done: list[tuple[Ints, Ints]] = []
        found = 0
        while place[0] < self.count:
            got = int(
                function(place[0], self.count, *self.nodes, *self.matches, words, offsets, stack, depths, path, place)
            )
            part = np.array(offsets[: got + 1], np.int64)
            done.append((np.array(words[: part[-1]], np.int64), part))
            found += got
            if place[5] == 2:
                stack, depths, path = (_longer(array) for array in (stack, depths, path))
            elif place[5] == 1 and (got == 0 or most is None):
                words = _longer(words)
                offsets = offsets if most else _longer(offsets)
            if most is not None and found >= most:
                yield _together(done)
                done, found = [], 0
        if found or most is None:
            yield _together(done)


def _taken(words: Ints, offsets: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    lengths = offsets[wanted + 1] - offsets[wanted]
    moved = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return words[np.repeat(offsets[wanted] - moved[:-1], lengths) + np.arange(moved[-1])], moved


def _longer(array: Any) -> Any:
    if isinstance(array, list):
        return array + [0] * len(array)
    return np.concatenate([array, np.zeros(len(array), array.dtype)])


def _together(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    bases = np.cumsum([0, *(len(words) for words, _ in parts)])
    offsets = [np.zeros(1, np.int64), *(o[1:] + b for (_, o), b in zip(parts, bases, strict=False))]
    return np.concatenate([words for words, _ in parts]), np.concatenate(offsets)


class Encoded:
    """Matches in a graph: counted without being enumerated, enumerated when they are asked for."""

    def __init__(self, graph: Graph, decoder: Decoder, base: int) -> None:
        self.graph = graph
        self.decoder = decoder
        self.base = base
        self.words: tuple[Ints, Ints] | None = None

    def count(self) -> int:
        """How many there are, exactly."""
        if self.decoder.ambiguous:
            return len(self.all())
        return len(self.words[1]) - 1 if self.words is not None else count_graph(self.graph)

    def size(self) -> int:
        """How many there are, by enumerating them."""
        return len(self.all()) if self.decoder.ambiguous else len(self.enumerated()[1]) - 1

    def enumerated(self) -> tuple[Ints, Ints]:
        """All matches as words."""
        if self.words is None:
            parts: list[tuple[Ints, Ints]] = []
            total = 0
            for part in self.graph.enumerate(1_000_000):
                parts.append(part)
                total += len(part[1]) - 1
                if total > MOST:
                    raise EvaluationError(
                        "CEP505",
                        f"{count_graph(self.graph):,} matches are too many to enumerate",
                        "ask for some with limit=…, count them with count(), or add conditions or a shorter WITHIN",
                    )
            self.words = _together(parts)
        return self.words

    def batches(self, size: int) -> Iterator[Found]:
        """One part after the other; matches of one end may be split, and are in order in each part."""
        if self.words is not None or self.decoder.ambiguous:
            yield from self.all().batches(size)
            return
        for words, offsets in self.graph.enumerate(size):
            yield self.decoder.decode(words, offsets, self.base)

    def some(self, most: int) -> Found | Encoded:
        """All of them if they are few; else a copy of the graph, which the scan goes on with."""
        parts = self.graph.enumerate(most)
        first = next(parts, None)
        if first is None:
            return NONE
        if next(parts, None) is None:
            return self.decoder.decode(*first, self.base)
        g = self.graph
        copy = [list(a) if isinstance(a, list) else a.copy() for a in (*g.nodes, *g.matches)]
        graph = Graph((copy[0], copy[1], copy[2], copy[3]), (copy[4], copy[5], copy[6]), g.count, g.compiled)
        return Encoded(graph, self.decoder, self.base)

    def all(self) -> Found:
        """All of them, or an error that says how many there are."""
        return self.decoder.decode(*self.enumerated(), self.base)


def count_graph(graph: Graph) -> int:
    """How many matches a graph has: in doubles while those are exact, else in Python's integers."""
    n_word, n_next, n_alt, n_max = graph.nodes
    function = (store_functions() if graph.compiled else PLAIN)["count_matches"]
    counts: Any = np.zeros(1) if graph.compiled else [0.0]
    total = 0
    floor = 0
    for k in range(graph.count):
        root, low = int(graph.matches[0][k]), int(graph.matches[2][k])
        if root == NIL:
            total += 1
            continue
        need = root - floor + 1
        if len(counts) < need:
            counts = np.zeros(2 * need) if graph.compiled else [0.0] * (2 * need)
        found = function(root, low, floor, n_next, n_alt, n_max, n_word, counts)
        total += int(found) if found < 2**53 else count_exactly(root, low, n_next, n_alt, n_max)
    return total


def count_exactly(root: int, low: int, n_next: Any, n_alt: Any, n_max: Any) -> int:
    """The same in integers of any size, over the nodes that the root reaches."""
    counts: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        parts = [int(p) for p in (n_next[node], n_alt[node]) if p != NIL and n_max[p] >= low]
        missing = [part for part in parts if part not in counts]
        if missing:
            stack += missing
            continue
        stack.pop()
        counts[node] = sum(counts[part] for part in parts) + (1 if n_next[node] == NIL else 0)
    return counts[root]
