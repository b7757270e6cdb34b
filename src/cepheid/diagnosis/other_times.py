"""Times that may have been meant: those of another column, or those of one type in another time zone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.pattern.expressions.durations import NANOSECONDS

_HALF_HOUR = NANOSECONDS["hours"] // 2
_FURTHEST = 28  # half hours: no two time zones are further apart
_NEAR = 0.1  # of the length of the stream: what is further from the times is no time of these events
_MOSTLY = 0.8  # of the events have one of the other type at such a distance


def other_times(columns: QueryColumns) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Other times for all events, each with what is changed, in words."""
    if columns.query.schema.start is None:
        yield from _columns(columns)
        yield from _zones(columns)


def _columns(columns: QueryColumns) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Another column of the same type, without NULL, whose values are usually near the times."""
    table, name = columns.table, columns.query.schema.roles.time
    time = table.column(name)
    times = _numbers(time)
    near_by = (int(times.max()) - int(times.min())) * _NEAR
    for other in table.column_names:
        column = table.column(other)
        if other == name or column.type != time.type or column.null_count:
            continue
        if np.median(np.abs(_numbers(column) - times)) <= near_by:
            yield f"time='{other}' in place of '{name}'", column


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    wide = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    return np.asarray(wide.cast(pa.int64()).to_numpy())


def _zones(columns: QueryColumns) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """A type whose events are some half hours before or after those of the next component of their key."""
    query, within = columns.query, columns.query.within
    if within is None or within.nanoseconds is None or query.schema.roles.type is None or not columns.keys:
        return
    window, tick = within.nanoseconds, query.schema.tick
    for types, next_types in dict.fromkeys(pairwise(tuple(component.types) for component in query.positive)):
        if not types or not next_types or set(types) & set(next_types):
            continue
        apart = _nearest(columns, columns.of_types(types), columns.of_types(next_types)) * tick
        if not len(apart):
            continue
        # The second is less than a window after the first one, once the zones are the same.
        steps = np.round((apart - window // 2) / _HALF_HOUR)
        half_hours = int(np.median(steps))
        right = (apart - half_hours * _HALF_HOUR > 0) & (apart - half_hours * _HALF_HOUR < window)
        if 2 * window <= abs(half_hours) * _HALF_HOUR <= _FURTHEST * _HALF_HOUR and right.mean() >= _MOSTLY:
            shift = half_hours * _HALF_HOUR // tick
            times = np.asarray(columns.times) + np.where(columns.of_types(types), shift, 0)
            moved = from_numpy(times).cast(pa.int64()).cast(columns.table.column(query.schema.roles.time).type)
            said = f"{near(abs(half_hours) * _HALF_HOUR)} {'earlier' if half_hours < 0 else 'later'}"
            yield f"{'|'.join(types)} {said}, as of another time zone", pa.chunked_array([moved])


def _nearest(columns: QueryColumns, ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How far each of some events is from the nearest one of others in its partition: the time of that less its own."""
    partitions, times = np.asarray(columns.partitions), np.asarray(columns.times)
    least, length = int(times.min()), int(times.max()) - int(times.min()) + 1
    if int(partitions.max(initial=0)) + 1 > 2**62 // (4 * length):
        return np.zeros(0, np.int64)
    places = partitions * (4 * length) + (times - least)  # the partitions one after the other, far apart
    mine, theirs = places[ones], np.sort(places[others])
    if not len(theirs) or not len(mine):
        return np.zeros(0, np.int64)
    after = np.searchsorted(theirs, mine)
    below = theirs[np.maximum(after - 1, 0)] - mine
    above = theirs[np.minimum(after, len(theirs) - 1)] - mine
    distances = np.where(np.abs(above) < np.abs(below), above, below)
    return np.asarray(distances[np.abs(distances) <= length])
