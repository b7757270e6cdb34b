"""Streams: against a stateless Python identity, over many micro-batches, and with much state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pyspark.sql import DataFrame

from bench.harness import Figure, Target
from bench.spark import data, streams
from bench.spark.cases import counted
from bench.spark.options import Options
from bench.spark.session import session
from cepheid import Query

ROWS = 500_000  # of a micro-batch
KEYS = (10_000, 100_000)


def shoplifting(tags: int) -> str:
    """W4 with a window in which a tag is read ten times; all events matter, so no filter makes it easy."""
    return f"PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN {10 * tags} milliseconds"


def streaming(options: Options) -> Iterator[Figure]:
    """Micro-batches of 500,000 rows against a stateless Python identity."""
    rows, count = min(ROWS, options.sized(10 * ROWS)), 5 if options.quick else 14
    with session(options, **streams.SETTINGS) as spark:
        for keys in KEYS:
            path = data.rfid_stream(options, keys, rows, count)
            query = Query(shoplifting(keys))
            places = {name: options.data / f"checkpoint-{name}" for name in ("ours", "counted", "returned")}
            batches: dict[str, list[streams.Batch]] = {name: [] for name in places}
            for _ in range(options.times):
                stream = streams.read(spark, path)
                runs = {
                    "ours": streams.run(query.match(stream), places["ours"]),
                    "counted": streams.run(stream.mapInArrow(counted, "n long"), places["counted"], "n"),
                    "returned": streams.run(_returned(stream), places["returned"]),
                }
                assert sum(batch.out for batch in runs["counted"]) == rows * count
                assert sum(batch.out for batch in runs["returned"]) == rows * count
                for name, done in runs.items():
                    batches[name] += streams.settled(done)
            matches = streams.checked(spark, query, path, places["ours"], runs["ours"])
            times = {name: np.array([batch.seconds for batch in done]) for name, done in batches.items()}
            speed = {name: rows / float(np.median(seconds)) / 1000 for name, seconds in times.items()}
            p50, p99 = np.percentile(times["ours"], (50, 99))
            most = max(batch.state for batch in runs["ours"])
            note = (
                f"{matches:,} matches of {rows * count:,} events; micro-batch p50 {p50:.2f} s, p99 {p99:.2f} s of "
                f"{len(times['ours'])}; {most / 1e6:.2f} MB of state, {most / keys:.0f} bytes a key"
            )
            for rival, target in (("counted", Target("≥", 0.7)), ("returned", None)):
                yield Figure(
                    "stream",
                    f"W4, {keys:,} keys",
                    "micro-batch, median",
                    speed["ours"],
                    "k events/s",
                    f"identity, {rival}",
                    speed[rival],
                    speed["ours"] / speed[rival],
                    target,
                    note if target else "",
                )


def flat(options: Options) -> Iterator[Figure]:
    """State and time over a hundred micro-batches: both must stay where they are."""
    rows, count, keys = 20_000, 30 if options.quick else 100, 10_000
    with session(options, **streams.SETTINGS) as spark:
        path = data.rfid_stream(options, keys, rows, count, late=500)
        checkpoint = options.data / "checkpoint-flat"
        query = Query(shoplifting(keys))
        done = streams.run(query.match(streams.read(spark, path)), checkpoint)
        streams.checked(spark, query, path, checkpoint, done)
    done = [batch for batch in done if batch.rows]
    third, full = len(done) // 3, 10 * keys // rows + 2  # from then on the window is full
    parts = {"first": done[full:third], "last": done[-third:]}
    state = {name: float(np.mean([batch.state for batch in part])) for name, part in parts.items()}
    store = {name: float(np.mean([batch.store for batch in part])) / 1e6 for name, part in parts.items()}
    p50, p99 = np.percentile([batch.seconds for batch in streams.settled(done)], (50, 99))
    case = f"{len(done)} x {rows:,} events"
    yield Figure(
        "flat",
        case,
        "state",
        state["last"] / 1e6,
        "MB, last third",
        "first third",
        state["first"] / 1e6,
        state["first"] / state["last"],
        Target("≥", 0.9),
        f"{keys:,} keys; the state store holds {store['first']:.1f} MB in memory in the first third, "
        f"{store['last']:.1f} MB in the last",
    )
    yield Figure("flat", case, "micro-batch, p50", p50, "s")
    yield Figure("flat", case, "micro-batch, p99", p99, "s")


def big_state(options: Options) -> Iterator[Figure]:
    """Bytes that a micro-batch writes to its checkpoint when there is much state."""
    rows, count, keys = options.sized(ROWS), 12, options.sized(10_000)
    with session(options, **streams.SETTINGS) as spark:
        path = data.growing_stream(options, keys, rows, count)
        checkpoint = options.data / "checkpoint-state"
        query = Query("PATTERN SEQ(A a, C c) WHERE [key] AND a.price < c.price WITHIN 24 hours")
        done = streams.run(query.match(streams.read(spark, path)), checkpoint)
    logged, snapshots = streams.written(checkpoint)
    late = float(np.median([logged[version] for version in sorted(logged)[-count // 3 :]])) / 1e6
    state = max(batch.state for batch in done) / 1e6
    p50, p99 = np.percentile([batch.seconds for batch in streams.settled(done)], (50, 99))
    yield Figure(
        "state",
        f"{keys:,} keys x {1000 * state / keys:.1f} KB",
        "a micro-batch logs",
        late,
        "MB",
        "state",
        state,
        state / late,
        None,
        f"{rows:,} events a micro-batch; snapshots of {snapshots / 1e6:.0f} MB in {count} micro-batches; "
        f"micro-batch p50 {p50:.2f} s, p99 {p99:.2f} s",
    )


def _returned(stream: DataFrame) -> DataFrame:
    """The identity to the letter: all rows go to Python and back."""
    return stream.mapInArrow(lambda batches: batches, stream.schema)
