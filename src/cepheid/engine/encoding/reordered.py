"""Rows of a table in another order, of which a column is moved when it is read: a query reads few of many."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy


class Reordered:
    """The rows of a table in an order. known: columns of it that were made into codes already."""

    def __init__(self, table: pa.Table, order: np.ndarray, known: dict[str, pa.ChunkedArray]) -> None:
        self._given = table
        self._order = order
        self._known = known
        self._moved: dict[str, pa.ChunkedArray] = {}

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self._order)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column in the order; it may be of codes where that of the table is of strings."""
        if name not in self._moved:
            column = self._known[name] if name in self._known else self._given.column(name)
            self._moved[name] = column.take(from_numpy(self._order))
        return self._moved[name]

    def repeated(self, columns: set[str]) -> Any:
        """Numbers that are equal where rows are sure to have the same values of some columns; None: not known."""
        return None

    def only(self, index: np.ndarray) -> Reordered:
        """Some rows, by their places in the order."""
        return Reordered(self._given, self._order[index], self._known)

    def take(self, index: Any) -> pa.Table:
        """Some rows as a table, by their places in the order."""
        return self._given.take(from_numpy(self._order[index]))

    @cached_property
    def table(self) -> pa.Table:
        """All rows as a table."""
        return self._given.take(from_numpy(self._order))
