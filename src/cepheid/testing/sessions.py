"""Ways to push a table to a session in batches: each must return the matches of the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api import Changes, Matches, Query

Feed = Callable[[Query, pa.Table, str, Random], Iterator[Matches]]
"""Pushes a table, with a time column, cut and ordered at random; yields the matches of each call."""


def batch_of_1(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """One push per event, in the order of time."""
    session = query.session(lateness=0)
    yield session.push(table.slice(0, 0))  # reports a wrong schema before the times are read
    events = table.sort_by(time)
    for k in range(events.num_rows):
        yield session.push(events.slice(k, 1))
    yield session.close()


def restart_every_batch(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """Small batches in the order of time; after each, a new session is restored from a snapshot."""
    session = query.session(lateness=0)
    yield session.push(table.slice(0, 0))
    for batch in _cut(table.sort_by(time), chance):
        session = query.restore(session.snapshot())
        yield session.push(batch)
    yield query.restore(session.snapshot()).close()


def shuffled_within_watermark(query: Query, table: pa.Table, time: str, chance: Random) -> Iterator[Matches]:
    """Small batches out of order; the watermark follows the earliest event not yet pushed."""
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


def speculating(query: Query, table: pa.Table, time: str, chance: Random, ahead: object) -> Iterator[Changes]:
    """One push per event, in any order, with matches that are given before they are certain (S15).

    ahead: how far; None: half of the time that the events take.
    """
    if ahead is None:
        query.session().push(table.slice(0, 0))  # reports a wrong schema before the times are read
        times = table[time].drop_null()
        ahead = (pc.max(times).as_py() - pc.min(times).as_py()) // 2 if len(times) else 0
    session = query.session(speculate=ahead)  # type: ignore[call-overload]
    yield session.push(table.slice(0, 0))
    order = list(range(table.num_rows))
    chance.shuffle(order)
    for known, row in enumerate(order):
        yield session.push(table.slice(row, 1))
        later = table[time].take(pa.array(order[known + 1 :], pa.int64()))
        if len(later):
            yield session.advance(pc.min(later).as_py())
    yield session.close()


def _cut(table: pa.Table, chance: Random) -> list[pa.Table]:
    """Batches of about two events; some are empty."""
    size = table.num_rows
    cuts = sorted(chance.randint(0, size) for _ in range(size // 2))
    return [table.slice(start, end - start) for start, end in pairwise([0, *cuts, size])]
