"""A session's state written down and picked up again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench import queries
from bench.harness import Figure, Options, Target, race
from cepheid import Query

RUNS = 1_000_000


def snapshot(options: Options) -> Iterator[Figure]:
    """Snapshot and restore of a million runs, against a memcpy of the same bytes."""
    yield from _case(1_000, int(1_000 * options.scale), options)
    yield from _case(int(RUNS * options.scale), 1, options)


def _case(symbols: int, each: int, options: Options) -> Iterator[Figure]:
    query = Query(queries.w1("p2", "s3", 10_000))
    session = query.session(engine="compiled")
    session.push(_starts(symbols, each))
    session.advance(symbols * each)
    blob = session.snapshot()
    live, restored = session.stats.runs, query.restore(blob, engine="compiled").stats.runs
    assert live == restored == symbols * each, f"snapshot: {live} runs, {restored} after restore, of {symbols * each}"
    runners = {
        "both": lambda: query.restore(session.snapshot(), engine="compiled"),
        "snapshot": session.snapshot,
        "restore": lambda: query.restore(blob, engine="compiled"),
        "memcpy": lambda: bytearray(blob),  # into fresh memory, as a snapshot is
    }
    seconds = race(runners, options.times)
    yield Figure(
        "snapshot",
        f"{symbols:,} keys, {each:,} runs each",
        "snapshot + restore",
        seconds["both"] * 1e3,
        "ms",
        "memcpy",
        seconds["memcpy"] * 1e3,
        seconds["memcpy"] / seconds["both"],
        Target("≥", 0.33),
        f"{len(blob) / 1e6:.0f} MB; " + ", ".join(f"{k} {seconds[k] * 1e3:.1f} ms" for k in ("snapshot", "restore")),
    )


def _starts(symbols: int, each: int) -> pa.Table:
    """Events that begin a run each, and that no run takes: the prices of a symbol fall."""
    n = symbols * each
    time = np.arange(n)
    return pa.table(
        {
            "ts": time,
            "type": pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), ["Stock"]),
            "symbol": time % symbols,
            "price": 500 * (each - time // symbols),
            "volume": np.full(n, 1000),
        }
    )
