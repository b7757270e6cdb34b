"""Ways to give a session the events of a table, bit by bit: each must give the matches of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api import Matches, Query

Feed = Callable[[Query, pa.Table, str, Random], Iterator[Matches]]
"""What a session gives, call by call, for a table with a time column, cut and ordered by chance."""


def batch_of_1(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """One push for each event, in the order of time."""
    session = query.session(lateness=0)
    yield session.push(table.slice(0, 0))  # a schema that does not fit is told of before the times are looked at
    events = table.sort_by(time)
    for k in range(events.num_rows):
        yield session.push(events.slice(k, 1))
    yield session.close()


def restart_every_batch(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """Small batches in the order of time, and after each of them another session from a snapshot of the last."""
    session = query.session(lateness=0)
    yield session.push(table.slice(0, 0))
    for batch in _cut(table.sort_by(time), chance):
        session = query.restore(session.snapshot())
        yield session.push(batch)
    yield query.restore(session.snapshot()).close()


def shuffled_within_watermark(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """Small batches out of order; the watermark follows the earliest event that is still to come."""
    session = query.session()
    yield session.push(table.slice(0, 0))
    order = sorted(range(table.num_rows), key=lambda k: k + chance.randint(0, 4))
    events = table.sort_by(time).take(pa.array(order, pa.int64()))
    known = 0
    for batch in _cut(events, chance):
        yield session.push(batch)
        known += batch.num_rows
        if known < events.num_rows:
            yield session.advance(pc.min(events[time].slice(known)).as_py())
    yield session.close()


def _cut(table: pa.Table, chance: Random) -> list[pa.Table]:
    """Batches of two events or so; some are empty."""
    size = table.num_rows
    cuts = sorted(chance.randint(0, size) for _ in range(size // 2))
    return [table.slice(start, end - start) for start, end in pairwise([0, *cuts, size])]
