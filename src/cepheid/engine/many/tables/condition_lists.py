"""What edges and waits ask, as lists of the numbers of conditions: most conditions are in many lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.engine.many.tables.asked import RowConditions, distinct, stir
from cepheid.kernel import shared as k

NO_STAMP = -1
_MISSING = -1


class ConditionLists:
    """Lists under construction. first: where they will begin."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.lists: list[Any] = []  # in which the numbers of conditions are missing
        self.asked: list[RowConditions] = []  # these conditions
        self.count = 0

    def add(self, asked: RowConditions, stamps: Any = None) -> Any:
        """Where the list of each row is, which equal rows have in common. A stamp is behind the conditions."""
        mixed = asked.hashes()
        if stamps is not None:
            mixed = stir(mixed, stamps)
        first, codes = distinct(mixed)
        assert asked.same_as(first[codes]), "two hashes of 64 bits are equal"
        asked = asked.take(first)
        list_stamps = np.full(len(first), NO_STAMP) if stamps is None else stamps[first]
        stamped = list_stamps != NO_STAMP
        begins = np.concatenate([[0], np.cumsum(1 + asked.counts + stamped)])
        lists = np.full(begins[-1], _MISSING, np.int32)
        lists[begins[:-1]] = asked.counts
        lists[(begins[1:] - 1)[stamped]] = list_stamps[stamped]
        where = self.first + self.count + begins[:-1]
        self.lists.append(lists)
        self.asked.append(asked)
        self.count += len(lists)
        return where[codes]

    def finish(self, first: int, constants: int) -> tuple[np.ndarray, np.ndarray]:
        """All conditions, each once, counted from a first one, and the lists. constants: where those of tests are."""
        none = np.zeros(0, np.int64)
        columns, lows, highs = (
            np.concatenate([none, *(getattr(conditions, name) for conditions in self.asked)])
            for name in ("columns", "lows", "highs")
        )
        every = RowConditions(columns, lows, highs, np.arange(len(columns) + 1), np.zeros(len(columns), bool))
        chosen, codes = distinct(every.hashes())
        assert every.same_as(chosen[codes]), "two hashes of 64 bits are equal"
        rows = np.stack([columns[chosen], lows[chosen], highs[chosen]], axis=1)
        tests = rows[:, 0] < 0
        rows[tests, 2] = rows[tests, 1] + constants
        rows[tests, 1] = k.NOBODY - rows[tests, 0]
        rows[tests, 0] = k.NOBODY
        lists = np.concatenate([np.zeros(0, np.int32), *self.lists])
        lists[lists == _MISSING] = first + codes
        return rows.reshape(-1), lists
