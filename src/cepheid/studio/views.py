"""What the page shows of a query and its matches, as JSON: rows, time line, automaton, funnel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from cepheid.api import Query
from cepheid.engine.matches.matches import Matches
from cepheid.pictures.svg import can_draw

ROWS = 50
"""How many matches the table shows."""
BANDS = 8
"""How many matches the time line shows."""


def matches_view(matches: Matches) -> dict[str, Any]:
    """How many matches there are, and the first ones."""
    return {"count": matches.count(), **rows_view(matches.head(ROWS).to_arrow())}


def rows_view(table: pa.Table) -> dict[str, Any]:
    """The columns and rows of a table."""
    return {"columns": table.column_names, "rows": [_plain(row) for row in table.to_pylist()]}


def timeline_view(matches: Matches) -> str:
    """The first matches on a time line, as SVG."""
    return matches.timeline(BANDS).svg


def explain_view(query: Query, events: pa.Table | None) -> dict[str, Any]:
    """A query in words, and its automaton as SVG where it can be drawn."""
    found = query.explain(events)
    return {"text": str(found), "svg": found.svg or None if can_draw() else None}


def diagnose_view(query: Query, events: pa.Table, check: Callable[[], None]) -> dict[str, Any]:
    """Where runs end, and the nearest misses. check: raises if nobody waits for it any longer."""
    found: dict[str, Any] = _plain(query.diagnose(events, check=check).to_dict())
    check()
    return found


def _plain(value: Any) -> Any:
    """Values that JSON has; others as text."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
