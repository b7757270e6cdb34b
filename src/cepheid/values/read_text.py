"""Text as values, as Spark's CAST reads it: None for what it can't read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from cepheid.errors import BindError
from cepheid.pattern.expressions.types import time_zone
from cepheid.values.calendar import DAY, SECOND, day_number, from_zone, month_length

_SPACES = "".join(map(chr, range(33))) + "\x7f"  # what Spark cuts off at both ends
_JAVA_SPACES = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"([+-]?)(?=[0-9.])([0-9]*)(?:\.[0-9]*)?")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?")  # of any script, as Java reads it
_DOUBLE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_MOMENT = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?(.*))?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{1,2})(?::?([0-9]{2}))?)?")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_INFINITE = {"inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf}
_INFINITE |= {"-inf": -math.inf, "-infinity": -math.inf}


def read_integer(text: str, bits: int) -> int | None:
    """What is after the point is left out.

    >>> read_integer(" 12 ", 32), read_integer("-1.9", 8), read_integer("300", 8), read_integer("1e3", 64)
    (12, -1, None, None)
    """
    number = _INTEGER.fullmatch(text.strip(_SPACES))
    if number is None:
        return None
    digits = number[2].lstrip("0")
    value = int(number[1] + (digits if digits and len(digits) < 20 else "0" if not digits else "9" * 20))
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def read_double(text: str, as_single: Callable[[float, str], float] | None = None) -> float | None:
    """As Java reads it; also `inf`, `infinity` and `nan` in any case. `as_single` rounds the digits to 32 bits."""
    bare = text.strip(_JAVA_SPACES)
    if (number := _DOUBLE.fullmatch(bare)) is not None:
        value = float(number[1])
        return as_single(value, number[1]) if as_single is not None and _DECIMAL.fullmatch(number[1]) else value
    if (number := _HEXADECIMAL.fullmatch(bare)) is not None:
        try:
            value = float.fromhex(number[1])
        except OverflowError:
            value = -math.inf if bare.startswith("-") else math.inf
        return as_single(value, "0") if as_single is not None else value
    if bare in ("NaN", "+NaN", "-NaN"):
        return math.nan
    word = bare.lower()
    return math.nan if word == "nan" else _INFINITE.get(word)


def read_decimal(text: str) -> Decimal | None:
    """A number in digits, with an exponent or without one."""
    bare = text.strip(_JAVA_SPACES)
    return Decimal(bare) if _DECIMAL.fullmatch(bare) else None


def read_boolean(text: str) -> bool | None:
    """`t true y yes 1` and their opposites, in any case."""
    word = text.strip(_SPACES).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _day(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    years, months, days = int(sign + year), int(month or 1), int(day or 1)
    if not 1 <= months <= 12 or not 1 <= days <= month_length(years, months):
        return None
    return day_number(years, months, days)


def read_date(text: str) -> int | None:
    """`2024`, `2024-2`, `2024-2-29`, and a day with anything after a space or a T.

    >>> read_date("1970-1-2"), read_date("1970-01-02T12:00"), read_date("1970-13-01")
    (1, 1, None)
    """
    fields = _DATE.fullmatch(text.strip(_SPACES))
    return None if fields is None else _day(fields[1], fields[2], fields[3], fields[4])


def read_moment(text: str, zone: str | None) -> int | None:
    """A date and a time of day; a zone in the text decides, else it is `zone`. Without a zone, the text's is left out.

    >>> read_moment("1970-01-01 00:00:01.5", None), read_moment("1970-01-01T01:00+01:00", "UTC")
    (1500000000, 0)
    """
    fields = _MOMENT.fullmatch(text.strip(_SPACES))
    if fields is None:
        return None
    sign, year, month, number, *clock, fraction, place = fields.groups()
    day = _day(sign, year, month, number)
    hour, minute, second = (int(part or 0) for part in clock)
    if day is None or hour > 23 or minute > 59 or second > 59:
        return None
    local = day * DAY + (hour * 3600 + minute * 60 + second) * SECOND + int((fraction or "")[:6].ljust(6, "0")) * 1000
    name = (place or "").strip(_SPACES)
    if name:
        if clock[0] is None or clock[1] is None:
            return None
        named = _zone_of(name)
        if named is None:
            return None
        return local if zone is None else named(local)
    return from_zone(local, zone)


def _zone_of(name: str) -> Callable[[int], int] | None:
    """What makes a moment of a local time in a zone of the text."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return lambda local: local
    if (offset_written := _OFFSET.fullmatch(name)) is not None:
        hours, minutes, seconds = int(offset_written[2]), int(offset_written[3] or 0), int(offset_written[4] or 0)
        offset = (hours * 3600 + minutes * 60 + seconds) * SECOND
        if minutes > 59 or seconds > 59 or offset > 18 * 3600 * SECOND:
            return None
        return lambda local: local - offset if offset_written[1] == "+" else local + offset
    try:
        time_zone(name)
    except BindError:
        return None
    return lambda local: from_zone(local, name)
