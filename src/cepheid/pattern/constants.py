"""Constants take the type of what they meet: `id = '1'` on an integer column, `at < '2024-12-31'` on a timestamp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from cepheid.errors import BindError
from cepheid.pattern.expressions import Expression, Literal
from cepheid.pattern.parameters import literal
from cepheid.pattern.types import Kind, Type, time_zone, timestamp, zone_of


def read_as(constant: tuple[Expression, Type], wanted: Type) -> tuple[Expression, Type]:
    """A literal in the type of a column, if it can be read so exactly; else as it is."""
    node, type_ = constant
    assert isinstance(node, Literal)
    value = node.value
    try:
        if isinstance(value, str) and wanted.kind in _READERS:
            read = _READERS[wanted.kind](value, wanted)
            return replace(read, span=node.span), read.type
        if type_.kind is Kind.FLOAT and wanted.kind is Kind.DECIMAL:
            read = literal(Decimal(repr(value)))
            return replace(read, span=node.span), read.type
        if type_.kind is Kind.TIMESTAMP and wanted.kind is Kind.TIMESTAMP and not zone_of(type_) and zone_of(wanted):
            assert isinstance(value, int)
            naive = datetime.fromtimestamp(value // 10**9, tz=UTC).replace(tzinfo=None)
            moment = literal(_in_zone(naive, wanted)).value
            assert isinstance(moment, int)
            moved = moment + value % 10**9
            return replace(node, value=moved, type=timestamp("UTC")), timestamp("UTC")
    except (ValueError, InvalidOperation, OverflowError, BindError):
        pass
    return constant


def _in_zone(naive: datetime, wanted: Type) -> datetime:
    zone = zone_of(wanted)
    return naive.replace(tzinfo=time_zone(zone) if zone else None)


def _read_timestamp(text: str, wanted: Type) -> Literal:
    moment = datetime.fromisoformat(text)
    if zone_of(wanted) and moment.tzinfo is None:
        moment = _in_zone(moment, wanted)
    return literal(moment)


def _read_finite(text: str, _: Type) -> Literal:
    return literal(float(text))


_READERS: dict[Kind, Callable[[str, Type], Literal]] = {
    Kind.INT: lambda text, _: literal(int(text)),
    Kind.FLOAT: _read_finite,
    Kind.DECIMAL: lambda text, _: literal(Decimal(text)),
    Kind.DATE: lambda text, _: literal(date.fromisoformat(text)),
    Kind.TIMESTAMP: _read_timestamp,
}
