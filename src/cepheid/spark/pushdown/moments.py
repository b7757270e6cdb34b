"""Times in Spark, whatever the time zone of its session: as microseconds since 1970, and dates made of these.

Spark's own functions of a timestamp use the zone of the session. The engine uses that of the column, by the rules that
Python has for it, and Java may have newer or older ones. So only times in UTC, or without a zone, are computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.pattern.expressions.types import DATE, INT, Kind, Type, zone_of
from cepheid.spark.pushdown.computed import Computed, Doubt
from cepheid.spark.pushdown.predicate import NotPushable

DAY = 86_400_000_000
_LIMIT = 2**61
_DAYS = _LIMIT // DAY
_UTC = frozenset({None, "UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_CLOCK = {"hour": (DAY, 3_600_000_000), "minute": (3_600_000_000, 60_000_000), "second": (60_000_000, 1_000_000)}
_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000}
_UNITS_OF_DAY = {"MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": DAY}
_OF_DATES: Mapping[str, Callable[[Column], Column]] = {
    "year": F.year,
    "quarter": F.quarter,
    "month": F.month,
    "day": F.dayofmonth,
    "dayofmonth": F.dayofmonth,
    "dayofyear": F.dayofyear,
    "dayofweek": F.dayofweek,
    "weekday": F.weekday,
    "weekofyear": F.weekofyear,
    "yearofweek": lambda date: F.date_part(F.lit("YEAROFWEEK"), date),
    "dayofweek_iso": lambda date: F.weekday(date) + 1,
}


def require_utc(type_: Type) -> None:
    """Raise unless a time can be computed with."""
    zone = zone_of(type_)
    if zone not in _UTC:
        raise NotPushable(f"it needs the rules of the time zone {zone}, which Java and Python may have in two versions")


def micros(of: Computed) -> Computed:
    """A timestamp in microseconds since 1970; without a zone, as if it were in UTC."""
    text = f"micros({of.text})"
    if zone_of(of.type) is not None:
        return _within(Computed(text, INT, lambda: F.unix_micros(of.column()), of.doubts), _LIMIT)
    # Spark converts what has no zone for most functions, by that of the session; not for these.
    day = midnight(Computed(f"date({of.text})", DATE, lambda: of.column().cast("date"), of.doubts))
    return Computed(text, INT, lambda: day.column() + _time_of_day(of.column()), day.doubts)


def _time_of_day(wall: Column) -> Column:
    """The microseconds since midnight of a timestamp without a zone."""
    minutes = F.hour(wall) * F.lit(60) + F.minute(wall)
    seconds = F.date_part(F.lit("SECOND"), wall) * F.lit(1_000_000)
    return minutes * F.lit(60_000_000).cast("bigint") + seconds.cast("bigint")


def midnight(of: Computed) -> Computed:
    """A date in microseconds since 1970."""
    days = _within(Computed(f"days({of.text})", INT, lambda: F.unix_date(of.column()), of.doubts), _DAYS)
    return Computed(f"micros({of.text})", INT, lambda: days.column().cast("bigint") * F.lit(DAY), days.doubts)


def date(of: Computed, text: str) -> Computed:
    """The day of a time in microseconds."""
    return Computed(text, DATE, lambda: _day(of.column()), of.doubts)


def part(name: str, of: Computed, type_: Type, text: str) -> Computed:
    """A part of a date, or of a time in microseconds, by the name that `values.calendar` has for it."""
    if name == "seconds":
        fraction = Decimal("0.000001")
        return Computed(text, type_, lambda: _rest(of, 60_000_000).cast("decimal(8,0)") * F.lit(fraction), of.doubts)
    if name in _CLOCK:
        whole, unit = _CLOCK[name]
        return Computed(text, type_, lambda: _divided(_rest(of, whole), unit), of.doubts)
    of_date = _OF_DATES[name]
    if of.type.kind is Kind.DATE:
        return Computed(text, type_, lambda: of_date(of.column()), of.doubts)
    return Computed(text, type_, lambda: of_date(_day(of.column())), of.doubts)


def truncated(unit: str, of: Computed, type_: Type, text: str) -> Computed:
    """The microsecond at which the unit began that a time, of this type, is in."""
    if unit not in _UNITS:
        require_utc(type_)
    length = {**_UNITS, **_UNITS_OF_DAY}.get(unit)
    if length is not None:
        return Computed(text, INT, lambda: of.column() - _rest(of, length), of.doubts)
    first = Computed(text, DATE, lambda: F.trunc(_day(of.column()), unit), of.doubts)
    return Computed(text, INT, lambda: F.unix_date(first.column()).cast("bigint") * F.lit(DAY), of.doubts)


def first_day(unit: str, of: Computed, text: str) -> Computed:
    """The day on which the unit began that a date is in."""
    days = _within(Computed(f"days({of.text})", INT, lambda: F.unix_date(of.column()), of.doubts), _DAYS)
    return Computed(text, DATE, lambda: F.trunc(F.date_from_unix_date(days.column()), unit), days.doubts)


def _within(of: Computed, limit: int) -> Computed:
    """A number that stays far from the limits of its type, so that computing with it raises no error."""
    far = Doubt("a time before the year -70000 or after 70000", lambda: F.abs(column()) >= F.lit(limit))

    def column() -> Column:
        return F.least(F.greatest(of.column(), F.lit(-limit)), F.lit(limit))

    return Computed(of.text, of.type, column, (*of.doubts, far))


def _rest(of: Computed, length: int) -> Column:
    return F.pmod(of.column(), F.lit(length))


def _divided(number: Column, by: int) -> Column:
    return F.call_function("div", number, F.lit(by))


def _day(microseconds: Column) -> Column:
    whole = microseconds - F.pmod(microseconds, F.lit(DAY))
    return F.date_from_unix_date(_divided(whole, DAY).cast("int"))
