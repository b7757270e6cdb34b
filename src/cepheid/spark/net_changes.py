"""Changes of matches that followed each other, as one: a match that was emitted and retracted has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from cepheid.engine.matches.changes import OP, REMOVED
from cepheid.pattern.binding.schema import MATCH_ID


def net_changes(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield what is left of changes: at most one of each match, and retractions come first."""
    parts = list(tables)
    if not parts:
        return
    changes = pa.concat_tables(parts)
    last: dict[str, int] = {}  # the place of the last change of each match
    signs: dict[str, int] = {}
    ops = changes.column(OP).to_pylist()
    for k, name in enumerate(changes.column(MATCH_ID).to_pylist()):
        last[name] = k
        signs[name] = signs.get(name, 0) + (-1 if ops[k] == REMOVED else 1)
    left = [k for name, k in last.items() if signs[name]]
    if left:
        yield changes.take(pa.array(sorted(left, key=lambda k: (ops[k] != REMOVED, k)), pa.int64()))
