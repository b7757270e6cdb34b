"""W4: SASE Query 1."""

from __future__ import annotations

from collections.abc import Iterator

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options
from bench.rows.side_by_side import side_by_side


def shoplifting(options: Options) -> Iterator[Figure]:
    """W4: negation by key, against C++."""
    table = stream("rfid", scale=options.scale)
    loop = native.w4(table, queries.W4_WINDOW)
    return side_by_side("shoplifting", "rfid", queries.W4, table, loop, options)
