"""How long one event takes, pushed alone into a session whose watermark follows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from bench import queries
from bench.cache import stream
from bench.harness import Figure, Options
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


def push(options: Options) -> Iterator[Figure]:
    """One event into a session: the median and the 99th percentile, as a dict and as an Arrow table."""
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
            milliseconds, matches = _push(session, events[ALONE:])
            for quantile in (50, 99):
                value = float(np.percentile(milliseconds, quantile))
                note = f"{form}: {timed:,} events, {matches:,} matches" * (quantile == 50)
                yield Figure("push", case, f"{form} p{quantile}", value, "ms", note=note)


def _push(session: Session, events: Sequence[object]) -> tuple[list[float], int]:
    """Of each event the milliseconds up to the positions of the matches that it made certain; and how many of those."""
    milliseconds, matches = [], 0
    for event in events:
        begin = time.perf_counter()
        found = len(session.push(event))
        milliseconds.append((time.perf_counter() - begin) * 1e3)
        matches += found
    return milliseconds, matches
