"""Values as keys: what they are sorted by, and what they are grouped by."""

from __future__ import annotations

import math

from cepheid.values.value import Value


def sort_key(value: Value) -> tuple[Value, ...]:
    """A total order over the values of one column: NULL first, NaN last (S1)."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value, math.copysign(1, value))  # -0.0 and 0.0 are two contents
    if isinstance(value, dict):
        return (1, tuple(map(sort_key, value.values())))
    if isinstance(value, list | tuple):
        return (1, tuple(map(sort_key, value)))
    return (1, value)


def group_key(value: Value) -> Value:
    """A hashable stand-in that is equal where PARTITION BY groups: NULLs together, NaNs together."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN", None
    return value
