"""The match store as a graph, and the enumeration of its matches in parts.

Runs that share a beginning share its nodes. Of SEQ(A a, B b, C c) and the events a1 a2 b3 b4 c5, the store has four
nodes and one match, which stand for the four matches that there are:

    match: word c5, root 3

    3: b4 -- next --> 1: a2 -- alt --> 0: a1
       |                 ^
      alt                |
       v                 |
    2: b3 -- next -------+

A path goes from the root of a match to its first event. At a node it takes the event and goes on at `next`, with what
came before; or it goes to `alt` instead, where the other ways to the same place are. It ends where there is no `next`:
c5 b4 a2, c5 b4 a1, c5 b3 a2, c5 b3 a1. A node without an event joins two others.

`max` is the youngest start of all paths from a node: 2 of the nodes 1 to 3, and 1 of node 0. What is behind `alt` is
never younger. So where `max` is less than the `low` of a match, the oldest start in its window, nobody looks further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.kernel.compile import library_function
from cepheid.kernel.match_store import MatchArrays, NodeArrays

Part = tuple[np.ndarray, np.ndarray]
"""Words, and where each match begins and ends in them."""
NOTHING: Part = (np.zeros(0, np.int64), np.zeros(1, np.int64))


@dataclass
class MatchGraph:
    """A match store and the matches that were found in it."""

    nodes: NodeArrays  # `other` and `start` are alt and max above
    matches: MatchArrays
    count: int
    compiled: bool
    dense: bool = False  # of one partition: all nodes in a window belong together
    stretched: tuple[bool, ...] = ()  # by config: whether a node stands for all events up to the one that follows
    shift: int = 0  # of words

    def enumerate(self, most: int | None = None) -> Iterator[Part]:
        """Words and offsets, in parts of at most so many matches (None: as many as fit)."""
        function = library_function("enumerate_matches", native=self.compiled)
        make: Any = np.empty if self.compiled else _zeros
        size = 65_536 if self.compiled else 256
        deep = 256
        stack, depths, path = make(deep, np.uint32), make(deep, np.int64), make(deep, np.int64)
        place: Any = np.zeros(6, np.int64) if self.compiled else [0] * 6
        stretched = np.array(self.stretched, np.int64) if self.compiled else self.stretched
        while place[0] < self.count:
            words = make(size, np.int64)
            room = size if most is None else min(most, size)
            offsets = make(1 + room, np.int64)
            arrays = (*self.nodes, *self.matches, words, offsets, stack, depths, path, place)
            shift = self.shift if any(self.stretched) else 0  # asked for where there are stretched nodes
            got = int(function(int(place[0]), self.count, *arrays, stretched, shift, size, room, len(path)))
            if got:
                yield np.asarray(words[: int(offsets[got])], np.int64), np.asarray(offsets[: got + 1], np.int64)
            if place[5] == 2:  # a match is longer than all before: its path is kept at the end of an array
                place[2] += len(path)
                stack, depths = _longer(stack), _longer(depths)
                path = [0] * len(path) + path if isinstance(path, list) else np.concatenate([path, path])
                depths = _shifted(depths, len(path) // 2)
            elif place[5] == 1 and (got == 0 or most is None or got < most):
                size = min(4 * size, 2**22) if got else 4 * size


def _shifted(depths: Any, by: int) -> Any:
    return [depth + by for depth in depths] if isinstance(depths, list) else depths + by


def _zeros(size: int, _: object) -> list[int]:
    return [0] * size


def take_parts(words: np.ndarray, offsets: np.ndarray, wanted: np.ndarray) -> Part:
    """Some of the matches, in an order."""
    lengths = offsets[wanted + 1] - offsets[wanted]
    moved = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return words[np.repeat(offsets[wanted] - moved[:-1], lengths) + np.arange(moved[-1])], moved


def whole_ends(parts: Sequence[Part], ends_of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Iterator[Part]:
    """The same matches, divided so that those of one end are together; only what is around a division is copied."""
    if len(parts) < 2:
        yield from parts
        return
    rest = NOTHING
    for number, (words, offsets) in enumerate(parts, start=1):
        ends = ends_of(words, offsets)
        begin, last = 0, len(ends)
        if len(rest[0]):
            begin = int(np.searchsorted(ends, ends_of(rest[0], rest[1][-2:])[0], side="right"))
            rest = together([rest, (words[: offsets[begin]], offsets[: begin + 1])])
            if begin == last:
                continue
            yield rest
        if number < len(parts):
            last = int(np.searchsorted(ends, ends[-1]))
        if begin < last:
            yield words[offsets[begin] : offsets[last]], offsets[begin : last + 1] - offsets[begin]
        rest = words[offsets[last] :], offsets[last:] - offsets[last]
    if len(rest[0]):
        yield rest


def _longer(array: Any) -> Any:
    if isinstance(array, list):
        return array + [0] * len(array)
    return np.concatenate([array, np.zeros(len(array), array.dtype)])


def together(parts: list[Part]) -> Part:
    """One part after the other, in one."""
    if not parts:
        return NOTHING
    if len(parts) == 1:
        return parts[0]
    bases = np.cumsum([0, *(len(words) for words, _ in parts)])
    offsets = [np.zeros(1, np.int64), *(o[1:] + b for (_, o), b in zip(parts, bases, strict=False))]
    return np.concatenate([words for words, _ in parts]), np.concatenate(offsets)
