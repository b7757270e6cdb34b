"""Rules that were put into the tables together, and their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.engine.many.tables.level import ChainRules
from cepheid.engine.many.tables.tables import SharedTables

PlacedPart = tuple[int, ChainRules]
"""Rules, with the number of their kind."""


@dataclass(frozen=True, eq=False)
class PlacedLevel:
    """A level of the tables. paths: the nodes of each rule, step by step; 0 where it has none."""

    level: int
    parts: tuple[PlacedPart, ...]
    numbers: np.ndarray
    paths: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def retired(self) -> PlacedLevel:
        """What is still asked of it when its rules are in another level too: where its runs are."""
        return PlacedLevel(self.level, (), self.numbers, self.paths)


def place(tables: SharedTables, parts: Sequence[PlacedPart]) -> PlacedLevel:
    """Put rules into tables. Those that contradict themselves have no node, and are dropped."""
    paths = tables.add([part for _, part in parts]).paths.astype(np.int32)
    sound = paths[:, 0] > 0
    begins = np.concatenate([[0], np.cumsum([len(part.numbers) for _, part in parts])]).astype(np.int64)
    kept = [
        (kind, part.take(np.flatnonzero(sound[begin:end])).packed())
        for (kind, part), begin, end in zip(parts, begins[:-1], begins[1:], strict=True)
    ]
    each = [part.numbers for _, part in kept]
    numbers = each[0] if len(each) == 1 else np.concatenate(each)
    return PlacedLevel(tables.level_count - 1, tuple(kept), numbers, paths if sound.all() else paths[sound])
