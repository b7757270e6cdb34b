"""Parts of structs, lists and maps, which Arrow returns as Python values, as values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pyarrow as pa

from cepheid.errors import EvaluationError
from cepheid.pattern.expressions.timestamps import nanoseconds_of, nanoseconds_since_epoch
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.values.value import Value

_EPOCH = date(1970, 1, 1)


def to_value(type_: Type) -> Callable[[Value], Value]:
    """What makes a value of a part that is not NULL: in a struct, times are Python's own."""
    match type_.kind:
        case Kind.TIMESTAMP:
            return nanoseconds_since_epoch
        case Kind.DURATION:
            return nanoseconds_of
        case Kind.DATE:
            return lambda day: (day - _EPOCH).days
        case Kind.INT if pa.types.is_uint64(plain(type_)):
            return _signed
    return lambda value: value


def _signed(value: int) -> int:
    if value >= 2**63:
        remedy = "cast the field to decimal or string"
        raise EvaluationError("CEP506", f"{value} does not fit into a signed 64-bit integer", remedy)
    return value


def at(items: Value, index: int) -> Value:
    """An element of a list, counted from 0; NULL where there is none."""
    return items[index] if 0 <= index < len(items) else None


def of_key(pairs: Value, key: Value) -> Value:
    """The value of a key of a map; NULL where there is none, and the first where there are two."""
    return next((value for name, value in pairs if name == key), None)
