"""A query as a user has it first: in a new process, with an empty cache.

    python -m bench.fresh EVENTS.arrow ENGINE < query.json

The events are in memory, and pyarrow is imported, before the clock starts; cepheid is imported under it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bench.cpu import cpu_seconds

_ROOT = Path(__file__).parents[1]

OVER = "timeout"


class Spent(NamedTuple):
    """Seconds of the process and its children up to the number of matches, and what they did after it was known."""

    cpu: float
    wall: float
    matches: int
    after: float


def run(text: str, options: Mapping[str, Any], events: Path, engine: str, timeout: float) -> Spent | str:
    """What a query takes, or why that is not known."""
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as cache:
        environment = os.environ | {"CEPHEID_CACHE": cache}
        environment.pop("CEPHEID_COMPILE", None)
        if engine == "compiled":
            environment["CEPHEID_COMPILE"] = "now"  # and not in the background
        before = _ended()
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.fresh", str(events), engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=_ROOT,
            start_new_session=True,
        )
        try:
            told, _ = process.communicate(json.dumps([text, dict(options)]), timeout)
        except subprocess.TimeoutExpired:
            return OVER
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it has started too
            process.wait()
        if process.returncode:
            return "failed"
        seen = json.loads(told)
        return Spent(seen["cpu"], seen["wall"], seen["matches"], max(_ended() - before - seen["all"], 0.0))


def _ended() -> float:
    """CPU seconds of the processes that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    """Run the query, and print what it took as JSON."""
    path, engine = sys.argv[1:]
    text, options = json.load(sys.stdin)
    pa.set_cpu_count(1)
    with pa.OSFile(path) as file:  # not mapped: reading is not in the clock
        table = pa.ipc.open_file(file).read_all()
    cpu, wall = cpu_seconds(), time.perf_counter()

    from cepheid import Query

    matches = len(Query(text, **options).match(table, engine=engine))
    wall, total = time.perf_counter() - wall, cpu_seconds()
    print(json.dumps({"cpu": total - cpu, "wall": wall, "matches": matches, "all": total}))


if __name__ == "__main__":
    main()
