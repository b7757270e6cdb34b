"""The types of values, and how Arrow's types map to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from cepheid.errors import BindError


class Kind(Enum):
    """What operations a value allows."""

    INT = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BOOL = "boolean"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    NULL = "NULL"
    ANY = "any"  # what a user function returns: checked when it runs
    OPAQUE = "nested"  # lists, structs, maps: handed to user functions and to the output, never computed with


@dataclass(frozen=True, slots=True)
class Type:
    """A kind and the Arrow type that carries it."""

    kind: Kind
    arrow: pa.DataType

    def __str__(self) -> str:
        return str(plain(self)) if self.kind is not Kind.ANY else "any"


INT = Type(Kind.INT, pa.int64())
FLOAT = Type(Kind.FLOAT, pa.float64())
STRING = Type(Kind.STRING, pa.string())
BOOL = Type(Kind.BOOL, pa.bool_())
DATE = Type(Kind.DATE, pa.date32())
DURATION = Type(Kind.DURATION, pa.duration("us"))
NULL = Type(Kind.NULL, pa.null())
ANY = Type(Kind.ANY, pa.null())

NUMERIC = frozenset({Kind.INT, Kind.FLOAT, Kind.DECIMAL})


def decimal(scale: int) -> Type:
    """A decimal of the greatest precision with a scale."""
    return Type(Kind.DECIMAL, pa.decimal128(38, scale))


def timestamp(zone: str | None, unit: str = "us") -> Type:
    """A computed timestamp. Values are nanoseconds; the unit is that of the output."""
    return Type(Kind.TIMESTAMP, pa.timestamp(unit, tz=zone))


def duration(unit: str = "us") -> Type:
    """A computed duration, likewise."""
    return Type(Kind.DURATION, pa.duration(unit))


def unit_for(nanoseconds: int) -> str:
    """Microseconds, unless a constant is finer."""
    return "ns" if nanoseconds % 1000 else "us"


def finest_unit(*types: Type) -> str:
    """Microseconds, which Python's datetime has too, unless an operand is finer."""
    return "ns" if any(getattr(plain(t), "unit", None) == "ns" for t in types) else "us"


def plain(type_: Type) -> pa.DataType:
    """The Arrow type of the values, also of a dictionary."""
    return type_.arrow.value_type if isinstance(type_.arrow, pa.DictionaryType) else type_.arrow


def is_unknown(type_: Type) -> bool:
    """Whether it is opaque without being nested: a time of day, an extension type.

    >>> is_unknown(from_arrow(pa.time64("us"))), is_unknown(from_arrow(pa.list_(pa.int64())))
    (True, False)
    """
    return type_.kind is Kind.OPAQUE and not pa.types.is_nested(plain(type_))


def from_arrow(arrow: pa.DataType) -> Type:
    """The type of a column.

    >>> from_arrow(pa.int32()).kind, from_arrow(pa.dictionary(pa.int8(), pa.string())).kind
    (<Kind.INT: 'integer'>, <Kind.STRING: 'string'>)
    """
    if isinstance(arrow, pa.DictionaryType):
        return Type(from_arrow(arrow.value_type).kind, arrow)
    for kind, test in _TESTS:
        if test(arrow):
            return Type(kind, arrow)
    return Type(Kind.OPAQUE, arrow)


_TESTS = (
    (Kind.BOOL, pa.types.is_boolean),
    (Kind.INT, pa.types.is_integer),
    (Kind.FLOAT, pa.types.is_floating),
    (Kind.DECIMAL, pa.types.is_decimal),
    (Kind.STRING, lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t)),
    (Kind.BINARY, lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t)),
    (Kind.DATE, pa.types.is_date),
    (Kind.TIMESTAMP, pa.types.is_timestamp),
    (Kind.DURATION, pa.types.is_duration),
    (Kind.NULL, pa.types.is_null),
)


def is_untyped(arrow: pa.DataType) -> bool:
    """Whether a column had no value that would show its type, or a list or a struct in it had none."""
    return pa.types.is_null(arrow) or any(is_untyped(arrow.field(k).type) for k in range(arrow.num_fields))


def scale_of(type_: Type) -> int:
    """The digits after the point of a decimal; zero for integers."""
    arrow = plain(type_)
    return arrow.scale if pa.types.is_decimal(arrow) else 0


def time_zone(name: str) -> tzinfo:
    """A zone as Arrow names it: `Europe/Paris`, `+02:00`.

    >>> str(time_zone("+02:00"))
    'UTC+02:00'
    """
    try:
        return ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError):
        pass
    try:
        offset = datetime.strptime(name, "%z").tzinfo
        assert offset is not None
        return offset
    except ValueError:
        remedy = "convert the column to a time zone that this machine knows, such as UTC"
        raise BindError("CEP311", f"unknown time zone '{name}'", remedy) from None


def zone_of(type_: Type) -> str | None:
    """The time zone of a timestamp, if it has one."""
    arrow = plain(type_)
    return arrow.tz if pa.types.is_timestamp(arrow) else None
