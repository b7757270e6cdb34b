"""How many matches a graph has, exactly and without enumerating them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.engine.matches.graph import MatchGraph
from cepheid.kernel import counting_blocks
from cepheid.kernel.compile import library_function
from cepheid.kernel.match_store import MatchArrays
from cepheid.kernel.runtime import NIL


def count_graph(graph: MatchGraph) -> int:
    """How many matches a graph has: exact, in numbers as wide as they have to be."""
    if graph.dense and graph.compiled and _windows_overlap(graph):
        by_blocks = _count_by_blocks(graph)
        if by_blocks is not None:
            return by_blocks
    nodes, matches = graph.nodes, graph.matches
    function = library_function("count_matches", native=graph.compiled)

    def make(size: int, dtype: type) -> Any:
        return np.zeros(size, dtype) if graph.compiled else [0] * size

    marks, numbers = make(len(nodes.next), np.int64), make(len(nodes.next), np.uint32)
    width, rows, sums, done, counted = 1, 1024, 8, 0, 0
    limbs, used, total = make(width * rows, np.int64), make(rows + 1, np.uint32), make(sums, np.int64)
    while done < graph.count:
        arrays = (marks, numbers, limbs, used, width, int(graph.dense), total, rows, len(total))
        read = nodes.next, nodes.other, nodes.start, matches.root, matches.low
        reached = int(function(done, graph.count, *read, *arrays))
        if reached < graph.count:
            if used[0] == 2:  # the sum is full
                counted += _number(total)
                sums = max(sums, width + 4)
                total = make(sums, np.int64)
            else:
                width, rows = (2 * width, rows) if used[0] == 0 else (width, 4 * rows)
                limbs, used = make(width * rows, np.int64), make(rows + 1, np.uint32)
            marks = make(len(nodes.next), np.int64) if used[0] != 2 else marks
        done = reached
    return counted + _number(total)


def count_some(graph: MatchGraph, seconds: float) -> tuple[int, bool]:
    """How many matches a graph has, and whether these are all: it stops after some processor time."""
    begin, size, done, counted = time.thread_time(), 1, 0, 0
    while done < graph.count and time.thread_time() - begin < seconds:
        last = min(done + size, graph.count)
        some = MatchArrays(*(column[done:last] for column in graph.matches))
        counted += count_graph(replace(graph, matches=some, count=last - done))
        done, size = last, 2 * size
    return counted, done == graph.count


def _windows_overlap(graph: MatchGraph) -> bool:
    """Whether most nodes lie in the windows of several matches, so that it pays to look at each only once."""
    starts, matches = graph.nodes.start, graph.matches
    some = np.linspace(0, graph.count - 1, min(graph.count, 4)).astype(np.int64)
    roots = np.where(matches.root[some] == NIL, 0, matches.root[some])
    spans = [np.count_nonzero(starts[: root + 1] >= low) for root, low in zip(roots, matches.low[some], strict=True)]
    return graph.count * sum(map(int, spans)) > 4 * len(starts) * max(len(spans), 1)


def _count_by_blocks(graph: MatchGraph) -> int | None:
    """How many matches a graph of one partition has; None where it cannot be divided into blocks."""
    _, n_next, n_alt, n_max = graph.nodes
    roots, lows = graph.matches.root[: graph.count], graph.matches.low[: graph.count]
    owners = np.flatnonzero(roots != NIL)
    if not len(owners) or (lows[1:] < lows[:-1]).any():
        return None
    nodes = int(roots[owners].max()) + 1
    last, slots = np.zeros(nodes, np.uint32), np.full(nodes, NIL, np.uint32)
    slots[roots[owners]] = owners  # matches that share a root share a slot: which of theirs does not matter
    if not library_function("last_uses", native=True)(nodes, n_next, n_alt, n_max, last):
        return None
    most = nodes // counting_blocks.SHORTEST + 2
    bounds, sizes = np.empty(most, np.int64), np.empty(most, np.int64)
    fronts = np.empty(most * counting_blocks.FRONT, np.uint32)
    maps = np.empty(most * counting_blocks.FRONT * counting_blocks.TERMS, np.int64)
    finals, terms = (
        np.empty(k * counting_blocks.TERMS, np.int64)
        for k in (graph.count, counting_blocks.NODES + counting_blocks.BLOCK)
    )
    blocks = (bounds, sizes, fronts, maps, finals)
    if not library_function("make_blocks", native=True)(nodes, n_next, n_alt, last, slots, *blocks, terms):
        return None
    lengths, values = np.zeros(2 * counting_blocks.FRONT + 1, np.int64), np.empty(counting_blocks.BLOCK, np.int64)
    matches = (n_next, n_alt, n_max, graph.matches.root, graph.matches.low, slots)
    width, done, total = 64, 0, np.zeros(0, np.int64)
    while done < graph.count:
        total = np.concatenate([total, np.zeros(width + counting_blocks.SPARE - len(total), np.int64)])
        numbers = np.empty(2 * counting_blocks.FRONT * width, np.int64)
        done = library_function("count_by_blocks", native=True)(
            done, graph.count, *matches, *blocks, values, numbers, lengths, total, width
        )
        width *= 4
    return _number(total, counting_blocks.BITS)


def _number(limbs: list[int] | np.ndarray, bits: int = 62) -> int:
    return sum(int(limb) << (bits * k) for k, limb in enumerate(limbs))
