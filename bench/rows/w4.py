"""W4: SASE Query 1."""

from __future__ import annotations

from collections.abc import Iterator

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options
from bench.rows.side_by_side import side_by_side


def w4(options: Options) -> Iterator[Figure]:
    """Negation by key, against C++."""
    table = stream("rfid", scale=options.scale)
    loop = native.w4(table, queries.W4_WINDOW)
    return side_by_side("W4", "rfid", queries.W4, table, loop, options)
