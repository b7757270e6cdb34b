"""Our engine, under the three clocks. Whatever the bench needs of its inside is here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bench.native import Positions
from cepheid import Matches, Query
from cepheid.api.events import to_table
from cepheid.engine.blueprint import Blueprint
from cepheid.engine.found import Found
from cepheid.engine.generated import Generated
from cepheid.engine.times import ticks
from cepheid.pattern.bind import bind
from cepheid.pattern.schema import make_schema


@dataclass
class Ours:
    """A query over a stream."""

    query: Query
    table: pa.Table
    merging: bool = True

    def find(self) -> Matches:
        """The matches, not enumerated yet."""
        return self.query.match(self.table, engine="compiled")

    def count(self) -> int:
        """How many there are, without enumeration."""
        return self.find().count()

    def enumerate(self) -> Matches:
        """End to end: from an Arrow table to the positions of all matches."""
        matches = self.find()
        len(matches)
        return matches

    def to_arrow(self) -> pa.Table:
        """The same, and then to an Arrow table."""
        return self.enumerate().to_arrow()

    def scan(self) -> Generated:
        """From columns in the layout of the kernel to its match store.

        The state begins empty, in the memory of the round before: that of the C++ does too.
        """
        blueprint, prepared, columns = self._prepared
        machine = Generated(blueprint, native=True, events=self.table.num_rows)
        machine.lanes = prepared.lanes
        machine.columns = lambda *_: columns  # type: ignore[method-assign]
        machine.feed(self.table, columns["times"], 0)
        return machine

    def kernel(self) -> list[tuple[Any, Any]]:
        """From columns in the layout of the kernel to all matches, as words and offsets, in parts.

        A word is the position of an event and what it is bound to, in one integer: `positions` takes them apart.
        """
        return self.scan().settle(None, self.table, 0).enumerated()

    def in_order(self) -> Found:
        """The same, as positions and variables in the order of S9; the C++ gives its positions in that order."""
        found: Found = self.scan().settle(None, self.table, 0).all()
        return found

    def positions(self) -> Positions:
        """What the kernel finds, as positions."""
        parts = self.kernel()
        lengths = np.concatenate([np.diff(offsets) for _, offsets in parts])
        words = np.concatenate([words for words, _ in parts])
        return np.concatenate([[0], np.cumsum(lengths)]), words >> self._prepared[1].source.shift

    @cached_property
    def _prepared(self) -> tuple[Blueprint, Generated, dict[str, Any]]:
        schema = make_schema(to_table(self.table).schema, self.query._roles)
        blueprint = Blueprint(bind(self.query._analysed[0], schema, {}), merge=self.merging)
        machine = Generated(blueprint, native=True, events=self.table.num_rows)
        return blueprint, machine, machine.columns(self.table, ticks(schema, self.table), {})


def ours(text: str, table: pa.Table, merging: bool = True) -> Ours:
    """The query that the text is."""
    return Ours(Query(text), table, merging)
