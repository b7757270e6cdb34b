"""Outcomes of cases, expected and actual, as lines that can be compared and written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal

from cepheid.errors import CepheidError

_ERROR = re.compile(r"(CEP\d+) +(\d+:\d+|-) +(\S.*)")
_BINDING = r"[^\s=]+=(?:\d+|-|\[ *(?:\d+(?: +\d+)*)? *\])"
_BINDINGS = re.compile(rf"{_BINDING}(?: +{_BINDING})*")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The matches of a query in their order, or the one line of its error."""

    lines: tuple[str, ...] = ()
    error: bool = False
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def section(self) -> str:
        """The section of a case file for this outcome."""
        return "error" if self.error else "matches"


def error_line(error: CepheidError) -> str:
    """An error as one line: its code, place and message.

    >>> error_line(CepheidError("CEP301", "unknown column 'tag'", "did you mean 'tag_id'?"))
    "CEP301 - unknown column 'tag'"
    """
    place = f"{error.line}:{error.column}" if error.span else "-"
    return f"{error.code} {place} {' '.join(error.message.split())}"


def normalise(line: str, section: str) -> str:
    """A line of a case file in the spelling of the runner; ValueError if it can't be read.

    >>> normalise('{"n":2,   "p": 1.50}', "matches")
    '{"n": 2, "p": 1.5}'
    >>> normalise("a=1   b=[ 2  4 ]", "matches")
    'a=1 b=[2 4]'
    """
    line = line.strip()
    if section == "error":
        if error_line := _ERROR.fullmatch(line):
            return " ".join(error_line.groups())
        raise ValueError("write an error as CEP203 1:24 the message, with - for the place if there is none")
    if line.startswith("{"):
        try:
            return to_json(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"the match is not JSON: {error}") from None
    if _BINDINGS.fullmatch(line):
        return re.sub(r" +", " ", line).replace("[ ", "[").replace(" ]", "]")
    raise ValueError("write a match as a=1 b=[2 4] c=-, or as JSON if the query has RETURN")


def to_json(value: object) -> str:
    """A value in JSON: NaN as a string, times and durations in ISO form, decimals as strings.

    >>> to_json({"p": Decimal("1.50"), "x": math.nan, "day": date(2024, 2, 29), "for": timedelta(minutes=2)})
    '{"p": "1.50", "x": "NaN", "day": "2024-02-29", "for": "PT120S"}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case date() | time():
            return value.isoformat()
        case timedelta():
            return _duration(value)
        case Decimal():
            return str(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)


def _duration(value: timedelta) -> str:
    """Seconds in ISO form. pandas, where it is installed, adds nanoseconds to a timedelta."""
    whole = (value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000
    total = whole + int(getattr(value, "nanoseconds", 0))
    seconds, fraction = divmod(abs(total), 10**9)
    shown = f"{seconds}.{fraction:09}".rstrip("0").rstrip(".")
    return f"{'-' if total < 0 else ''}PT{shown}S"
