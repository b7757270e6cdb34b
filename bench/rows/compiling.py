"""How long kernels take to compile: those of the test cases, in one process with an empty cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from bench.harness import Figure, Options

QUICK = 25  # of so many cases, one
LEAST = 0.005  # s: less is no compiling. The query is interpreted, or another case had the same kernel
WORST = 5  # that are told of


def compiling(options: Options) -> Iterator[Figure]:
    """CPU seconds to compile a kernel, over the test cases: median, 90 % and worst."""
    first, *rest = _compiled(QUICK if options.quick else 1)
    yield Figure("compile", "the first", "CPU", first[0], "s", note="with what all kernels share, and the compiler")
    seen = sorted(one for one in rest if one[0] >= LEAST)
    case = f"{len(seen)} kernels of {len(rest)} cases"
    for clock, share in (("median", 0.5), ("90 %", 0.9), ("worst", 1.0)):
        seconds, name = seen[round(share * (len(seen) - 1))]
        yield Figure("compile", case, clock, seconds, "s", note=f"{clock}: {name}")
    total = sum(seconds for seconds, _ in seen)
    note = "; ".join(f"{seconds:.2f} s: {name}" for seconds, name in seen[: -WORST - 1 : -1])
    yield Figure("compile", case, "all", total, "s", note=f"the longest: {note}")


def _compiled(every: int) -> Iterator[tuple[float, str]]:
    """Seconds and the name of each case."""
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as cache:
        environment = os.environ | {"CEPHEID_CACHE": cache, "CEPHEID_COMPILE": "now"}
        command = [sys.executable, "-m", "bench.probe", "compile", str(every)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        yield one["seconds"], one["case"]
