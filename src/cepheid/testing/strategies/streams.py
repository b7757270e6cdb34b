"""Streams with ties, NULLs, equal rows and disorder; also empty ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.testing.strategies.schemas import KEY, TIME, TYPE
from cepheid.testing.strategies.sorts import Sort, sort_of
from cepheid.testing.strategies.values import DAY, MOMENT, values

EVENT_TYPES = ("A", "B", "C")
LONGEST = 12
"""Times are within this many ticks, so that shorter windows matter."""


def moment(arrow: pa.DataType, ticks: int) -> object:
    """A value of a time column, the given number of ticks after the first possible one."""
    match sort_of(arrow):
        case Sort.INT:
            return ticks
        case Sort.DATE:
            return DAY + timedelta(days=ticks)
        case Sort.LOCAL:
            return MOMENT + timedelta(milliseconds=ticks)
        case Sort.ZONED:
            return (MOMENT + timedelta(milliseconds=ticks)).replace(tzinfo=UTC)
    raise TypeError(f"{arrow} can't be the type of a time column")


def kinds(event_types: Sequence[str]) -> st.SearchStrategy[str]:
    """Event types; the first come more often, so that they meet."""
    half = event_types[: (len(event_types) + 1) // 2]
    return st.sampled_from((*half, *event_types))


@st.composite
def rows(draw: st.DrawFn, schema: pa.Schema, event_types: Sequence[str] = EVENT_TYPES) -> dict[str, object]:
    """An event as a dict. Attributes are NULL now and then, and so is the type, rarely."""
    row: dict[str, object] = {}
    for field in schema:
        if field.name == TIME:
            row[TIME] = moment(field.type, draw(st.integers(0, LONGEST)))
        elif field.name == TYPE:
            row[TYPE] = draw(kinds(event_types)) if draw(st.integers(0, 30)) < 30 else None
        elif field.name == KEY:
            row[KEY] = draw(st.sampled_from((0, 0, 1, 1, None)))
        else:
            row[field.name] = draw(values(field.type)) if draw(st.integers(0, 6)) < 6 else None
    return row


@st.composite
def streams(
    draw: st.DrawFn,
    schema: pa.Schema,
    *,
    event_types: Sequence[str] = EVENT_TYPES,
    min_size: int = 0,
    max_size: int = 8,
) -> pa.Table:
    """Tables of events in no order: with ties, equal rows and NULLs, or empty."""
    events: list[dict[str, object]] = []
    # Left to itself Hypothesis prefers streams that are too short for a match.
    for _ in range(draw(st.integers(min_size, max_size) | st.integers((min_size + max_size) // 2, max_size))):
        again = draw(st.integers(0, 7)) if events else 0
        if again == 7:
            events.append(draw(st.sampled_from(events)))
        elif again == 6:  # the same event at another time
            events.append({**draw(st.sampled_from(events)), TIME: draw(rows(schema, event_types))[TIME]})
        else:
            events.append(draw(rows(schema, event_types)))
    return pa.Table.from_pylist(events, schema=schema)
