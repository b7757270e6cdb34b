"""One session over a long stream, watched for memory.

python -m bench.probe WINDOW EVENTS VOLUME

VOLUME is that below which an event ends a match, of 1,000 possible ones.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import queries, workloads
from cepheid import Query

BATCH = 100_000
PIECES = 8  # streams that follow one another, so that generating does not take longer than matching


def main() -> None:
    """Print what was seen as JSON."""
    window, events, volume = map(int, sys.argv[1:])
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
    main()
