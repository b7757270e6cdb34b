"""How long a step of a slider takes in the studio, on a million events.

python -m bench.studio_drag [EVENTS]

A real server is started as `cepheid studio` starts it. Each step asks for the same query with another constant, as the
page does while a slider is dragged. Wall: from the request to the number of matches, and to the end of the answer. CPU:
what the process of the server used, on all its cores.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STEPS = 40
QUERY = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] AND c.price > {} * a.price WITHIN 30 minutes"


def main() -> None:
    """Measure, and print a line for each kind of step."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "events.parquet"
        pq.write_table(_events(events), path, row_group_size=100_000)
        command = [sys.executable, "-m", "cepheid", "studio", str(path), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                _measure(server.pid, urlsplit(server.stdout.readline().strip()))
            finally:
                server.terminate()


def _events(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    types = np.array(["Shelf", "Register", "Exit", "Dock"])
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 50, pa.timestamp("ms")),
            "type": types[random.integers(0, 4, count)],
            "tag_id": random.integers(0, 20_000, count),
            "price": np.round(random.gamma(2, 20, count), 2),
        }
    )


def _measure(process: int, address: object) -> None:
    host = address.netloc  # type: ignore[attr-defined]
    link = http.client.HTTPConnection(host)
    link.request("GET", f"/?{address.query}")  # type: ignore[attr-defined]
    first = link.getresponse()
    first.read()
    headers = {"cookie": first.headers["set-cookie"].split(";")[0], "content-type": "application/json"}
    for timeline in (True, False):
        _step(link, headers, 1.0, timeline)  # the first one reads and compiles
        taken, before = [], _cpu(process)
        for step in range(STEPS):
            begin = time.perf_counter()
            counted = _step(link, headers, 1.0 + step / 50, timeline) - begin
            taken.append((counted, time.perf_counter() - begin))
        cpu = 1000 * (_cpu(process) - before) / STEPS  # of all steps: the system counts it in hundredths of a second
        counted, over = (1000 * statistics.median(column) for column in zip(*taken, strict=True))
        what = "with the time line" if timeline else "while dragging"
        print(f"{what:20} {counted:6.0f} ms to the count {over:6.0f} ms to the end {cpu:6.0f} ms CPU")


def _step(link: http.client.HTTPConnection, headers: dict[str, str], factor: float, timeline: bool) -> float:
    """Ask for the matches; when their number was there."""
    asked = {"text": QUERY.format(factor), "page": "1", "sample": False, "timeline": timeline}
    link.request("POST", "/api/run", json.dumps(asked), headers)
    answer = link.getresponse()
    counted = 0.0
    while line := answer.readline():
        if json.loads(line)["kind"] == "matches":
            counted = time.perf_counter()
    return counted


def _cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
