"""Rows of a table in another order, of which a column is moved when it is read: a query reads few of many."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, room_for

FEW_MOVED = 8
"""Rows for each that is moved, from which on those are put into a copy of a column."""


class Reordered:
    """The rows of a table in an order. known: columns of it that were made into codes already.

    order: the row at each place or, if some `places` are given, at each of these; the others have their own rows.
    """

    def __init__(
        self, table: pa.Table, order: np.ndarray, known: dict[str, pa.ChunkedArray], places: np.ndarray | None = None
    ) -> None:
        self._table = table
        self._moves = order
        self._places = places
        self._known = known
        self._moved: dict[str, pa.ChunkedArray] = {}

    @property
    def num_rows(self) -> int:
        """The number of rows, which is that of the table where rows only changed places."""
        return int(self._table.num_rows) if self._places is not None else len(self._moves)

    @cached_property
    def _order(self) -> np.ndarray:
        """The row at each place."""
        if self._places is None:
            return self._moves
        order = np.arange(self.num_rows, dtype=np.int32)
        order[self._places] = self._moves
        return order

    def column(self, name: str) -> pa.ChunkedArray:
        """A column in the order; it may be of codes where that of the table is of strings."""
        if name not in self._moved:
            column = self._known[name] if name in self._known else self._table.column(name)
            self._moved[name] = self._in_order(column)
        return self._moved[name]

    def _in_order(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if self._places is not None and len(self._places) * FEW_MOVED < self.num_rows and column.num_chunks == 1:
            array = column.chunk(0)
            if not len(self._places):
                return column
            if isinstance(array, pa.DictionaryArray) and not array.null_count:
                codes = _with_moves(array.indices, self._places, self._moves)
                words, ordered = array.dictionary, array.type.ordered
                return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, words, ordered=ordered)])
            if pa.types.is_integer(array.type) and not array.null_count:
                return pa.chunked_array([_with_moves(array, self._places, self._moves)])
        return column.take(from_numpy(self._order))

    def repeated(self, columns: set[str]) -> Any:
        """Numbers that are equal where rows are sure to have the same values of some columns; None: not known."""
        return None

    def only(self, index: np.ndarray) -> Reordered:
        """Some rows, by their places in the order."""
        return Reordered(self._table, self._order[index], self._known)

    def take(self, index: np.ndarray) -> pa.Table:
        """Some rows as a table, by their places in the order."""
        return self._table.take(from_numpy(self._order[index]))

    @cached_property
    def table(self) -> pa.Table:
        """All rows as a table."""
        if self._places is not None and not len(self._places):
            return self._table
        return self._table.take(from_numpy(self._order))


def _with_moves(numbers: pa.Array, places: np.ndarray, rows: np.ndarray) -> pa.Array:
    """A copy of some integers, of which few are from other rows."""
    width = numbers.type.bit_width // 8
    old_numbers = np.frombuffer(numbers.buffers()[1], f"u{width}", len(numbers), numbers.offset * width)
    moved = room_for(len(numbers), old_numbers.dtype)
    moved[:] = old_numbers
    moved[places] = old_numbers[rows]
    return pa.Array.from_buffers(numbers.type, len(numbers), [None, pa.py_buffer(moved)])
