"""One query against a C++ loop, under four clocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from bench.check import same
from bench.harness import Figure, Options, Target, race, throughput
from bench.native import Loop
from bench.ours import ours

CLOCKS = ("kernel", "in order", "end to end", "to Arrow")
TARGETS = {"kernel": Target("≥", 0.9), "end to end": Target("≥", 0.5)}


def side_by_side(
    row: str,
    case: str,
    text: str,
    table: pa.Table,
    loop: Loop,
    options: Options,
    plan: str = "automaton",
    targets: Mapping[str, Target | None] = TARGETS,
) -> Iterator[Figure]:
    """The figures of a query and the loop that does the same.

    plan: how the kernel runs; end to end, the engine takes the plan that it thinks is right.
    """
    engine = ours(text, table, plan=plan)
    whole = ours(text, table)
    found = loop()
    same(engine.positions(), found, f"{row} {case}")
    offsets, positions = found
    note = f"{len(offsets) - 1:,} matches, {len(positions):,} positions" + f"; kernel: {plan}" * (plan != "automaton")
    runners = {
        "C++": loop.timed,
        "kernel": engine.kernel,
        "in order": engine.in_order,
        "end to end": whole.enumerate,
        "to Arrow": whole.to_arrow,
    }
    del found, offsets, positions
    seconds = race(runners, options.times)
    for clock in CLOCKS:
        yield Figure(
            row,
            case,
            clock,
            throughput(table.num_rows, seconds[clock]),
            "M events/s",
            "C++",
            throughput(table.num_rows, seconds["C++"]),
            seconds["C++"] / seconds[clock],
            targets.get(clock),
            note if clock == "kernel" else "",
        )
