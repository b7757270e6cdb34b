"""Programs of many queries over one stream: what each query adds, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from bench.cache import stream
from bench.harness import Figure, Options, Target, race
from cepheid import Query

SIZES = (10, 17, 24, 100)
BATCHES = 10
TARGET = Target("≥", 0.9)  # a query of many takes as long as one of ten


def program(options: Options) -> Iterator[Figure]:
    """Programs of 10 to 100 queries over one stream: CPU time does not grow but with the queries."""
    table = stream("typed_v100", scale=options.scale / 10)
    for clock, run in (("match", _match), ("session", _push)):
        queries = {size: Query(_text(size)) for size in SIZES}
        runners: dict[str, Callable[..., object]] = {str(n): partial(run, q, table) for n, q in queries.items()}
        seconds = race(runners, options.times)
        least = seconds[str(SIZES[0])] / SIZES[0]
        for size in SIZES:
            each = seconds[str(size)] / size
            note = f"{seconds[str(size)] * 1e3:.1f} ms in all, {table.num_rows:,} events"
            yield Figure(
                "program",
                f"{size} queries",
                clock,
                each * 1e3,
                "ms/query",
                f"of {SIZES[0]}",
                least * 1e3,
                least / each,
                TARGET,
                note,
            )


def _text(size: int) -> str:
    """Queries that are alike in what they cost, and no two the same."""
    return ";\n".join(
        f"PATTERN SEQ(E{1 + k % 5} a, E{1 + (k + 1) % 5} b, E{1 + (k + 2) % 5} c) WHERE [attr1] AND a.attr2 < b.attr2 "
        f"WITHIN {5_000 + k} milliseconds"
        for k in range(size)
    )


def _match(query: Query, table: pa.Table) -> int:
    found = query.match(table, engine="compiled")
    return sum(map(len, found.outputs.values()))


def _push(query: Query, table: pa.Table) -> int:
    session = query.session(engine="compiled", lateness=0)
    size = -(-table.num_rows // BATCHES)
    count = 0
    for at in range(0, table.num_rows, size):
        count += sum(map(len, session.push(table.slice(at, size)).outputs.values()))
    return count + sum(map(len, session.close().outputs.values()))
