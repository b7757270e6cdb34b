"""Rows of text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Indented lines, the columns below each other; a column that is empty everywhere is left out."""
    if not rows:
        return []
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    kept = [(k, width) for k, width in enumerate(widths) if width]
    return ["  " + "  ".join(row[k].ljust(width) for k, width in kept).rstrip() for row in rows]
