"""A hundred queries that are added to a session, beside a program of the same hundred: what they cost.

    python bench/added_queries.py [EVENTS [QUERIES]]

Both are sessions that get the same batches, in one process and by turns; the best of three is taken of each. Whether
they emit the same matches is checked.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
import pyarrow as pa

from cepheid import Query, Session

BATCH = 10_000
TYPES = [f"T{k}" for k in range(20)]


def events(count: int) -> pa.Table:
    """Events of twenty types and a thousand keys, one a millisecond."""
    random = np.random.default_rng(32)
    return pa.table(
        {
            "ts": np.arange(count),
            "type": pa.DictionaryArray.from_arrays(random.integers(0, len(TYPES), count).astype(np.int32), TYPES),
            "id": random.integers(0, 1000, count),
            "price": random.random(count) * 100,
        }
    )


def text(number: int) -> str:
    """A query of two or three steps of one key, each with a threshold of its own."""
    one, other, last = (TYPES[(number * step + step) % len(TYPES)] for step in (1, 3, 7))
    steps = f"{one} a, {other} b" if number % 2 else f"{one} a, {other} b, {last} c"
    return f"PATTERN SEQ({steps}) WHERE [id] AND a.price > {90 + number / 20} WITHIN 2 seconds RETURN a.id AS id"


def program(count: int) -> Session:
    """A session of all queries."""
    return Query("; ".join(f"{text(k)} INTO Q{k}" for k in range(count))).session()


def added(count: int) -> Session:
    """A session of the first query, to which the others are added."""
    session = Query(f"{text(0)} INTO Q0").session()
    session.push(events(0))
    for k in range(1, count):
        session.add(f"Q{k}", text(k), at=-1)
    return session


def run(session: Session, batches: list[pa.Table]) -> tuple[float, dict[str, int]]:
    """The seconds that a session takes, and how many matches of each query it emits."""
    counts: dict[str, int] = {}
    begin = perf_counter()
    for batch in batches:
        session.push(batch)
        matches = session.advance(batch["ts"][-1].as_py())
        for name, some in matches.outputs.items():
            counts[name] = counts.get(name, 0) + some.count()
    return perf_counter() - begin, counts


def main() -> None:
    """Print both times and their ratio."""
    sizes = [int(word) for word in sys.argv[1:]]
    count, queries = (*sizes, *(1_000_000, 100)[len(sizes) :])
    table = events(count)
    batches = [table.slice(at, BATCH) for at in range(0, count, BATCH)]
    best = {"program": float("inf"), "added": float("inf")}
    emitted = {}
    for _ in range(3):
        for name, make in (("program", program), ("added", added)):
            seconds, emitted[name] = run(make(queries), batches)
            best[name] = min(best[name], seconds)
    assert emitted["program"] == emitted["added"], "they emit different matches"
    print(f"{count:,} events, {queries} queries, {sum(emitted['added'].values()):,} matches")
    print(f"program {best['program']:.2f} s, added {best['added']:.2f} s: {best['added'] / best['program']:.2f}x")


if __name__ == "__main__":
    main()
