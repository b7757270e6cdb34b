"""How long one event takes, pushed alone into a session whose watermark follows.

In CPU time, which is all that a push takes where nothing runs beside it: it waits for nothing. By the wall, on a
machine that others use, the 99th percentile is how long these keep it from running.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from bench import queries
from bench.cache import stream
from bench.harness import Figure, Options, Target
from cepheid import Query, Session

CASES = {
    "W1 p2 s3": ("stock", queries.w1("p2", "s3")),
    "W2, 100 keys": ("typed_v100", queries.typed()),
    "W4": ("rfid", queries.W4),
}
LATENESS = 10  # ms, of one event each: what a push makes certain ended ten events ago
BEFORE = 10_000  # events that the session has seen
ALONE = 100  # pushed alone before the clock starts
TIMED = 5_000
QUANTILES = {50: Target("≤", 0.2), 99: Target("≤", 1.0)}
LONG, THOUSAND = 200_000, 1_000
NO_SLOWER = Target("≤", 1.2)


def push(options: Options) -> Iterator[Figure]:
    """One event into a session: the median and the 99th percentile, as a dict and as an Arrow table."""
    yield from _alone(options)
    yield from _long(options)


def _alone(options: Options) -> Iterator[Figure]:
    timed = int(TIMED * options.scale)
    for case, (name, text) in CASES.items():
        table = stream(name, BEFORE + ALONE + timed)
        after = table.slice(BEFORE)
        forms = {
            "dict": [[row] for row in after.to_pylist()],
            "Arrow": [after.slice(k, 1) for k in range(after.num_rows)],
        }
        for form, events in forms.items():
            session = Query(text).session(engine="compiled", lateness=LATENESS)
            len(session.push(table.slice(0, BEFORE)))
            _push(session, events[:ALONE])
            milliseconds, walls, matches = _push(session, events[ALONE:])
            for quantile, target in QUANTILES.items():
                value = float(np.percentile(milliseconds, quantile))
                wall = float(np.percentile(walls, quantile))
                note = f"{form} p{quantile}: {wall:.3g} ms by the wall; {timed:,} events, {matches:,} matches"
                yield Figure("push", case, f"{form} p{quantile}", value, "ms", target=target, note=note)


def _long(options: Options) -> Iterator[Figure]:
    """Whether a push takes longer the more have been before: the last thousand, into that session and a younger one."""
    events = int(LONG * options.scale)
    for case, (name, text) in CASES.items():
        table = stream(name, events)
        old, young = (Query(text).session(engine="compiled", lateness=LATENESS) for _ in range(2))
        last = events - THOUSAND
        _push(old, [[row] for row in table.slice(0, last).to_pylist()])
        len(young.push(table.slice(last - BEFORE, BEFORE)))
        taken: tuple[list[float], list[float]] = [], []
        for row in table.slice(last).to_pylist():  # they take turns: what else the machine does hits both
            for session, seen in zip((old, young), taken, strict=True):
                seen += _push(session, [[row]])[0]
        late, early = (float(np.median(seen)) for seen in taken)
        note = f"after {last:,} pushes {late:.3f} ms, after one {early:.3f} ms"
        yield Figure("push", case, "dict, after many", late / early, "x", target=NO_SLOWER, note=note)


def _push(session: Session, events: Sequence[object]) -> tuple[list[float], list[float], int]:
    """Of each event the milliseconds up to the positions of its matches, CPU and wall, and how many these are."""
    milliseconds, walls, matches = [], [], 0
    for event in events:
        wall, begin = time.perf_counter(), time.thread_time()
        found = len(session.push(event))
        milliseconds.append((time.thread_time() - begin) * 1e3)
        walls.append((time.perf_counter() - wall) * 1e3)
        matches += found
    return milliseconds, walls, matches
