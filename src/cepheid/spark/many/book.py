"""Which rules the control stream of many queries has added and removed: what every bucket knows of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.engine.many.lifetimes import NEVER
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.values.json import Json
from cepheid.values.value import Value

Life = tuple[int, int]
"""Since when and until when a rule lives, in ticks."""


@dataclass(frozen=True, eq=False)
class Book:
    """The last life of each rule that came or went, by its id.

    mark: identifies the stream, and the rows that made it, in their order; books with the same mark are the same.
    """

    mark: str = ""
    lives: Mapping[Value, Life] = field(default_factory=dict)

    def save(self, ids: pa.DataType, sink: Sink) -> Json:
        """The book for a header. ids: their type."""
        return {"mark": self.mark, "lives": sink.table("book", self.table(ids)) if self.lives else None}

    def table(self, ids: pa.DataType) -> pa.Table:
        """The ids with their lives."""
        since, until = ([life[k] for life in self.lives.values()] for k in (0, 1))
        columns = [pa.array(list(self.lives), ids), pa.array(since, pa.int64()), pa.array(until, pa.int64())]
        return pa.table(dict(zip(("id", "since", "until"), columns, strict=True)))


def read_book(saved: Json, source: PartSource) -> Book:
    """Read a book; a worker reads each once."""
    mark = saved["mark"]
    if mark in _BOOKS:
        return _BOOKS[mark]
    return remembered(Book(mark, {} if saved["lives"] is None else lives_of(source.table(saved["lives"]))))


def lives_of(table: pa.Table) -> dict[str, Life]:
    """The lives of a table."""
    ids, since, until = (table.column(name).to_pylist() for name in ("id", "since", "until"))
    return dict(zip(ids, zip(since, until, strict=True), strict=True))


def remembered(book: Book) -> Book:
    """Keep a book for other buckets of this worker."""
    if len(_BOOKS) >= _ROOM:
        _BOOKS.clear()
    return _BOOKS.setdefault(book.mark, book)


_ROOM = 4
_BOOKS: dict[str, Book] = {}


class InitialRules:
    """The rules that a stream began with, found by their ids."""

    def __init__(self, ids: pa.Array, numbers: np.ndarray) -> None:
        self.ids = ids
        self._known = set(ids.take(pa.array(np.asarray(numbers, np.int64))).to_pylist())

    def life(self, id: object) -> Life | None:
        """They live from the beginning, for good."""
        return (-NEVER - 1, NEVER) if id in self._known else None
