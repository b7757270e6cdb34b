"""Columns as keys: whether the events of a match come together under one, and which other one would do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.errors import nearest
from cepheid.pattern.expressions.types import Kind

_VALUES = 6  # columns that are shown
_KEYS = (Kind.INT, Kind.STRING)
_SHARED = 0.5  # of the events must have a value that the others have too
_REPEATED = 2  # events of a value, on average, at the least


def together(columns: QueryColumns, name: str, needed: Sequence[Sequence[str]]) -> int:
    """How many values of a column occur in events of all types that a match needs, two events at the least."""
    return int(_shared(columns, name, needed).sum())


def _shared(columns: QueryColumns, name: str, needed: Sequence[Sequence[str]]) -> np.ndarray:
    codes = columns.codes(name)
    most = int(codes.max(initial=0)) + 1
    shared: np.ndarray = np.bincount(codes, minlength=most) > 1
    shared[0] = False  # NULL agrees with nothing
    for types in dict.fromkeys(map(tuple, needed)):
        shared &= np.bincount(codes[columns.of_types(types)], minlength=most) > 0
    return shared


def other_keys(columns: QueryColumns, names: Sequence[str], needed: Sequence[Sequence[str]]) -> list[str]:
    """Columns that would do as a key, the likeliest first: those that most events share, then by their values."""
    roles = columns.query.schema.roles
    kinds = columns.query.schema.columns
    candidates = []
    for other in columns.table.column_names:
        if other in (*names, roles.time, roles.type, columns.query.schema.start):
            continue
        if other not in kinds or kinds[other].kind not in _KEYS:
            continue
        shared = _shared(columns, other, needed)
        values = int(shared.sum())
        events = int(np.bincount(columns.codes(other))[shared].sum())
        if values:
            good = events >= _SHARED * columns.table.num_rows and events >= _REPEATED * values
            share = round(20 * events / columns.table.num_rows)  # in steps: a key is in nearly all events
            candidates.append((not good, -share, -values, other))
    return [other for *_, other in sorted(candidates, key=lambda candidate: candidate[:3])]


def another_key(columns: QueryColumns, name: str, needed: Sequence[Sequence[str]]) -> str:
    """Columns that would do, as a remedy: the one of a like name, or all of them."""
    shared = other_keys(columns, [name], needed)
    close = shared[0] if len(shared) == 1 else nearest(name, shared)
    if close is not None:
        return f"did you mean '{close}'?"
    shown = ", ".join(f"'{other}'" for other in shared[:_VALUES])
    return f"columns that they share: {shown}" if shared else "use a column that they share"
