"""A joined stream: rows are an event and a rule that it concerns; both are kept where they are, and not copied."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.protocol import RULE
from cepheid.engine.many.routed.rule_places import RulePlaces
from cepheid.engine.stream.input_stream import InputStream
from cepheid.pattern.binding.schema import Schema


class JoinedRows(Reordered):
    """Events of a batch, each with a rule, by their places; a column is made when it is read."""

    def __init__(
        self, schema: Schema, batch: Batch, events: np.ndarray, rules: RulePlaces, numbers: np.ndarray
    ) -> None:
        self.schema = schema
        self.batch = batch
        self.events = events
        self.rules = rules
        self.numbers = numbers
        self._columns: dict[str, pa.ChunkedArray] = {}

    @property
    def num_rows(self) -> int:
        """How many pairs of an event and a rule there are."""
        return len(self.events)

    @cached_property
    def places(self) -> np.ndarray:
        """The places of the rules."""
        return self.rules.places(self.numbers)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column; it may be of codes where that of the events is of strings."""
        if name not in self._columns:
            self._columns[name] = self._made(name)
        return self._columns[name]

    def _made(self, name: str) -> pa.ChunkedArray:
        if name == RULE:
            return pa.chunked_array([from_numpy(self.numbers)])
        if name in self.schema.constants:
            return self.rules.constants.column(name).take(from_numpy(self.places))
        return self._of_events(name).take(from_numpy(self.events))

    def _of_events(self, name: str) -> pa.ChunkedArray:
        """A column of the events; strings are not copied for each rule."""
        column = self.batch.column(name)
        if len(self.events) <= len(column) or not (
            pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        ):
            return column
        return self.batch.once_for(("dictionary", name), column.dictionary_encode)

    def repeated(self, columns: set[str]) -> Any:
        """The events: each has many rules, and what reads no constant of these is the same for all of them."""
        return self.events if self.schema.constants.isdisjoint(columns) else None

    def only(self, index: np.ndarray) -> JoinedRows:
        """Some rows, by their places."""
        return JoinedRows(self.schema, self.batch, self.events[index], self.rules, self.numbers[index])

    def take(self, index: np.ndarray) -> pa.Table:
        """Some rows as a table, by their places."""
        return self.only(index).table

    @cached_property
    def table(self) -> pa.Table:
        """All rows as a table."""
        columns = []
        for name, type_ in self.schema.columns.items():
            column = self.column(name)
            columns.append(column if column.type == type_.arrow else column.cast(type_.arrow))
        return pa.Table.from_arrays(columns, schema=self.schema.arrow)


class JoinedStream(InputStream):
    """The rows that matches may need, as the ids of their events and the numbers of their rules."""

    def __init__(self, schema: Schema, rules: RulePlaces) -> None:
        super().__init__(schema, once=False)
        self.rules_of = rules
        self.source: KeptRows | None = None  # the events themselves
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []  # ids of events and numbers of rules, as they came

    def append(self, events: Events, times: np.ndarray) -> Batch:
        """The next rows, which are in order."""
        assert isinstance(events, JoinedRows)
        batch = Batch(self.codes, events, times, self.events)
        self.events += len(batch)
        self.last = int(times[-1])
        self._parts.append((events.events + events.batch.first, events.numbers))
        return batch

    def pairs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the events and the numbers of the rules of some rows, counted from the first that is kept."""
        if len(self._parts) == 1:
            return self._parts[0][0][rows], self._parts[0][1][rows]
        ids, numbers = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        begin = 0
        for events, rules in self._parts:
            here = np.flatnonzero((rows >= begin) & (rows < begin + len(events)))
            ids[here], numbers[here] = events[rows[here] - begin], rules[rows[here] - begin]
            begin += len(events)
        return ids, numbers

    @property
    def all_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of all rows that are kept."""
        return self.pairs(np.arange(self.rows))

    @property
    def first_event(self) -> int | None:
        """The id of the first event that is kept."""
        return next((int(ids[0]) for ids, _ in self._parts if len(ids)), None)

    @property
    def kept(self) -> pa.Table:
        """The rows that a match may need."""
        return self.taken(np.arange(self.rows))

    @property
    def kept_events(self) -> Events:
        """The kept rows as a choice of matches reads them."""
        return self.kept

    def taken(self, places: np.ndarray) -> pa.Table:
        """Some of the rows that are kept, with all of their columns."""
        assert self.source is not None
        ids, numbers = self.pairs(places)
        events = self.source.kept.take(from_numpy(ids - self.source.base))
        constants = self.rules_of.constants.take(from_numpy(self.rules_of.places(numbers)))
        columns = []
        for name, type_ in self.schema.columns.items():
            if name == RULE:
                column = pa.chunked_array([from_numpy(numbers)])
            else:
                column = (constants if name in self.schema.constants else events).column(name)
            columns.append(column if column.type == type_.arrow else column.cast(type_.arrow))
        return pa.Table.from_arrays(columns, schema=self.schema.arrow)

    def cut(self, first: int) -> None:
        """Let go of the rows before an id."""
        if first > self.base:
            count = first - self.base
            while self._parts and count >= len(self._parts[0][0]):
                count -= len(self._parts.pop(0)[0])
            if count:
                ids, numbers = self._parts[0]
                self._parts[0] = ids[count:].copy(), numbers[count:].copy()
            self.base = first

    def restore_pairs(self, ids: np.ndarray, numbers: np.ndarray, base: int, events: int, last: int | None) -> None:
        """Go on with rows that were kept."""
        self._parts = [(ids, numbers)]
        self.base, self.events, self.last = base, events, last
