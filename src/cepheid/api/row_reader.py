"""Reads a few dicts as events of known columns, where each value is of the type that its column has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from cepheid.engine.encoding.few_events import FEW, FewEvents, RowForm
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.types import Type, plain
from cepheid.values.value import Value


class _OtherError(Exception):
    """A value of another type than its column has, or of another size."""


Take = Callable[[object], Value]
"""The value that a column holds for one that is given and is not None."""


class RowReader:
    """Reads rows of a session's columns. Whatever is out of the ordinary is left to `to_table`, which says what it is.

    What it reads is what `to_table` would read, converted to the types of the columns.
    """

    def __init__(self, schema: Schema) -> None:
        self._form = RowForm(schema)
        readers = [_take(column) for column in schema.columns.values()]
        takes = [take for take in readers if take is not None]
        kinds = [_kind(column) for column in schema.columns.values()]
        self._columns = list(zip(schema.columns, kinds, takes, strict=True)) if len(takes) == len(readers) else []

    def read(self, events: object) -> FewEvents | None:
        """The events, or None where they are not a list of a few dicts whose values all fit."""
        if type(events) is not list or not 0 < len(events) < FEW or not self._columns:
            return None
        try:
            rows = list(map(self._row, events))
        except _OtherError:
            return None
        return FewEvents(self._form, rows)

    def _row(self, event: object) -> tuple[Value, ...]:
        if type(event) is not dict:
            raise _OtherError
        row: list[Value] = []
        absent = 0
        for name, kind, take in self._columns:
            value = event.get(name)
            if value is None:
                row.append(None)
                absent += name not in event
                continue
            python_type = type(value)
            if python_type is kind and (kind is not str or value.isascii()):
                row.append(value)
            else:
                row.append(take(value))
        if len(event) + absent != len(row) or row[self._form.time] is None:  # a column too many, or no time
            raise _OtherError
        return tuple(row)


def _kind(column: Type) -> type | None:
    """The type whose values a column holds as they are (of text: those in ASCII), if there is one."""
    arrow = plain(column)
    if arrow == pa.float64():
        return float
    if arrow in (pa.string(), pa.large_string()):
        return str
    return bool if arrow == pa.bool_() else None


def _take(column: Type) -> Take | None:
    """What reads the values of a column; None for types of which dicts seldom have values."""
    arrow = plain(column)
    if isinstance(column.arrow, pa.DictionaryType):
        common = arrow == pa.string() and column.arrow.index_type.bit_width >= 32 and not column.arrow.ordered
        return _text if common else None
    if pa.types.is_signed_integer(arrow):
        return _whole(-(2 ** (arrow.bit_width - 1)), 2 ** (arrow.bit_width - 1) - 1)
    if arrow == pa.float64():
        return _float
    if arrow in (pa.string(), pa.large_string()):
        return _text
    if arrow == pa.bool_():
        return _truth
    if arrow == pa.timestamp("us"):
        return _time(datetime(1970, 1, 1))
    if arrow == pa.timestamp("us", tz="UTC"):
        return _time(datetime(1970, 1, 1, tzinfo=UTC))
    if arrow == pa.null():
        return _nothing
    return None


def _whole(least: int, most: int) -> Take:
    def take(value: object) -> int:
        if type(value) is int and least <= value <= most:
            return value
        raise _OtherError

    return take


def _float(value: object) -> float:
    if type(value) is float:
        return value
    if type(value) is int and -(2**53) <= value <= 2**53:
        return float(value)
    raise _OtherError


def _text(value: object) -> str:
    if type(value) is not str:
        raise _OtherError
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _OtherError from None
    return value


def _truth(value: object) -> bool:
    if type(value) is bool:
        return value
    raise _OtherError


_MICROSECOND = timedelta(microseconds=1)


def _time(epoch: datetime) -> Take:
    def take(value: object) -> int:
        if type(value) is datetime and value.tzinfo is epoch.tzinfo:
            return (value - epoch) // _MICROSECOND * 1000
        raise _OtherError

    return take


def _nothing(value: object) -> Value:
    raise _OtherError
