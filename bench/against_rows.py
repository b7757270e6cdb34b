"""The rows of `bench.against`, and the process that runs one of them.

    python -m bench.against_rows ROW SOURCES

A row uses nothing but what users call, so that it runs with the sources of old commits too. It writes a line when it is
prepared; then, for each line that it reads, it runs once and writes what that took.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import fresh, queries
from bench.cache import DIRECTORY, stream
from bench.cayuga import workload
from bench.cpu import cpu_seconds
from bench.many_texts import texts
from bench.workloads import disordered

Run = Callable[[], tuple[float, int]]
"""A round: CPU seconds, and how many matches there are."""

PAPERS = {
    "W1": ("stock", queries.w1("p2", "s3")),
    "W2": ("typed_v1000", queries.typed()),
    "W3": ("rare_last", queries.W3["last"]),
    "W4": ("rfid", queries.W4),
    "W5": ("ticks", queries.W5_BALANCED),
}
SHIFT = 1000
"""Milliseconds, of one event each, by which a late event is late at most."""


SPARK = {"spark.sql.streaming.numRecentProgressUpdates": "1000", "spark.sql.shuffle.partitions": "2"}


@dataclass(frozen=True)
class Row:
    """prepare: from the share of the events to what is run in each round, inside of a `with`."""

    prepare: Callable[[float], contextlib.AbstractContextManager[Run]]
    rounds: int = 7


def _timed(once: Callable[[], int], clock: Callable[[], float] = time.process_time) -> Run:
    def run() -> tuple[float, int]:
        begin = clock()
        matches = once()
        return clock() - begin, matches

    return run


@contextmanager
def _end_to_end(name: str, text: str, scale: float, *, arrow: bool) -> Iterator[Run]:
    """From an Arrow table to the positions of all matches, or to an Arrow table."""
    from cepheid import Query

    table, query = stream(name, scale=scale), Query(text)

    def once() -> int:
        matches = query.match(table, engine="compiled")
        return matches.to_arrow().num_rows if arrow else len(matches)

    yield _timed(once)


@contextmanager
def _push(name: str, text: str, scale: float) -> Iterator[Run]:
    """One event as a dict, into a session whose watermark follows: the median of some thousand."""
    from cepheid import Query

    before, timed = 10_000, int(3_000 * scale)
    table = stream(name, before + timed)
    rows = [[row] for row in table.slice(before).to_pylist()]

    def run() -> tuple[float, int]:
        session = Query(text).session(engine="compiled", lateness=10)
        matches = len(session.push(table.slice(0, before)))
        seconds = []
        for row in rows:
            begin = time.thread_time()
            matches += len(session.push(row))
            seconds.append(time.thread_time() - begin)
        return float(np.median(seconds)), matches

    yield run


@contextmanager
def _small(text: str, events: int, *, again: bool) -> Iterator[Run]:
    """A small table, and a query that is new or was matched before; its kernels are in the cache."""
    from cepheid import Query

    table, known = stream("typed_v100", events), Query(text)
    yield _timed(lambda: len((known if again else Query(text)).match(table, engine="compiled")))


@contextmanager
def _many(scale: float) -> Iterator[Run]:
    from cepheid import Queries

    rules = Queries(list(texts(workload(int(100_000 * scale), "loose"), "Filter")), progress=False)
    table = stream("cayuga", int(100_000 * scale))
    yield _timed(lambda: int(rules.match(table, progress=False).to_arrow().num_rows))


@contextmanager
def _disorder(name: str, text: str, scale: float) -> Iterator[Run]:
    """A fifth of the events late, in batches of a thousand, each answered at once and corrected later."""
    from cepheid import Query

    table = disordered(stream(name, int(200_000 * scale)), 20, SHIFT)
    batches = [table.slice(at, 1000) for at in range(0, table.num_rows, 1000)]

    def once() -> int:
        session = Query(text).session(engine="compiled", lateness=SHIFT, speculate="all")
        return sum(len(session.push(batch)) for batch in batches) + len(session.close())

    yield _timed(once)


@contextmanager
def _cold(text: str, events: int, scale: float) -> Iterator[Run]:
    """A new process with an empty cache, from `import cepheid` on."""
    path = DIRECTORY / f"cold-{os.getpid()}.arrow"
    table = stream("rfid", int(events * scale))
    with pa.OSFile(str(path), "w") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)

    def run() -> tuple[float, int]:
        spent = fresh.run(text, {}, path, "auto", 120.0)
        assert isinstance(spent, fresh.Spent), spent
        return spent.cpu, spent.matches

    try:
        yield run
    finally:
        path.unlink()


@contextmanager
def _spark(scale: float, *, streaming: bool) -> Iterator[Run]:
    """W2 of a thousand keys in batch, or W4 as a stream of ten micro-batches; written to nowhere, and counted."""
    from pyspark.sql import functions as F

    from bench.spark import data
    from bench.spark.options import Options
    from bench.spark.session import session
    from cepheid import Query

    options = Options(scale=scale, memory="2g")
    if streaming:
        source = data.rfid_stream(options, 10_000, options.sized(200_000), 10)
        query = Query("PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 100000 milliseconds")
    else:
        source = data.typed(options, options.sized(4_000_000))
        query = Query(queries.typed())
    places = (options.data / f"against-{os.getpid()}-{number}" for number in itertools.count())
    with session(options, **SPARK) as spark:

        def batch() -> int:
            return int(query.match(spark.read.parquet(str(source))).count())

        def stream() -> int:
            events = spark.readStream.schema(spark.read.parquet(str(source)).schema).option(
                "maxFilesPerTrigger", data.FILES
            )
            matches = query.match(events.parquet(str(source)).withWatermark("ts", "1 second"))
            writer = matches.observe("bench", F.count(F.lit(1)).alias("out")).writeStream.format("noop")
            place = next(places)
            running = writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start()
            running.awaitTermination()
            shutil.rmtree(place)
            return sum(int(progress.observedMetrics["bench"]["out"] or 0) for progress in running.recentProgress)

        yield _timed(stream if streaming else batch, cpu_seconds)


def _rows() -> Iterator[tuple[str, Row]]:
    for case, (name, text) in PAPERS.items():
        for clock in ("end to end", "to Arrow"):

            def prepare(scale: float, name: str = name, text: str = text, arrow: bool = clock == "to Arrow") -> Any:
                return _end_to_end(name, text, scale, arrow=arrow)

            yield f"{case} {clock}", Row(prepare)
    for case in ("W1", "W2", "W4"):
        yield f"push {case}", Row(lambda scale, case=case: _push(*PAPERS[case], scale), rounds=3)
    for name in ("first", "second"):
        again = name == "second"
        yield (
            f"{name} match of 1,000",
            Row(lambda _, again=again: _small(queries.typed(), 1000, again=again), rounds=50),
        )
    yield "many 100,000", Row(_many, rounds=5)
    for case in ("W1", "W4"):
        yield f"disorder {case}", Row(lambda scale, case=case: _disorder(*PAPERS[case], scale), rounds=3)
    for events in (1_000, 100_000):
        yield f"cold {events:,}", Row(lambda scale, events=events: _cold(queries.W4, events, scale), rounds=5)
    yield "Spark batch W2", Row(lambda scale: _spark(scale, streaming=False), rounds=3)
    yield "Spark stream W4", Row(lambda scale: _spark(scale, streaming=True), rounds=3)


ROWS = dict(_rows())


def main() -> None:
    """Serve one row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed must not be between the replies

    import cepheid

    assert Path(cepheid.__file__).is_relative_to(options.sources), f"{cepheid.__file__} is of another tree"
    with ROWS[options.row].prepare(0.1 if options.quick else 1.0) as run:
        run()
        print("{}", file=replies, flush=True)
        for _ in sys.stdin:
            seconds, matches = run()
            print(json.dumps({"seconds": seconds, "matches": matches}), file=replies, flush=True)


if __name__ == "__main__":
    main()
