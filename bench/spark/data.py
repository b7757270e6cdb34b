"""The streams as directories of Parquet files, made once.

The streams of the papers are independent draws, so a long one is made of parts, each with a seed of its own and its
time moved on; none is ever in memory as a whole. Only that of W4 has a memory: see `readings`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

from bench import workloads
from bench.spark.options import Options

PART = 1_250_000  # events in a file
GROUP = 250_000  # in a row group, at most
FILES = 2  # of a micro-batch: a task for each core
START = 1_700_000_000_000  # of streams whose time is a timestamp: milliseconds
TYPES = np.array(["Shelf", "Register", "Exit"])

Ints = npt.NDArray[np.int64]


def typed(options: Options, events: int, domain: int = 1000) -> Path:
    """W2: twenty types, five attributes, attr1 with `domain` values."""

    def parts(size: int) -> Iterator[pa.Table]:
        for part, begin in enumerate(range(0, events, size)):
            yield _moved(workloads.typed(min(size, events - begin), domain, seed=2 + part), begin)

    return kept(options, f"typed-{domain}-{events}", lambda: parts(_part(events)))


def logged(options: Options, events: int, domain: int = 100) -> Path:
    """W2 with columns that conditions compute with: a number in a text, a text, and when something began and ended."""

    def parts(size: int) -> Iterator[pa.Table]:
        for part, begin in enumerate(range(0, events, size)):
            count = min(size, events - begin)
            rng = np.random.default_rng(20 + part)
            table = _moved(workloads.typed(count, domain, seed=2 + part), begin).select(["ts", "type", "attr1"])
            began = START + rng.integers(0, 86_400_000, count)
            columns = {
                "code": np.char.mod("%d", rng.integers(0, 100, count)),
                "text": np.char.add(np.where(rng.random(count) < 0.1, "error ", "done "), "of a task"),
                "began": _stamps(began),
                "ended": _stamps(began + rng.integers(0, 3_600_000, count)),
            }
            for name, values in columns.items():
                table = table.append_column(name, pa.array(values))
            yield table

    return kept(options, f"logged-{domain}-{events}", lambda: parts(_part(events)))


def stock(options: Options, events: int, symbols: int = 1000) -> Path:
    """Prices that mostly rise, each symbol once in a while."""

    def parts(size: int) -> Iterator[pa.Table]:
        for part, begin in enumerate(range(0, events, size)):
            yield _moved(workloads.stock(min(size, events - begin), symbols, seed=1 + part), begin)

    return kept(options, f"stock-{symbols}-{events}", lambda: parts(_part(events)))


def payments(options: Options, events: int, customers: int) -> Path:
    """Card payments of a day."""
    table = workloads.payments(events, customers)
    size = _part(events)
    parts = (table.slice(begin, size) for begin in range(0, events, size))
    return kept(options, f"payments-{customers}-{events}", lambda: parts)


def rare(options: Options, events: int) -> Path:
    """W3: A and B, and a rare C."""

    def parts(size: int) -> Iterator[pa.Table]:
        for part, begin in enumerate(range(0, events, size)):
            yield _moved(workloads.rare_last(min(size, events - begin), seed=3 + part), begin)

    return kept(options, f"rare-{events}", lambda: parts(_part(events)))


def rfid(options: Options, events: int) -> Path:
    """W4: items move from shelf to register to exit; as in the stream of the paper 200 readings of each tag."""

    def parts(size: int) -> Iterator[pa.Table]:
        tag, stage = readings(events, max(1, events // 200))
        for begin in range(0, events, size):
            part = slice(begin, begin + size)
            times = np.arange(begin, begin + len(tag[part]), dtype=np.int64)
            yield pa.table({"ts": times, "type": TYPES[stage[part]], "tag_id": tag[part]})

    return kept(options, f"rfid-{events}", lambda: parts(_part(events)))


def rfid_stream(options: Options, tags: int, rows: int, batches: int, late: int = 0) -> Path:
    """The same with timestamps, in micro-batches; with `late`, arrivals up to so many milliseconds late."""

    def parts() -> Iterator[pa.Table]:
        tag, stage = readings(rows * batches, tags)
        times = START + np.arange(rows * batches, dtype=np.int64)
        order = np.arange(len(times))
        if late:
            order = np.argsort(order + np.random.default_rng(7).integers(0, late, len(order)), kind="stable")
        for begin in range(0, rows * batches, rows // FILES):
            chosen = order[begin : begin + rows // FILES]
            yield pa.table({"ts": _stamps(times[chosen]), "type": TYPES[stage[chosen]], "tag_id": tag[chosen]})

    return kept(options, f"rfid-stream-{tags}-{rows}x{batches}-{late}", parts)


def growing_stream(options: Options, keys: int, rows: int, batches: int) -> Path:
    """As of many keys and never what they wait for: all of them stay in the state."""

    def parts() -> Iterator[pa.Table]:
        rng = np.random.default_rng(8)
        n = rows // FILES
        for begin in range(0, rows * batches, n):
            times = START + np.arange(begin, begin + n, dtype=np.int64)
            columns = {"ts": _stamps(times), "type": np.full(n, "A")}
            yield pa.table({**columns, "key": rng.integers(0, keys, n), "price": rng.normal(100.0, 10.0, n)})

    return kept(options, f"growing-{keys}-{rows}x{batches}", parts)


def readings(events: int, tags: int, theft: float = 0.01, seed: int = 5) -> tuple[Ints, Ints]:
    """Tags and stages of W4: `workloads.rfid` without its loop.

    One long course of visits, some without a register, is cut into a piece for each tag; so a tag may first be read in
    the middle of a visit, which is all that differs.
    """
    rng = np.random.default_rng(seed)
    tag = rng.integers(0, tags, events)
    lengths = np.where(rng.random(events // 2 + 1) < theft, 2, 3)
    starts = np.cumsum(lengths) - lengths
    course = np.arange(events) - np.repeat(starts, lengths)[:events]
    course[(course == 1) & np.repeat(lengths == 2, lengths)[:events]] = 2
    stage = np.empty(events, np.int64)
    stage[np.argsort(tag, kind="stable")] = course
    return tag, stage


def kept(options: Options, name: str, parts: Callable[[], Iterator[pa.Table]]) -> Path:
    """The directory of that name, made on first use; a run that is broken off leaves none behind."""
    path = options.data / name
    if not path.exists():
        draft = path.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for number, part in enumerate(parts()):
            file = draft / f"part-{number:05d}.parquet"
            pyarrow.parquet.write_table(part, file, row_group_size=min(GROUP, -(-part.num_rows // 4)))
            os.utime(file, (START // 1000 + number,) * 2)  # a stream reads files by their age
        draft.replace(path)
    return path


def size(path: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in path.glob("*.parquet"))


def _part(events: int) -> int:
    """At least eight files, so that a small stream has enough tasks too."""
    return min(PART, -(-events // 8))


def _moved(table: pa.Table, by: int) -> pa.Table:
    return table.set_column(0, "ts", pa.array(table.column("ts").to_numpy() + by))


def _stamps(milliseconds: Ints) -> pa.Array:
    return pa.array(milliseconds * 1000).cast(pa.timestamp("us", tz="UTC"))
