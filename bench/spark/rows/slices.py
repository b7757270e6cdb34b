"""A query without a key in time slices: two cores against one. Each is a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bench.harness import Figure, Target, throughput
from bench.spark.options import Options

EVENTS = 2_000_000


def slices(options: Options) -> Iterator[Figure]:
    """A query without a key in time slices: two cores against one."""
    one, two = (_probe(cores, options) for cores in (1, 2))
    assert one["matches"] == two["matches"], f"{one['matches']:,} and {two['matches']:,} matches"
    yield Figure(
        "slices",
        "W3",
        "two cores",
        throughput(two["events"], two["wall"]),
        "M events/s",
        "one core",
        throughput(one["events"], one["wall"]),
        one["wall"] / two["wall"],
        Target("≥", 1.6),
        f"{two['events']:,} events, {two['matches']:,} matches; {two['cpu']:.1f} CPU-s against {one['cpu']:.1f}",
    )


def _probe(cores: int, options: Options) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.spark.probe", str(cores), str(options.sized(EVENTS)), str(options.times)]
    command += [str(options.data), options.memory]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
