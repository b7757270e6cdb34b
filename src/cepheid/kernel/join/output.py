"""The matches that a construction has written: the position of each component's event, in parts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from cepheid.errors import EvaluationError
from cepheid.kernel.arrays import Array, new_array

ROOM, PLAIN_ROOM = 2**17, 256
"""Matches of a part: larger arrays would be new memory every time, which is slow."""
MOST = 2**28
"""Positions that are kept at most."""


@dataclass(frozen=True)
class MatchPositions:
    """Some matches: the positions of each component's event, counted from an origin."""

    origin: int
    positions: Sequence[np.ndarray]
    whole: tuple[np.ndarray, ...] = ()  # the arrays, all of one length, of which the positions are the first ones


class MatchBuffers:
    """Where matches are written: an array for each component. `spare`: arrays of an earlier run, to be used again."""

    def __init__(self, components: int, *, native: bool, spare: list[tuple[np.ndarray, ...]] | None = None) -> None:
        self.components = components
        self.native = native
        self.spare = spare
        self.room = ROOM if native else PLAIN_ROOM
        self.arrays: list[Array] = []
        self.parts: list[MatchPositions] = []
        self.count = 0  # matches of the parts
        self.origin = 0  # from where the positions count of what is written now

    def prepare(self) -> list[Array]:
        """The arrays to write to."""
        if self.native and not self.arrays and self.spare:
            with suppress(IndexError):  # another run may be faster
                self.arrays = list(self.spare.pop())
                self.room = max(self.room, len(self.arrays[0]))
        if not self.arrays or len(self.arrays[0]) < self.room:
            self.arrays = [new_array("uint32", self.room, None, native=self.native) for _ in range(self.components)]
        return self.arrays

    def put_aside(self, count: int) -> None:
        """Take the matches that were written; others are written to other arrays, or over them."""
        if not count:
            return
        columns: list[np.ndarray] = [np.asarray(array[:count], np.uint32) for array in self.arrays]
        whole: tuple[np.ndarray, ...] = ()
        if 2 * count > self.room:  # the arrays go with the matches
            whole, self.arrays = tuple(self.arrays), []
        elif self.native:
            columns = [array.copy() for array in columns]
        self.parts.append(MatchPositions(self.origin, columns, whole if self.native else ()))
        self.count += count

    def make_room(self, count: int) -> None:
        """A construction has stopped after so many matches, before a lead that has more than there is room for."""
        self.put_aside(count)
        if not count or self.room < ROOM:  # one lead has more than all arrays; plain code begins with short ones
            self.room *= 2
        if (self.count + self.room) * self.components > MOST:
            raise EvaluationError(
                "CEP505",
                f"more than {self.count:,} matches are too many to make one by one",
                "count them with plan='automaton' and count(), or add conditions or a shorter WITHIN",
            )

    def take(self) -> list[MatchPositions]:
        """All matches so far, which are given now."""
        parts, self.parts, self.count = self.parts, [], 0
        return parts

    def to_native(self) -> None:
        """The arrays become those of compiled code."""
        self.native, self.arrays, self.room = True, [], ROOM
