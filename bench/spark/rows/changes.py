"""Streams that give matches at once and take them back, against those that wait: rows a second, and bytes of state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.cpu import cpu_seconds
from bench.harness import Figure, Target
from bench.spark import data, streams
from bench.spark.options import Options
from bench.spark.rows.streaming import KEYS, ROWS, shoplifting
from bench.spark.session import session
from cepheid import Query

MODES = {"waits": None, "speculate=0": 0, "all": "all"}
LATE = {"in order": 0, "late by up to 0.5 s": 500}  # milliseconds


def changes(options: Options) -> Iterator[Figure]:
    """Streams that speculate as far as there are events, against σ = 0."""
    rows, count = min(ROWS, options.sized(10 * ROWS)), 5 if options.quick else 14
    with session(options, **streams.SETTINGS) as spark:
        for keys in KEYS:
            for order, late in LATE.items():
                path = data.rfid_stream(options, keys, rows, count, late=late)
                query = Query(shoplifting(keys))
                whole = query.match(spark.read.parquet(str(path))).count()
                done: dict[str, list[streams.Batch]] = {name: [] for name in MODES}
                cpu = dict.fromkeys(MODES, np.inf)
                for _ in range(options.times):
                    for name, speculate in MODES.items():
                        place, how = (
                            options.data / f"checkpoint-{name}",
                            {} if speculate is None else {"speculate": speculate},
                        )
                        begin = cpu_seconds()
                        batches = streams.run(query.match(streams.read(spark, path), **how), place)
                        cpu[name] = min(cpu[name], cpu_seconds() - begin)
                        stands = sum(batch.out - 2 * batch.withdrawn for batch in batches)
                        assert stands == whole if speculate == "all" else stands <= whole
                        done[name] += streams.settled(batches)
                yield from _figures(f"W4, {keys:,} keys, {order}", rows, done, cpu)


def _figures(case: str, rows: int, done: dict[str, list[streams.Batch]], cpu: dict[str, float]) -> Iterator[Figure]:
    speed = {name: rows / float(np.median([one.seconds for one in own])) / 1000 for name, own in done.items()}
    state = {name: float(np.mean([one.state for one in own])) / 1e6 for name, own in done.items()}
    most = {name: max(one.state for one in own) / 1e6 for name, own in done.items()}
    given, taken = (sum(getattr(one, name) for one in done["all"]) for name in ("out", "withdrawn"))
    note = f"{given:,} changes, {taken:,} of them take a match back; CPU-s of a run " + ", ".join(
        f"{name} {seconds:.0f}" for name, seconds in cpu.items()
    )
    for rival in ("waits", "speculate=0"):
        ratio, target = speed["all"] / speed[rival], Target("≥", 0.6) if rival == "waits" else None
        yield Figure(
            "changes", case, "micro-batch, median", speed["all"], "k events/s", rival, speed[rival], ratio, target, note
        )
        ratio, target = state["all"] / state[rival], Target("≤", 1.5) if rival == "waits" else None
        largest = f"at most {most['all']:.2f} MB, {rival} {most[rival]:.2f} MB"
        yield Figure("changes", case, "state, mean", state["all"], "MB", rival, state[rival], ratio, target, largest)
        note = ""
