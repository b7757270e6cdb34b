"""Matches as a kernel writes them: words of position and config, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.automaton.model import Automaton
from cepheid.engine.found import NONE, Found
from cepheid.errors import EvaluationError
from cepheid.kernel import counting, store
from cepheid.kernel.load import Function, counting_functions, store_functions
from cepheid.kernel.plain import NIL

Ints = Any
Functions = Mapping[str, Function]
PLAIN: Functions = {name: function for name, function in vars(store).items() if callable(function)}
MOST = 50_000_000
"""Matches that are enumerated at once; more are counted, or given in parts."""
SOME_WORDS, MOST_WORDS = 2**25, 2**28
"""Positions in all matches: how many are written before the matches are counted, and at most (2 GB)."""


@dataclass(frozen=True)
class Decoder:
    """What the words of a query mean."""

    shift: int
    variables: Ints  # of a config or an exit: which positive component its event is bound to
    reached: Ints  # of an exit: a number into `reaches`
    reaches: tuple[frozenset[str], ...]
    ambiguous: bool
    waits: bool  # for an absence: then matches are not found in the order of their ends
    count: int  # of positive components
    compiled: bool

    def decode(self, words: Ints, offsets: Ints, base: int) -> Found:
        """Matches in the order of S9, each once; rows count from `base`."""
        matches = len(offsets) - 1
        ends = words[offsets[1:] - 1] >> self.shift
        if (ends[1:] < ends[:-1]).any():  # matches that had to wait for an absence
            words, offsets = _taken(words, offsets, np.argsort(ends, kind="stable"))
        order = self.order(words, offsets)
        ends = words[offsets[1:] - 1] & ((1 << self.shift) - 1)
        reached = self.reached[ends]
        rows, owners = np.empty(len(words), np.int64), np.empty(len(words), np.int16)
        bounds = np.empty(matches + 1, np.int64)
        source = words, offsets, self.variables, order
        self.run("decode_matches", matches, self.shift, base, *source, rows, owners, bounds)
        found = Found(rows, owners, bounds, reached[order], self.reaches)
        return found.take(self.unique(found)) if self.ambiguous else found

    def order(self, words: Ints, offsets: Ints) -> Ints:
        """The order of S9, as a permutation; the ends are in order already."""
        matches = len(offsets) - 1
        order, spare = np.arange(matches), np.empty(matches, np.int64)
        self.run("order_matches", matches, self.shift, self.count, words, offsets, self.variables, order, spare)
        return order

    def run(self, name: str, *arguments: Any) -> None:
        """A function of the match store on arrays: compiled, or as plain Python on lists."""
        if self.compiled:
            store_functions()[name](*arguments)
            return
        lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
        PLAIN[name](*lists)
        for array, filled in zip(arguments, lists, strict=True):
            if isinstance(array, np.ndarray):
                array[:] = filled

    def unique(self, found: Found) -> Ints:
        """Of equal matches, the one that reached most."""
        chosen: dict[tuple[bytes, bytes], int] = {}
        for k in range(len(found)):
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
    return Decoder(
        shift=shift,
        variables=variables,
        reached=np.array(reached, np.int64),
        reaches=reaches,
        ambiguous=automaton.ambiguous,
        waits=any(exit_.absent for exit_ in automaton.exits),
        count=len(numbers),
        compiled=compiled,
    )


@dataclass
class Graph:
    """A match store and the matches that were found in it."""

    nodes: tuple[Any, Any, Any, Any]  # word, next, alt, max
    matches: tuple[Any, Any, Any]  # root, word, low
    count: int
    compiled: bool
    dense: bool = False  # of one lane: all nodes in a window belong together

    def enumerate(self, most: int | None = None) -> Iterator[Part]:
        """Words and offsets, in parts of at most so many matches (None: as many as fit)."""
        function = (store_functions() if self.compiled else PLAIN)["enumerate_matches"]
        make: Any = np.empty if self.compiled else _zeros
        size = 65_536 if self.compiled else 256
        deep = 256
        stack, depths, path = make(deep, np.uint32), make(deep, np.int64), make(deep, np.int64)
        place: Any = np.zeros(6, np.int64) if self.compiled else [0] * 6
        while place[0] < self.count:
            words = make(size, np.int64)
            offsets = make(1 + (size if most is None else min(most, size)), np.int64)
            got = int(
                function(place[0], self.count, *self.nodes, *self.matches, words, offsets, stack, depths, path, place)
            )
            if got:
                yield np.asarray(words[: int(offsets[got])], np.int64), np.asarray(offsets[: got + 1], np.int64)
            if place[5] == 2:  # a match is longer than all before: its path is kept at the end of an array
                place[2] += len(path)
                stack, depths = _longer(stack), _longer(depths)
                path = [0] * len(path) + path if isinstance(path, list) else np.concatenate([path, path])
                depths = _shifted(depths, len(path) // 2)
            elif place[5] == 1 and (got == 0 or most is None or got < most):
                size = min(4 * size, 2**22) if got else 4 * size


Part = tuple[Ints, Ints]
"""Words, and where each match begins and ends in them."""


def _shifted(depths: Any, by: int) -> Any:
    return [depth + by for depth in depths] if isinstance(depths, list) else depths + by


def _zeros(size: int, _: object) -> list[int]:
    return [0] * size


def _taken(words: Ints, offsets: Ints, wanted: Ints) -> Part:
    lengths = offsets[wanted + 1] - offsets[wanted]
    moved = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return words[np.repeat(offsets[wanted] - moved[:-1], lengths) + np.arange(moved[-1])], moved


def _longer(array: Any) -> Any:
    if isinstance(array, list):
        return array + [0] * len(array)
    return np.concatenate([array, np.zeros(len(array), array.dtype)])


def _together(parts: list[Part]) -> Part:
    if not parts:
        return _EMPTY
    if len(parts) == 1:
        return parts[0]
    bases = np.cumsum([0, *(len(words) for words, _ in parts)])
    offsets = [np.zeros(1, np.int64), *(o[1:] + b for (_, o), b in zip(parts, bases, strict=False))]
    return np.concatenate([words for words, _ in parts]), np.concatenate(offsets)


class Encoded:
    """Matches in a graph: counted without being enumerated, enumerated when they are asked for."""

    def __init__(self, graph: Graph, decoder: Decoder, base: int, done: Callable[[], None] | None = None) -> None:
        self.graph = graph
        self.done = done  # called when the graph is needed no more
        self.decoder = decoder
        self.base = base
        self.parts: list[Part] | None = None

    def count(self) -> int:
        """How many there are, exactly."""
        if self.decoder.ambiguous:
            return len(self.all())
        return count_graph(self.graph) if self.parts is None else self.size()

    def size(self) -> int:
        """How many there are, by enumerating them."""
        return len(self.all()) if self.decoder.ambiguous else sum(len(o) - 1 for _, o in self.enumerated())

    def enumerated(self) -> list[Part]:
        """All matches as words."""
        if self.parts is None:
            parts: list[Part] = []
            words = 0
            for part in self.graph.enumerate():
                parts.append(part)
                before, words = words, words + len(part[0])
                # Before much is written, it is asked how much there would be.
                many = before <= SOME_WORDS < words and count_graph(self.graph) > MOST
                if many or words > MOST_WORDS:
                    raise EvaluationError(
                        "CEP505",
                        f"{count_graph(self.graph):,} matches are too many to enumerate",
                        "ask for some with limit=…, count them with count(), or add conditions or a shorter WITHIN",
                    )
            self.parts = parts
            if self.done is not None:
                self.graph = replace(self.graph, nodes=(), matches=())  # type: ignore[arg-type]
                self.done()
        return self.parts

    def batches(self, size: int) -> Iterator[Found]:
        """One part after the other, in the order of S9; only where one end has very many matches are those split."""
        if self.parts is not None or self.decoder.ambiguous or self.decoder.waits:
            yield from self.all().batches(size)
            return
        self.done = None  # the graph is read for as long as someone asks for more
        rest = _EMPTY
        for part in self.graph.enumerate(max(size, _GROUP)):
            words, offsets = _together([rest, part])
            ends = words[offsets[1:] - 1] >> self.decoder.shift
            whole = int(np.searchsorted(ends, ends[-1]))  # the last end may have more matches
            if not whole and len(ends) >= _GROUP:
                whole = len(ends)
            yield from self.decoder.decode(words[: offsets[whole]], offsets[: whole + 1], self.base).batches(size)
            rest = words[offsets[whole] :], offsets[whole:] - offsets[whole]
        yield from self.decoder.decode(*rest, self.base).batches(size)

    def some(self, most: int) -> Found | Encoded:
        """All of them if they are few; else a copy of the graph, which the scan goes on with."""
        parts: list[Part] = []
        for part in self.graph.enumerate():
            parts.append(part)
            if sum(len(offsets) - 1 for _, offsets in parts) > most:
                break
        else:
            return self.decoder.decode(*_together(parts), self.base) if parts else NONE
        g = self.graph
        copy = [list(a) if isinstance(a, list) else a.copy() for a in (*g.nodes, *g.matches)]
        graph = Graph((copy[0], copy[1], copy[2], copy[3]), (copy[4], copy[5], copy[6]), g.count, g.compiled, g.dense)
        return Encoded(graph, self.decoder, self.base)

    def all(self) -> Found:
        """All of them, or an error that says how many there are."""
        return self.decoder.decode(*_together(self.enumerated()), self.base)


_EMPTY = np.zeros(0, np.int64), np.zeros(1, np.int64)
_GROUP = 4096


def count_graph(graph: Graph) -> int:
    """How many matches a graph has: exact, in numbers as wide as they have to be."""
    if graph.dense and graph.compiled and _windows_overlap(graph):
        by_blocks = _count_by_blocks(graph)
        if by_blocks is not None:
            return by_blocks
    _, n_next, n_alt, n_max = graph.nodes
    m_root, _, m_low = graph.matches
    function = (store_functions() if graph.compiled else PLAIN)["count_matches"]

    def make(size: int, dtype: type) -> Any:
        return np.zeros(size, dtype) if graph.compiled else [0] * size

    marks, numbers = make(len(n_next), np.uint64), make(len(n_next), np.uint32)
    width, rows, sums, done, counted = 1, 1024, 8, 0, 0
    limbs, used, total = make(width * rows, np.uint64), make(rows + 1, np.uint32), make(sums, np.uint64)
    while done < graph.count:
        arrays = (marks, numbers, limbs, used, width, int(graph.dense), total)
        reached = int(function(done, graph.count, n_next, n_alt, n_max, m_root, m_low, *arrays))
        if reached < graph.count:
            if used[0] == 2:  # the sum is full
                counted += _number(total)
                sums = max(sums, width + 4)
                total = make(sums, np.uint64)
            else:
                width, rows = (2 * width, rows) if used[0] == 0 else (width, 4 * rows)
                limbs, used = make(width * rows, np.uint64), make(rows + 1, np.uint32)
            marks = make(len(n_next), np.uint64) if used[0] != 2 else marks
        done = reached
    return counted + _number(total)


def _windows_overlap(graph: Graph) -> bool:
    """Whether most nodes lie in the windows of several matches, so that it pays to look at each only once."""
    n_max, (m_root, _, m_low) = graph.nodes[3], graph.matches
    some = np.linspace(0, graph.count - 1, min(graph.count, 4)).astype(np.int64)
    roots = np.where(m_root[some] == NIL, 0, m_root[some])
    spans = [np.count_nonzero(n_max[: root + 1] >= low) for root, low in zip(roots, m_low[some], strict=True)]
    return graph.count * sum(map(int, spans)) > 4 * len(n_max) * max(len(spans), 1)


def _count_by_blocks(graph: Graph) -> int | None:
    """How many matches a graph of one lane has; None where it cannot be divided into blocks."""
    functions = counting_functions()
    _, n_next, n_alt, n_max = graph.nodes
    m_root, _, m_low = graph.matches
    roots, lows = m_root[: graph.count], m_low[: graph.count]
    owners = np.flatnonzero(roots != NIL)
    if not len(owners) or (lows[1:] < lows[:-1]).any():
        return None
    nodes = int(roots[owners].max()) + 1
    last, slots = np.zeros(nodes, np.uint32), np.full(nodes, NIL, np.uint32)
    slots[roots[owners]] = owners  # matches that share a root share a slot: which of theirs does not matter
    if not functions["last_uses"](nodes, n_next, n_alt, n_max, last):
        return None
    most = nodes // counting.SHORTEST + 2
    bounds, sizes = np.empty(most, np.int64), np.empty(most, np.int64)
    fronts = np.empty(most * counting.FRONT, np.uint32)
    maps = np.empty(most * counting.FRONT * counting.TERMS, np.uint64)
    finals, terms = (np.empty(k * counting.TERMS, np.uint64) for k in (graph.count, counting.NODES + counting.BLOCK))
    blocks = (bounds, sizes, fronts, maps, finals)
    if not functions["make_blocks"](nodes, n_next, n_alt, last, slots, *blocks, terms):
        return None
    lengths, values = np.zeros(2 * counting.FRONT + 1, np.uint64), np.empty(counting.BLOCK, np.uint64)
    matches = (n_next, n_alt, n_max, m_root, m_low, slots)
    width, done, total = 64, 0, np.zeros(0, np.uint64)
    while done < graph.count:
        total = np.concatenate([total, np.zeros(width + counting.SPARE - len(total), np.uint64)])
        numbers, spare = (np.empty(counting.FRONT * width, np.uint64) for _ in range(2))
        done = functions["count_by_blocks"](
            done, graph.count, *matches, *blocks, values, numbers, spare, lengths, total
        )
        width *= 4
    return _number(total, counting.BITS)


def _number(limbs: Any, bits: int = 62) -> int:
    return sum(int(limb) << (bits * k) for k, limb in enumerate(limbs))
