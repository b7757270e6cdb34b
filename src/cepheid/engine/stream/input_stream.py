"""One stream of events and all that its queries share: the order, the codes, and the events that matches may need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.few_events import Events
from cepheid.engine.machines.protocol import Machine
from cepheid.engine.stream.arrivals import Arrivals
from cepheid.engine.stream.row_log import RowLog
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.nodes import Output, Ties

FEW_ROWS, FEW_PARTITIONS, FEW_STRINGS = 256, 16, 1024
"""How much there must be before it is asked what can go; then twice as much as was left."""


def types_in_order(queries: Sequence[Runnable]) -> frozenset[str] | None:
    """The types of events that queries read in the order of S1; None for all. Others may stay as they come in a tie."""
    if all(not query.body.ordered for query in queries):
        return frozenset()  # for CESAR the events of an instant are a set
    types = [query.relevance.types for query in queries]
    return None if None in types else frozenset(name for some in types for name in some or ())


def orders_partitions(queries: Sequence[Runnable], schema: Schema) -> bool:
    """Whether matches depend on the order of events of one partition only.

    Those of different ones may stay as they come in a tie, if the matches are sorted afterwards.
    """
    if len(queries) != 1:
        return False
    (query,) = queries
    whole = query.scope is None and query.output is Output.ALL and query.ties is Ties.ORDERED
    keys = query.partitions.all
    return whole and not query.made and schema.start is None and bool(keys) and schema.columns.keys() >= set(keys)


class InputStream:
    """The events of one stream."""

    def __init__(self, schema: Schema, *, once: bool) -> None:
        self.schema = schema
        self.arrivals = Arrivals(schema)
        self.codes = StreamCodes(schema, once=once)
        self.base = 0  # the id of the first row that is kept
        self._log = RowLog(schema.arrow)
        self.events = 0  # that were released, which is the id of the next one
        self.last: int | None = None  # the greatest time of them
        self.mixed = 0  # events before this id and after it are not in the order of S1: partitions were ahead of others
        self._enough_rows, self._enough_partitions, self._enough_strings = FEW_ROWS, FEW_PARTITIONS, FEW_STRINGS
        self.look_at = 0  # the number of events before which there can't be enough of anything to compact

    def release(self, watermark: int | None) -> Batch | None:
        """The events before a time (None: all), in order."""
        events = self.arrivals.release(watermark)
        return None if events is None else self.append(*events)

    def append(self, events: Events, times: np.ndarray) -> Batch:
        """The next events, which are in order."""
        batch = Batch(self.codes, events, times, self.events)
        first, last = int(times[0]), int(times[-1])
        if self.last is not None and first <= self.last:
            self.mixed = self.events
        self.events += len(times)
        if self.arrivals.mixes:  # tied events of different partitions are as they came
            self.mixed = self.events
        self.last = last if self.last is None or last > self.last else self.last
        self._log.added.append(events)
        return batch

    @property
    def seen(self) -> tuple[pa.Table, int]:
        """The rows that are kept, and the id of the first, for a query that has seen all of them."""
        return self.kept, self.base

    @property
    def is_mixed(self) -> bool:
        """Whether the rows that are kept are not all in the order of S1."""
        return self.base < self.mixed

    @property
    def kept(self) -> pa.Table:
        """The rows that a match may need, the first of which has the id `base`."""
        return self._log.table

    @property
    def kept_events(self) -> Events:
        """The same, in the form in which they came, where that saves work."""
        return self._log.events

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return self.events - self.base

    def restore(self, kept: pa.Table, base: int, events: int, last: int | None) -> None:
        """Go on with rows that were kept."""
        self._log.restore(kept)
        self.base, self.events, self.last = base, events, last

    def cut(self, first: int) -> None:
        """Let go of the rows before an id."""
        if first > self.base:
            self._log.cut(first - self.base)
            self.base = first

    def compact(self, watermark: int, machines: Sequence[Machine], *, eager: bool = False) -> None:
        """Let go of rows, partitions and strings that no query of the stream can need, where there are many of them.

        eager: even if there are few.
        """
        if eager:
            self._enough_rows = self._enough_partitions = self._enough_strings = 0
        if self.rows >= self._enough_rows:
            oldest = [machine.compact(watermark) for machine in machines]
            self.cut(min((event for event in oldest if event is not None), default=self.events))
            self._enough_rows = 2 * self.rows + FEW_ROWS
        if sum(map(len, self.codes.keys.values())) > self._enough_partitions:
            self._compact_partitions(machines)
            self._enough_partitions = 2 * sum(map(len, self.codes.keys.values())) + FEW_PARTITIONS
        if len(self.codes.strings) > self._enough_strings:
            held = [codes for machine in machines for codes in machine.held_strings()]
            number = self.codes.strings.keep(held)
            for machine in machines:
                machine.renumber_strings(number)
            self._enough_strings = 2 * len(self.codes.strings) + FEW_STRINGS
        self.look_at = self.events + self._room()

    def _room(self) -> int:
        """How many more events at least may come before there is something to compact."""
        columns = len(self.schema.columns) + len(self.codes.derived)
        partitions = self._enough_partitions + 1 - sum(map(len, self.codes.keys.values()))
        strings = self._enough_strings + 1 - len(self.codes.strings)
        rooms = self._enough_rows - self.rows, partitions // max(len(self.codes.keys), 1), strings // columns
        return max(min(rooms), 1)

    def postpone(self) -> None:
        """As if it had just been compacted: what was restored was written down after that."""
        self._enough_rows = 2 * self.rows + FEW_ROWS
        self._enough_partitions = 2 * sum(map(len, self.codes.keys.values())) + FEW_PARTITIONS
        self._enough_strings = 2 * len(self.codes.strings) + FEW_STRINGS
        self.look_at = 0

    def _compact_partitions(self, machines: Sequence[Machine]) -> None:
        alive: dict[Any, np.ndarray] = {
            partitions: np.zeros(len(numbers), bool) for partitions, numbers in self.codes.keys.items()
        }
        for machine in machines:
            for partitions, held in machine.held_partitions():
                alive[partitions][: len(held)] |= held
        for partitions, held in alive.items():
            if partitions.all and not held.all():
                self.codes.keys[partitions].keep(held)
                for machine in machines:
                    machine.keep_partitions(partitions, held)
