"""What many queries hold in memory, in a process of its own: `python -m bench.many_memory table|texts COUNT`."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
from pathlib import Path

import pyarrow as pa

from bench.cache import stream
from bench.cayuga import workload
from bench.many_texts import SASE, texts
from bench.rows.many_rules import rule_table, template
from cepheid import Queries
from cepheid.api.many.session import ManySession


def main() -> None:
    """Bytes of the tables, of the constants, and by which the process has grown."""
    how, count = sys.argv[1], int(sys.argv[2])
    first = stream("cayuga", 1_000).slice(0, 100)
    _session(how, min(2_000, count), first)  # imports and compiles
    before = _resident()
    queries, session = _session(how, count, first)
    constants = sum(some.constants.nbytes for some in queries.rules.rules) + queries.ids.nbytes
    held = _resident() - before
    tables = session.stats.counters["state_bytes"]
    print(json.dumps({"tables": tables, "constants": constants, "held": held}))


def _session(how: str, count: int, first: pa.Table) -> tuple[Queries, ManySession]:
    """Queries, and a session that has seen events."""
    queries = _queries(how, count)
    session = queries.session(lateness=0)
    session.push(first)
    return queries, session


def _queries(how: str, count: int) -> Queries:
    if how == "table":
        return Queries(template(), rule_table(workload(count, "plain")), progress=False)
    return Queries(list(texts(workload(count, "loose"), SASE)), progress=False)


def _resident() -> int:
    """Of this process, without what its allocators could give back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
