"""Values that a browser reads from JSON as they are."""

from __future__ import annotations

import math
from typing import Any

_WHOLE = 2**53
"""Up to here, every whole number is a number of a browser."""


def plain(value: object) -> Any:
    """A value that JSON has and a browser does not change; others as text.

    >>> plain({"id": 2**60, "x": [1.5, float("nan")]})
    {'id': '1152921504606846976', 'x': [1.5, 'nan']}
    """
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if -_WHOLE <= value <= _WHOLE else str(value)
    return str(value)
