"""Units of time, in nanoseconds."""

from __future__ import annotations

NANOSECONDS = {
    "nanoseconds": 1,
    "microseconds": 1_000,
    "milliseconds": 1_000_000,
    "seconds": 1_000_000_000,
    "minutes": 60_000_000_000,
    "hours": 3_600_000_000_000,
    "days": 86_400_000_000_000,
    "weeks": 604_800_000_000_000,
}

ARROW_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""What a tick of Arrow's timestamps and durations is."""

_SPELLINGS = {
    "nanoseconds": ("nanosecond", "ns"),
    "microseconds": ("microsecond", "us"),
    "milliseconds": ("millisecond", "millis", "ms"),
    "seconds": ("second", "secs", "sec", "s"),
    "minutes": ("minute", "mins", "min"),
    "hours": ("hour", "hrs", "hr", "h"),
    "days": ("day", "d"),
    "weeks": ("week", "w"),
}

UNITS = {spelling: unit for unit, others in _SPELLINGS.items() for spelling in (unit, *others)}


def units_of(nanoseconds: int) -> tuple[int, str]:
    """A duration as a whole number of the largest unit that it has."""
    for unit in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds"):
        count, rest = divmod(nanoseconds, NANOSECONDS[unit])
        if count and not rest:
            return count, unit
    return nanoseconds, "nanoseconds"


def spell(nanoseconds: int) -> str:
    """The shortest whole spelling of a duration.

    >>> spell(43_200_000_000_000), spell(90_000_000_000)
    ('12 hours', '90 seconds')
    """
    count, unit = units_of(nanoseconds)
    return f"{count} {unit[:-1] if count == 1 and unit != 'nanoseconds' else unit}"
