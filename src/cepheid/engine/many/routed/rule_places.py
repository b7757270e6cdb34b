"""The rules of one variant of a template: their numbers, constants and lifetimes."""

from __future__ import annotations

from copy import copy

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy

EVER, FOREVER = -(2**63), 2**63 - 1
"""Before and after all times."""
MANY_CHUNKS = 16


class RulePlaces:
    """Rules by their place, which is where they came, and by their number."""

    def __init__(self, schema: pa.Schema) -> None:
        self.constants: pa.Table = schema.empty_table()
        self.numbers: np.ndarray = np.zeros(0, np.int64)
        self.since: np.ndarray = np.zeros(0, np.int64)
        self.until: np.ndarray = np.zeros(0, np.int64)
        self._order: np.ndarray = np.zeros(0, np.int64)
        self._sorted: np.ndarray = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, numbers: list[int] | np.ndarray, constants: pa.Table, at: int | None) -> None:
        """Rules that see the events after a time; None: all."""
        self.constants = pa.concat_tables([self.constants, constants.cast(self.constants.schema)])
        if self.constants.num_columns and self.constants.column(0).num_chunks > MANY_CHUNKS:
            self.constants = self.constants.combine_chunks()
        self.numbers = np.concatenate([self.numbers, np.asarray(numbers, np.int64)])
        self.since = np.concatenate([self.since, np.full(len(numbers), EVER if at is None else at)])
        self.until = np.concatenate([self.until, np.full(len(numbers), FOREVER)])
        self._sort()

    def copy(self) -> RulePlaces:
        """The same, to which more may come."""
        places = copy(self)
        places.until = self.until.copy()  # the others are never written to
        return places

    def restore(self, numbers: np.ndarray, constants: pa.Table, since: np.ndarray, until: np.ndarray) -> None:
        """Go on with rules that were written down."""
        self.numbers, self.constants = np.asarray(numbers, np.int64), constants
        self.since, self.until = np.array(since, np.int64), np.array(until, np.int64)
        self._sort()

    def _sort(self) -> None:
        if (self.numbers[1:] > self.numbers[:-1]).all():
            self._order, self._sorted = np.arange(len(self.numbers)), self.numbers
        else:
            self._order = np.argsort(self.numbers, kind="stable")
            self._sorted = self.numbers[self._order]

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """The places of rules, by their numbers."""
        return self._order[np.searchsorted(self._sorted, numbers)]

    def end(self, numbers: np.ndarray, at: int) -> None:
        """They see no event after a time."""
        places = self.places(np.asarray(numbers, np.int64))
        self.until[places] = np.minimum(self.until[places], at)

    @property
    def last(self) -> bool:
        """Whether some of them do not see all events."""
        return bool((self.since > EVER).any() or (self.until < FOREVER).any())

    def keep(self, wanted: np.ndarray) -> None:
        """Forget all but some, by a mask over places."""
        if self.constants.num_columns:
            self.constants = self.constants.filter(from_numpy(wanted))
        self.numbers, self.since, self.until = self.numbers[wanted], self.since[wanted], self.until[wanted]
        self._sort()
