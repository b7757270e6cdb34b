"""Constants take the type of their column: `id = '1'` on integers, `at < '2024-12-31'` on times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation

from cepheid.errors import BindError
from cepheid.pattern.expressions.nodes import Expression, Literal
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.sampled import reread
from cepheid.pattern.expressions.timestamps import print_timestamp, read_timestamp
from cepheid.pattern.expressions.types import Kind, Type, time_zone, timestamp, unit_for, zone_of

_DECIMAL_LIMIT = 1e18  # a larger constant is a double: it may not fit beside a decimal's scale


def read_as(constant: tuple[Expression, Type], wanted: Type) -> tuple[Expression, Type]:
    """A literal converted to the type of a column, if that is exact; else unchanged."""
    node, type_ = constant
    assert isinstance(node, Literal)
    value = node.value
    try:
        if isinstance(value, str) and wanted.kind in _READERS:
            read = _READERS[wanted.kind](value, wanted)
            return _read(node, read, wanted), read.type
        if type_.kind is Kind.FLOAT and wanted.kind is Kind.DECIMAL and abs(float(str(value))) < _DECIMAL_LIMIT:
            read = literal(Decimal(repr(value)))
            return _read(node, read, wanted), read.type
        if type_.kind is Kind.TIMESTAMP and wanted.kind is Kind.TIMESTAMP and zone_of(type_) is None:
            assert isinstance(value, int)
            read = _read_timestamp(print_timestamp(value, zoned=False), wanted)
            return _read(node, read, wanted), read.type
    except (ValueError, InvalidOperation, OverflowError, BindError):
        pass
    return constant


def _read(node: Literal, read: Literal, wanted: Type) -> Literal:
    if (read.value, read.type) == (node.value, node.type):
        return node

    def reading(other: Literal) -> Literal | None:
        constant, _ = read_as((other, other.type), wanted)
        return constant if isinstance(constant, Literal) else None

    return reread(node, read, str(wanted), reading)


def _read_timestamp(text: str, wanted: Type) -> Literal:
    """A timestamp without a zone is read in the zone of the column."""
    zone = zone_of(wanted)
    nanoseconds, zoned = read_timestamp(text, time_zone(zone) if zone else None)
    return Literal(nanoseconds, timestamp("UTC" if zoned else None, unit_for(nanoseconds)))


def _read_finite(text: str, _: Type) -> Literal:
    return literal(float(text))


_READERS: dict[Kind, Callable[[str, Type], Literal]] = {
    Kind.INT: lambda text, _: literal(int(text)),
    Kind.FLOAT: _read_finite,
    Kind.DECIMAL: lambda text, _: literal(Decimal(text)),
    Kind.DATE: lambda text, _: literal(date.fromisoformat(text)),
    Kind.TIMESTAMP: _read_timestamp,
}
