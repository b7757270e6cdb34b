"""One query against a C++ loop, under three clocks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from bench.check import same
from bench.harness import Figure, Options, Target, race, throughput
from bench.native import Loop
from bench.ours import ours

KERNEL = Target("≥", 0.9)
END_TO_END = Target("≥", 0.5)


def side_by_side(row: str, case: str, text: str, table: pa.Table, loop: Loop, options: Options) -> Iterator[Figure]:
    """The figures of a query and the loop that does the same."""
    engine = ours(text, table)
    found = loop()
    same(engine.positions(), found, f"{row} {case}")
    offsets, positions = found
    note = f"{len(offsets) - 1:,} matches, {len(positions):,} positions"
    clocks = {"kernel": KERNEL, "in order": None, "end to end": END_TO_END, "to Arrow": None}
    runners = {
        "C++": loop,
        "kernel": engine.kernel,
        "in order": engine.in_order,
        "end to end": engine.enumerate,
        "to Arrow": engine.to_arrow,
    }
    del found, offsets, positions
    seconds = race(runners, options.times)
    for clock, target in clocks.items():
        yield Figure(
            row,
            case,
            clock,
            throughput(table.num_rows, seconds[clock]),
            "M events/s",
            "C++",
            throughput(table.num_rows, seconds["C++"]),
            seconds["C++"] / seconds[clock],
            target,
            note if clock == "kernel" else "",
        )
