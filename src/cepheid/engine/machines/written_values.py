"""Values as the header of a snapshot can hold them, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import time
from decimal import Decimal
from typing import Any

from cepheid.values.value import Value

Written = Any
"""What JSON can carry."""


def written(value: Value) -> Written:
    """A value as a header can hold it, exactly."""
    match value:
        case float():
            return ["float", value.hex()]
        case Decimal():
            return ["decimal", str(value)]
        case bytes():
            return ["bytes", value.hex()]
        case time():
            return ["time", value.isoformat()]
        case list() | tuple():
            return ["list" if isinstance(value, list) else "tuple", list(map(written, value))]
        case dict():
            return ["struct", [[written(name), written(part)] for name, part in value.items()]]
    return value


def read(value: Written) -> Value:
    """A value that was written."""
    if not isinstance(value, list):
        return value
    kind, held = value
    return _READ[kind](held)


_READ: Mapping[str, Callable[[Written], Value]] = {
    "float": float.fromhex,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "time": time.fromisoformat,
    "list": lambda held: list(map(read, held)),
    "tuple": lambda held: tuple(map(read, held)),
    "struct": lambda held: {read(name): read(part) for name, part in held},
}
