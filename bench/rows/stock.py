"""W1: the stock template of SASE+ section 6."""

from __future__ import annotations

from collections.abc import Iterator

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options
from bench.rows.side_by_side import side_by_side

WINDOW = 500


def stock(options: Options) -> Iterator[Figure]:
    """W1: Kleene closure under skip-till-next-match and partition contiguity, against C++."""
    table = stream("stock", scale=options.scale)
    for strategy in queries.STRATEGIES:
        for predicate in queries.PREDICATES:
            loop = native.w1(table, predicate, strategy, WINDOW)
            text = queries.w1(predicate, strategy, WINDOW)
            yield from side_by_side("stock", f"{predicate} {strategy}", text, table, loop, options)
