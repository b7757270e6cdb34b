"""Streams in the order in which they arrive, through sessions that wait for the watermark or speculate."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench import queries
from bench.cache import stream
from bench.check import positions
from bench.workloads import disordered
from cepheid import Query, Session

CASES = {
    "W1 p2 s3": ("stock", queries.w1("p2", "s3")),
    "W2, 1,000 keys": ("typed_v1000", queries.typed()),
    "W4": ("rfid", queries.W4),
    "Q1": ("ticks", queries.W5_BALANCED),
    "Q2": ("rising_ticks", queries.Q2),
}
SHIFT = 1000  # events, and as there is one in each millisecond also what a session waits

WAITING: dict[str, Any] = {}
CERTAIN: dict[str, Any] = {"speculate": 0}
ALL: dict[str, Any] = {"speculate": "all"}


@dataclass(frozen=True)
class Arrivals:
    """A query, and its events in the order of arrival, which are at most `lateness` behind."""

    query: Query
    table: pa.Table
    lateness: int = SHIFT

    def session(self, options: dict[str, Any]) -> Session:
        """A session that has seen nothing."""
        session: Session = self.query.session(engine="compiled", lateness=self.lateness, **options)
        return session

    def batches(self, size: int) -> list[pa.Table]:
        """The events as they are pushed."""
        return [self.table.slice(at, size) for at in range(0, self.table.num_rows, size)]

    def run(self, options: dict[str, Any], batches: Sequence[pa.Table]) -> int:
        """All events through one session: how many matches or changes it has given, the positions of each found."""
        session = self.session(options)
        given = sum(len(session.push(batch)) for batch in batches)
        return given + len(session.close())

    def check(self, options: dict[str, Any], size: int, prefix: int) -> None:
        """The changes of a prefix sum up to the matches of its events in order."""
        some = Arrivals(self.query, self.table.slice(0, prefix), self.lateness)
        session = some.session(options)
        stands: Counter[tuple[int, ...]] = Counter()
        for batch in some.batches(size):
            _add(stands, session.push(batch))
        _add(stands, session.close())
        wanted = Counter(positions(self.query.match(some.table, engine="compiled")))
        for match in stands.keys() | wanted.keys():
            assert stands[match] == wanted[match], f"{match}: {stands[match]} times, not {wanted[match]}"


def arrivals(case: str, events: int, percent: float) -> Arrivals:
    """A case of the papers, with a share of its events late."""
    name, text = CASES[case]
    return Arrivals(Query(text), disordered(stream(name, events), percent, SHIFT))


def event_bytes(table: pa.Table) -> float:
    """What one event takes as Arrow holds it."""
    return float(table.nbytes / table.num_rows)


def held(some: Arrivals, options: dict[str, Any], size: int) -> list[int]:
    """The bytes that a session says it holds after each batch."""
    session, seen = some.session(options), []
    for batch in some.batches(size):
        len(session.push(batch))
        seen.append(session.stats.state_bytes)
    return seen


def allocated(some: Arrivals, options: dict[str, Any], size: int) -> list[int]:
    """The bytes that a session has taken from Python, numpy and Arrow, after each batch.

    Each batch is a copy that nobody else has: what is left of it is the session's.
    """
    seen = []
    gc.collect()
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    session = some.session(options)
    for at in range(0, some.table.num_rows, size):
        rows = pa.array(np.arange(at, min(at + size, some.table.num_rows)))
        len(session.push(some.table.take(rows)))
        del rows
        seen.append(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before)
    tracemalloc.stop()
    return seen


@dataclass
class Seen:
    """Of each match given how long after its last event, and how much was given in all."""

    events: list[int] = field(default_factory=list)  # that came between
    milliseconds: list[float] = field(default_factory=list)  # spent in calls, from the push of that event on
    call: list[float] = field(default_factory=list)  # ms of the call that gave it
    given: int = 0  # matches, or changes
    pushed: float = 0  # ms of a call


def latency(some: Arrivals, options: dict[str, Any], before: int, size: int = 1) -> Seen:
    """From the push of the event of a match that comes last to the call that gives it.

    before: how many events come at once, at first; then `size` at a time.
    """
    session, arrived = some.session(options), _places(some.table)
    seen, begins, spent = Seen(), [], 0.0
    seen.given += len(session.push(some.table.slice(0, before)))
    for at in range(before, some.table.num_rows, size):
        batch = some.table.slice(at, size)
        begin = time.perf_counter()
        given = session.push(batch)
        found = len(given)
        elapsed = time.perf_counter() - begin
        begins.append(spent)
        spent += elapsed
        seen.given += found
        for match in positions(getattr(given, "added", given)) if found else ():
            last = int(arrived[list(match)].max())
            if last >= before:
                seen.events.append(at + batch.num_rows - 1 - last)
                seen.milliseconds.append((spent - begins[(last - before) // size]) * 1e3)
                seen.call.append(elapsed * 1e3)
    seen.given += len(session.close())
    seen.pushed = spent / len(begins) * 1e3
    return seen


def _places(table: pa.Table) -> npt.NDArray[np.int64]:
    """By the time of an event when it arrives: as the how-manieth."""
    times = table.column("ts").to_numpy()
    arrived = np.empty(len(times), np.int64)
    arrived[times] = np.arange(len(times))
    return arrived


def _add(stands: Counter[tuple[int, ...]], given: Any) -> None:
    """Matches are all added."""
    stands.update(positions(getattr(given, "added", given)))
    if hasattr(given, "removed"):
        stands.subtract(positions(given.removed))
