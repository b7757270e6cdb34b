"""Timestamps as text, to the nanosecond: Python's datetime ends at microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINE = re.compile(r"(?<=\.\d{6})(\d{1,3})(?!\d)")


def nanoseconds_of(delta: timedelta) -> int:
    """A duration of Python, exactly; pandas' has nanoseconds too."""
    fine: int = getattr(delta, "nanoseconds", 0)
    return (delta.days * 86_400 + delta.seconds) * 10**9 + delta.microseconds * 1_000 + fine


def nanoseconds_since_epoch(moment: datetime) -> int:
    """A datetime, exactly; one without a zone is taken as it stands on the wall."""
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    fine: int = getattr(moment, "nanosecond", 0)
    return nanoseconds_of(datetime(*utc.timetuple()[:6], utc.microsecond, tzinfo=UTC) - EPOCH) + fine


def read_timestamp(text: str, zone: tzinfo | None = None) -> tuple[int, bool]:
    """Nanoseconds since 1970, and whether the text or `zone` says where; raises ValueError or OverflowError.

    >>> read_timestamp("1970-01-01 00:00:01.000000005+00:00")
    (1000000005, True)
    """
    fine = _FINE.search(text)
    moment = datetime.fromisoformat(_FINE.sub("", text))
    if moment.tzinfo is None and zone is not None:
        moment = moment.replace(tzinfo=zone)
    extra = int(fine[1].ljust(3, "0")) if fine else 0
    return nanoseconds_since_epoch(moment) + extra, moment.tzinfo is not None


def print_timestamp(nanoseconds: int, *, zoned: bool) -> str:
    """The text that `read_timestamp` reads back.

    >>> print_timestamp(1_000_000_005, zoned=True)
    '1970-01-01 00:00:01.000000005+00:00'
    """
    moment = (EPOCH + timedelta(microseconds=nanoseconds // 1000)).replace(tzinfo=None)
    text = str(moment)
    if nanoseconds % 1000:
        text = f"{moment:%Y-%m-%d %H:%M:%S.%f}{nanoseconds % 1000:03}"
    return text + ("+00:00" if zoned else "")
