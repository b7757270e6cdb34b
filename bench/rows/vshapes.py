"""W5: V-shapes of AFA (VLDB'10)."""

from __future__ import annotations

from collections.abc import Iterator

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options
from bench.rows.side_by_side import side_by_side


def vshapes(options: Options) -> Iterator[Figure]:
    """W5: contiguous Kleene closures with registers, against C++."""
    table = stream("ticks", scale=options.scale)
    balanced, prices = native.w5_balanced(table, queries.W5_WINDOW), native.w5_prices(table, queries.W5_WINDOW)
    yield from side_by_side("vshapes", "balanced", queries.W5_BALANCED, table, balanced, options)
    yield from side_by_side("vshapes", "prices", queries.W5_PRICES, table, prices, options)
