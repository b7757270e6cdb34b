"""INTERVAL as in Spark SQL, where its length is fixed: INTERVAL '5' MINUTE, INTERVAL 1 HOUR 30 MINUTES."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from cepheid.errors import did_you_mean
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS

_PART = re.compile(r"([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*")
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_DIGITS = "", r"(\d{1,2})", r"(\d{1,2})", r"(\d{1,2}(?:\.\d{1,9})?)"
_BEFORE = {1: " ", 2: ":", 3: ":"}


def total(parts: Iterable[tuple[str, str]]) -> Decimal:
    """The nanoseconds of some amounts with their units; raises ValueError with what to write."""
    return sum((Decimal(amount) * NANOSECONDS[_unit(unit)] for amount, unit in parts), Decimal(0))


def read_interval(text: str, first: str | None = None, last: str | None = None) -> Decimal:
    """The nanoseconds of `INTERVAL 'text' first TO last`.

    >>> read_interval("5", "MINUTE"), read_interval("1 02:03:04", "DAY", "SECOND"), read_interval("1 hour 30 min")
    (Decimal('300000000000'), Decimal('93784000000000'), Decimal('5400000000000'))
    """
    bare = re.sub(r"\s+", " ", text.strip())
    if last is not None:
        return _read_range(bare, str(first).upper(), last.upper())
    if first is not None:
        number = re.fullmatch(r"([+-]?)\s?(\d+(?:\.\d*)?|\.\d+)", bare)
        if number is None:
            raise ValueError(f"write a number in the quotes: INTERVAL '5' {first.upper()}")
        return total([(number[1] + number[2], first)])
    parts = re.sub(r"^interval ", "", bare, flags=re.IGNORECASE)
    if not re.fullmatch(f"(?:{_PART.pattern})+", parts):
        raise ValueError("write amounts and units: INTERVAL '5' MINUTE, INTERVAL '1 hour 30 minutes'")
    return total((sign + amount, unit) for sign, amount, unit in _PART.findall(parts))


def _unit(word: str) -> str:
    unit = UNITS.get(word.lower())
    if unit is None:
        if word.lower().startswith(("month", "year")):
            raise ValueError("months and years have no fixed length; write days")
        raise ValueError(did_you_mean(word.lower(), NANOSECONDS, "units"))
    return unit


def _read_range(text: str, first: str, last: str) -> Decimal:
    if first not in _FIELDS or last not in _FIELDS or _FIELDS.index(first) >= _FIELDS.index(last):
        raise ValueError("write DAY TO SECOND, DAY TO HOUR, HOUR TO MINUTE, …; months and years have no fixed length")
    begin, end = _FIELDS.index(first), _FIELDS.index(last)
    later = [_BEFORE[k] + _DIGITS[k] for k in range(begin + 1, end + 1)]
    fields = re.fullmatch(r"([+-]?)(\d+)" + "".join(later), text)
    if fields is None:
        raise ValueError(f"write the text as {_example(begin, end)}")
    length = total(zip(fields.groups()[1:], _FIELDS[begin : end + 1], strict=True))
    return -length if fields[1] == "-" else length


def _example(begin: int, end: int) -> str:
    return "'1" + "".join(f"{_BEFORE[k]}02" for k in range(begin + 1, end + 1)) + "'"
