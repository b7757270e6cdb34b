"""Days, months and hours of a moment, in a time zone: by arithmetic, since Python's datetime ends with year 9999."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from cepheid.pattern.expressions.types import time_zone

SECOND = 10**9
DAY = 86_400 * SECOND
_CYCLE = 146_097  # days in 400 years, after which the calendar is the same again
_NAIVE = datetime(1970, 1, 1)
_LAST = (datetime(9999, 12, 30) - _NAIVE).days
_FIRST = (datetime(1, 1, 3) - _NAIVE).days


def civil(day: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970.

    >>> civil(-1), civil(19782)
    ((1969, 12, 31), (2024, 2, 29))
    """
    shifted = day + 719_468  # since 0000-03-01
    era, rest = divmod(shifted, _CYCLE)
    year = (rest - rest // 1_460 + rest // 36_524 - rest // 146_096) // 365
    in_year = rest - (365 * year + year // 4 - year // 100)
    month = (5 * in_year + 2) // 153
    day_of_month = in_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day_of_month


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970, the other way round."""
    year -= month <= 2
    era, rest = divmod(year, 400)
    in_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * _CYCLE + rest * 365 + rest // 4 - rest // 100 + in_year - 719_468


def month_length(year: int, month: int) -> int:
    """How many days a month has."""
    after = (year, month + 1) if month < 12 else (year + 1, 1)
    return day_number(*after, 1) - day_number(year, month, 1)


def in_zone(nanoseconds: int, zone: str | None) -> int:
    """A moment as the clock on the wall shows it, again in nanoseconds."""
    return nanoseconds if zone is None or zone == "UTC" else nanoseconds + _offset(nanoseconds // SECOND, zone)


@lru_cache(maxsize=65_536)
def _offset(second: int, zone: str) -> int:
    day, rest = divmod(second, 86_400)
    utc = _NAIVE + timedelta(days=_known(day), seconds=rest)
    offset = utc.replace(tzinfo=UTC).astimezone(time_zone(zone)).utcoffset()
    assert offset is not None
    return _nanoseconds(offset)


def _known(day: int) -> int:
    """A day of the years that Python knows, with the same rules: those after them repeat every 400 years."""
    if day > _LAST:
        return _LAST - (_CYCLE - 1) + (day - _LAST - 1) % _CYCLE
    return max(day, _FIRST)


def _nanoseconds(offset: timedelta) -> int:
    return (offset.days * 86_400 + offset.seconds) * SECOND + offset.microseconds * 1_000


def from_zone(local: int, zone: str | None, like: int | None = None) -> int:
    """The moment at which the clock on the wall shows a time.

    Where clocks are put back it shows the time twice: the first one is meant, or the one with the offset of `like`.
    Where they are put forward it never shows it: as Java, the time after that is as far into the day.
    """
    if zone is None or zone == "UTC":
        return local
    day, rest = divmod(local, DAY)
    wall = _NAIVE + timedelta(days=_known(day), microseconds=rest // 1000)
    offsets = [wall.replace(tzinfo=time_zone(zone), fold=fold).utcoffset() for fold in (0, 1)]
    distances = [_nanoseconds(offset) for offset in offsets if offset is not None]
    if like is not None and in_zone(like, zone) - like == distances[1] and in_zone(local - distances[1], zone) == local:
        return local - distances[1]
    return local - distances[0]


# Parts of a local time.


def _date(local: int) -> tuple[int, int, int]:
    return civil(local // DAY)


def _iso(local: int) -> tuple[int, int]:
    """The year and the number of the ISO week, which begins on a Monday and belongs to the year of its Thursday."""
    day = local // DAY
    thursday = day - (day + 3) % 7 + 3
    year = civil(thursday)[0]
    return year, (thursday - day_number(year, 1, 1)) // 7 + 1


def _weekday(local: int) -> int:
    return (local // DAY + 3) % 7  # 1970 began on a Thursday; Monday is 0


PARTS: Mapping[str, Callable[[int], int]] = {
    "year": lambda local: _date(local)[0],
    "quarter": lambda local: (_date(local)[1] + 2) // 3,
    "month": lambda local: _date(local)[1],
    "day": lambda local: _date(local)[2],
    "dayofmonth": lambda local: _date(local)[2],
    "dayofyear": lambda local: local // DAY - day_number(_date(local)[0], 1, 1) + 1,
    "dayofweek": lambda local: (_weekday(local) + 1) % 7 + 1,
    "weekday": _weekday,
    "weekofyear": lambda local: _iso(local)[1],
    "hour": lambda local: local // (3600 * SECOND) % 24,
    "minute": lambda local: local // (60 * SECOND) % 60,
    "second": lambda local: local // SECOND % 60,
}
"""The functions of a moment that Spark has."""


def _seconds(local: int) -> Decimal:
    return Decimal(local % (60 * SECOND) // 1000).scaleb(-6)


FIELDS: Mapping[str, Callable[[int], int | Decimal]] = {
    **PARTS,
    "yearofweek": lambda local: _iso(local)[0],
    "dayofweek_iso": lambda local: _weekday(local) + 1,
    "seconds": _seconds,  # `extract` returns them with their fraction
}
"""The fields of `extract` and `date_part`."""


# Truncation.

_FIXED = {"MICROSECOND": 1_000, "MILLISECOND": 10**6, "SECOND": SECOND}
_CLOCK = {"MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND, "DAY": DAY}


def truncate_day(unit: str, day: int) -> int:
    """The first day of the week, month, quarter or year."""
    if unit == "WEEK":
        return day - (day + 3) % 7
    year, month, _ = civil(day)
    return day_number(year, {"MONTH": month, "QUARTER": (month - 1) // 3 * 3 + 1, "YEAR": 1}[unit], 1)


def truncate(unit: str, nanoseconds: int, zone: str | None) -> int:
    """The moment at which the unit began that a moment is in."""
    if unit in _FIXED:
        return nanoseconds - nanoseconds % _FIXED[unit]
    local = in_zone(nanoseconds, zone)
    if unit in _CLOCK:
        return from_zone(local - local % _CLOCK[unit], zone, nanoseconds)
    return from_zone(truncate_day(unit, local // DAY) * DAY, zone)
