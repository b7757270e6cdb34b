"""Where an axis has its ticks, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import floor, log10
from zoneinfo import ZoneInfo

from cepheid.pictures.timeline import Scale

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_STEPS = [
    *(digit * 10**power for power in range(9) for digit in (1, 2, 5)),
    *(count * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * 60 * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * 3600 * _SECOND for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 14)),
]
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 12000)
_MONTH = 30 * _DAY
_LONGEST = 11  # characters of a number below a tick
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis and its text."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Its ticks, and what they leave out because it is the same for all: the day, or the year."""

    ticks: tuple[Tick, ...]
    title: str = ""


def axis(start: int, end: int, scale: Scale, most: int = 8) -> Axis:
    """An axis with a few ticks at round numbers or times.

    >>> [tick.text for tick in axis(1, 5, Scale()).ticks]
    ['1', '2', '3', '4', '5']
    >>> found = axis(1_704_103_200, 1_704_106_800, Scale(1_000_000_000))
    >>> found.ticks[0].text, found.ticks[-1].text, found.title
    ('10:00', '11:00', '2024-01-01')
    """
    span = max(end - start, 1)
    zone = _zone(scale)
    if scale.tick is None or zone is None or not _in_range(start, end, scale.tick):
        return _of_numbers(list(_round(start, end, most)))
    least = span * scale.tick / most
    if least > _STEPS[-1]:
        months = next((months for months in _MONTHS if months * _MONTH >= least), _MONTHS[-1])
        return Axis(tuple(_by_month(start, end, scale.tick, zone, months)), scale.zone or "")
    shift = _offset(start * scale.tick, zone)
    step = max(next(step for step in _STEPS if step >= least), scale.tick)
    first = -(-(start * scale.tick + shift) // step) * step
    places = [time - shift for time in range(first, end * scale.tick + shift + 1, step)][: 2 * most]
    ticks = tuple(Tick(place // scale.tick, _text(place, step, zone)) for place in places)
    days = [_day(time * scale.tick, zone) for time in (start, end)]
    years = " to ".join(dict.fromkeys(day[:4] for day in days))
    same = years if step >= _DAY or days[0] != days[1] else days[0]
    return Axis(ticks, " ".join(filter(None, [same, scale.zone or ""])))


def _by_month(start: int, end: int, tick: int, zone: tzinfo, months: int) -> Iterator[Tick]:
    """The first days of months or years."""
    first, last = _moment(start * tick, zone), _moment(end * tick, zone)
    for month in range(-(-(first.year * 12) // months) * months, last.year * 12 + last.month, months):
        moment = datetime(max(month // 12, 1), month % 12 + 1, 1, tzinfo=zone)
        at = (moment - _EPOCH) // timedelta(microseconds=1) * 1000 // tick
        if start <= at <= end:
            yield Tick(at, f"{moment.year:04}" if months >= 12 else f"{moment.year:04}-{moment.month:02}")


def _round(start: int, end: int, most: int) -> Iterator[int]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    least = max((end - start) / most, 1)
    power = 10 ** floor(log10(least))
    step = next(int(digit * power) for digit in (1, 2, 5, 10) if digit * power >= least)
    yield from range(-(-start // step) * step, end + 1, step)


def _of_numbers(places: list[int]) -> Axis:
    """Numbers as they are; long ones, such as milliseconds since 1970, as what they are more than the first."""
    texts = [f"{at:,}" for at in places]
    if max(map(len, texts), default=0) <= _LONGEST:
        return Axis(tuple(map(Tick, places, texts)))
    return Axis(tuple(Tick(at, f"+{at - places[0]:,}") for at in places), texts[0])


def _zone(scale: Scale) -> tzinfo | None:
    """The zone of the scale; None where the machine knows no such zone, so that numbers are shown."""
    if scale.zone is None:
        return UTC
    try:
        if scale.zone[:1] in "+-":
            hours, _, minutes = scale.zone[1:].partition(":")
            sign = -1 if scale.zone[0] == "-" else 1
            return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes or 0)))
        return ZoneInfo(scale.zone)
    except (ValueError, KeyError, OSError):
        return None


def _in_range(start: int, end: int, tick: int) -> bool:
    """Whether Python has a value for the times, a day of margin included."""
    last = datetime(9999, 12, 1, tzinfo=UTC)
    first = datetime(1, 2, 1, tzinfo=UTC)
    low, high = ((edge - _EPOCH).days * _DAY for edge in (first, last))
    return low <= start * tick and end * tick <= high


def _moment(nanoseconds: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).astimezone(zone)


def _offset(nanoseconds: int, zone: tzinfo) -> int:
    offset = _moment(nanoseconds, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * _SECOND


def _day(nanoseconds: int, zone: tzinfo) -> str:
    return _moment(nanoseconds, zone).date().isoformat()


def _text(nanoseconds: int, step: int, zone: tzinfo) -> str:
    """As much of a time as the step between ticks asks for."""
    moment = _moment(nanoseconds, zone)
    if step >= _DAY:
        return moment.strftime("%m-%d")
    if step >= 60 * _SECOND:
        midnight = moment.hour == moment.minute == 0
        return moment.strftime("%m-%d" if midnight else "%H:%M")
    if step >= _SECOND:
        return moment.strftime("%H:%M:%S")
    digits = 3 if step >= 10**6 else 6 if step >= 1000 else 9
    return f"{moment:%S}.{nanoseconds % _SECOND:09d}"[: 3 + digits]
