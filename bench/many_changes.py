"""Rules that come and go while very many run: what a change costs, and the longest pause of the input.

A rule per customer over card payments: rules are added and removed by the thousand between small batches of events.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid import Queries

TEMPLATES = {
    "jump": """
        PATTERN SEQ(Payment a, Payment b)
        WHERE skip_till_next_match(a, b) { [customer = own] AND a.amount < low AND b.amount > high }
        WITHIN span""",
    "abroad": """
        PATTERN SEQ(Payment a, Payment b, Payment c)
        WHERE skip_till_next_match(a, b, c) {
            [customer = own] AND a.country = 'home' AND b.country = 'away' AND c.amount > high }
        WITHIN span""",
    "large": "PATTERN Payment a WHERE a.customer = own AND a.amount > high",
}


def rules_of(count: int, first: int = 0, seed: int = 1) -> pa.Table:
    """Rules of customers, whose ids are text."""
    rng = np.random.default_rng((seed, first))
    names = list(TEMPLATES)
    return pa.table(
        {
            "id": [f"rule-{k:09}" for k in range(first, first + count)],
            "template": [names[k % len(names)] for k in range(first, first + count)],
            "own": rng.integers(0, max(count, 1000), count),
            "low": rng.integers(1, 50, count) * 1.0,
            "high": rng.integers(50, 500, count) * 1.0,
            "span": rng.integers(1, 60, count) * 1000,
        }
    )


def payments(count: int, customers: int, seed: int = 7, each: int = 5) -> pa.Table:
    """Payments, so many milliseconds apart."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(count) * each,
            "type": pa.repeat("Payment", count),
            "customer": rng.integers(0, customers, count),
            "amount": rng.integers(1, 600, count) * 1.0,
            "country": pa.array(["home", "away"]).take(pa.array(rng.integers(0, 2, count))),
        }
    )


class Calls:
    """How long calls took, by what was called: CPU time of the calling thread, in milliseconds."""

    def __init__(self) -> None:
        self.took: dict[str, list[float]] = {}

    def run(self, name: str, call: Callable[[], Any]) -> Any:
        """Call, and note how long it took."""
        begin = time.thread_time()
        found = call()
        self.took.setdefault(name, []).append(1000 * (time.thread_time() - begin))
        return found

    def told(self) -> Iterator[tuple[str, float]]:
        """The median and the longest of each."""
        for name, took in self.took.items():
            yield f"{name} median ms", float(np.median(took))
            yield f"{name} longest ms", max(took)


def measure(
    running: int, *, added: int = 1000, changes: int = 100, batch: int = 100, stay: int = 10, own: bool = False
) -> dict[str, float]:
    """Add and remove rules while others run. stay: after so many changes they go; own: those that come stay."""
    queries = Queries(TEMPLATES, rules_of(running))
    session = queries.session(lateness=0)
    events = payments((4 * changes + 2000) * batch, max(running, 1000))
    calls, place = Calls(), 0

    def push(name: str) -> None:
        nonlocal place
        calls.run(name, lambda: session.push(events.slice(place, batch)))
        place += batch

    push("first push")
    for _ in range(10):
        push("push before")
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total, first, there = time.process_time(), running, list[list[str]]()
    gc.collect()
    for _ in range(changes):
        rules = rules_of(added, first)
        first += added
        calls.run("add", lambda rules=rules: session.add(rules))
        there.append(rules.column("id").to_pylist())
        for _ in range(3):
            push("push after")
        if not own and len(there) > stay:
            gone = there.pop(0)
            calls.run("remove", lambda gone=gone: session.remove(gone))
            push("push after")
    while session.stats.counters["levels"] > 3 and place < events.num_rows:  # until new tables take their place
        push("push after")
        time.sleep(0.02)
    found = dict(calls.told())
    found["all, s of CPU"] = time.process_time() - total
    found["memory more, MB"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss) / 1024
    return found


def main() -> None:
    """Print what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--running", type=int, default=400_000)
    parser.add_argument("--added", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--stay", action="store_true", help="rules that come stay")
    given = parser.parse_args()
    for name, value in measure(given.running, added=given.added, changes=given.changes, own=given.stay).items():
        print(f"{name:24} {value:12.2f}")


if __name__ == "__main__":
    main()
