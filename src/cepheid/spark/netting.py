"""What is left of insertions and retractions in a task (S16).

Rows that are equal have the same key and the same time, so they are in the same task and the same slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.times import ticks
from cepheid.engine.stream.event_log import EventLog
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.pattern.binding.schema import Schema
from cepheid.spark.signs import joined_signs

TOGETHER = 1 << 18
"""Rows that are netted together, if their times allow it."""

Changed = tuple[pa.Table, np.ndarray | None]
"""Some rows, and for each whether its event is inserted (1) or retracted (-1); None: all are inserted."""

Unmet = Callable[[int, int], None]
"""Called with the time of retractions without an event, and their number."""


def net_arrivals(schema: Schema, changes: Iterable[Changed], unmet: Unmet) -> Iterator[Arrival]:
    """Yield the events that are left, in the order of their first times, as the changes come.

    What is before the first time of the next rows is complete. Rows of that time or later wait for it.
    """
    held: list[Changed] = []
    rows, enough = 0, TOGETHER
    for table, signs in changes:
        if rows >= enough:
            ready, rest = _divided(schema, held, int(ticks(schema, table).min()))
            yield from _net(schema, ready, unmet)
            held = [rest]
            rows = rest[0].num_rows
            enough = max(TOGETHER, 2 * rows)  # if most have one time, they are not divided again and again
        held.append((table, signs))
        rows += table.num_rows
    if held:
        yield from _net(schema, _joined(held), unmet)


def _joined(changes: list[Changed]) -> Changed:
    return changes[0] if len(changes) == 1 else (pa.concat_tables([t for t, _ in changes]), joined_signs(changes))


def _divided(schema: Schema, changes: list[Changed], time: int) -> tuple[Changed, Changed]:
    """Divide rows into those before a time and the others."""
    table, signs = _joined(changes)
    before = ticks(schema, table) < time
    return _chosen(table, signs, before), _chosen(table, signs, ~before)


def _chosen(table: pa.Table, signs: np.ndarray | None, which: np.ndarray) -> Changed:
    return table.filter(from_numpy(which)), None if signs is None else signs[which]


def _net(schema: Schema, changes: Changed, unmet: Unmet) -> Iterator[Arrival]:
    table, signs = changes
    if not table.num_rows:
        return
    times = ticks(schema, table)
    net = EventLog(schema).weigh((table, times), None if signs is None else signs.astype(np.int8), None)
    for debt in net.debts.values():
        unmet(debt.time, debt.count)
    if net.inserted is not None:
        yield arrival_of(schema, *net.inserted)
