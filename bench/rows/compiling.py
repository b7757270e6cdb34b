"""How long kernels take to compile: those of the test cases, and their joins, each in a process with an empty cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping

from bench.harness import Figure, Options, Target

QUICK = 25  # of so many cases, one
LEAST = 0.005  # s: less is no compiling. The query is interpreted, or another case had the same kernel
WORST = 5  # that are told of
SHARES = {"median": 0.5, "90 %": 0.9, "worst": 1.0}
TARGETS = {"median": Target("≤", 1.5), "worst": Target("≤", 3.0)}
JOIN_TARGETS = {"worst": Target("≤", 1.0)}


def compiling(options: Options) -> Iterator[Figure]:
    """CPU seconds to compile a kernel, and a join in a fixed order, over the test cases: median, 90 % and worst."""
    every = QUICK if options.quick else 1
    first, *rest = _compiled("compile", every)
    yield Figure("compile", "the first", "CPU", first[0], "s", note="with what all kernels share, and the compiler")
    seen = sorted(one for one in rest if one[0] >= LEAST)
    yield from _shares(f"{len(seen)} kernels of {len(rest)} cases", seen, TARGETS)
    joins = list(_compiled("joins", every))
    own, four = ([one for one in joins if one[1].startswith("four: ") == is_four] for is_four in (False, True))
    yield from _shares(f"{len(own)} joins in a fixed order", sorted(own), JOIN_TARGETS)
    yield from _shares(f"a join of four in {len(four)} orders", sorted(four), JOIN_TARGETS)


def _shares(case: str, seen: list[tuple[float, str]], targets: Mapping[str, Target]) -> Iterator[Figure]:
    """Some of all, from the shortest to the longest, and their sum."""
    for clock, share in SHARES.items():
        seconds, name = seen[round(share * (len(seen) - 1))]
        yield Figure("compile", case, clock, seconds, "s", target=targets.get(clock), note=f"{clock}: {name}")
    note = "; ".join(f"{seconds:.2f} s: {name}" for seconds, name in seen[: -WORST - 1 : -1])
    total = sum(seconds for seconds, _ in seen)
    yield Figure("compile", case, "all", total, "s", note=f"the longest: {note}")


def _compiled(what: str, every: int) -> Iterator[tuple[float, str]]:
    """Seconds and the name of each case."""
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as cache:
        environment = os.environ | {"CEPHEID_CACHE": cache, "CEPHEID_COMPILE": "now"}
        command = [sys.executable, "-m", "bench.probe", what, str(every)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        yield one["seconds"], one["case"]
