"""What is measured in a process of its own. Prints what was seen as JSON.

python -m bench.probe memory WINDOW EVENTS VOLUME
    One session over a long stream, watched for memory. VOLUME is that below which an event ends a match, of 1,000
    possible ones.
python -m bench.probe compile N
    CPU seconds of compiling the kernel of every Nth test case, in lines; what is in the cache is not compiled.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import queries, workloads
from bench.cpu import cpu_seconds
from cepheid import Query
from cepheid.errors import CepheidError
from cepheid.testing import read_cases

BATCH = 100_000
PIECES = 8  # streams that follow one another, so that generating does not take longer than matching
CASES = Path(__file__).parents[1] / "tests" / "cases"


def compile_seconds(query: Query, table: pa.Table) -> float:
    """CPU seconds to compile what a query needs for a table: those of the first run, without what a second takes."""

    def run() -> float:
        begin = cpu_seconds()
        len(query.match(table, engine="compiled"))
        return cpu_seconds() - begin

    return run() - run()


def compile_cases(every: int) -> None:
    """Compile the cases that are run, after one query that brings in what all of them share."""
    warnings.simplefilter("ignore")
    first = compile_seconds(Query("PATTERN SEQ(A a, B+ b[], C c)"), pa.table({"ts": [1], "type": ["A"]}))
    print(json.dumps({"case": "", "seconds": first}))
    run = [
        case for case in read_cases(CASES) if case.events is not None and not (case.expected and case.expected.error)
    ]
    for case in run[::every]:
        try:
            seconds = compile_seconds(Query(case.query, **case.options), case.events)
        except CepheidError:
            continue
        print(json.dumps({"case": f"{Path(case.file).stem}: {case.title}", "seconds": seconds}), flush=True)


def watch_memory(window: int, events: int, volume: int) -> None:
    """Memory before, during and after."""
    pieces = [_coded(workloads.stock(BATCH, seed=seed)) for seed in range(PIECES)]
    query = Query(queries.w1("p2", "s3", window, volume=volume))
    for piece in pieces[:2]:  # imports, compiles and loads
        warm = query.session(engine="compiled", lateness=0)
        len(warm.push(piece))
    del warm
    start = _status("VmRSS")
    session = query.session(engine="compiled", lateness=0)
    trace, spent, matches = [], 0.0, 0
    for at in range(0, events, BATCH):
        batch = _shifted(pieces[at // BATCH % PIECES], at)
        begin = time.perf_counter()
        matches += len(session.push(batch))
        spent += time.perf_counter() - begin
        trace.append(_status("VmRSS"))
    seen = {
        "start": start,
        "peak": _status("VmHWM"),
        "trace": trace,
        "events": session.stats.events,
        "runs": session.stats.runs,
        "state": session.stats.state_bytes,
        "matches": matches,
        "speed": session.stats.events / spent / 1e6,
    }
    print(json.dumps(seen))


def _coded(table: pa.Table) -> pa.Table:
    return table.set_column(1, "type", table.column("type").dictionary_encode())


def _shifted(table: pa.Table, by: int) -> pa.Table:
    return table.set_column(0, "ts", pa.array(table.column("ts").to_numpy() + np.int64(by)))


def _status(name: str) -> float:
    """What Linux says of this process, in MB. `ru_maxrss` would be that of the parent where it was larger."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


if __name__ == "__main__":
    {"memory": watch_memory, "compile": compile_cases}[sys.argv[1]](*map(int, sys.argv[2:]))
