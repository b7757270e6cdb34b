"""Watermarks, and events that come after them."""

import datetime as dt
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from cepheid import InputError, Matches, Query, UsageError

PAIR = "PATTERN SEQ(A a, B b)"
DAY = dt.datetime(2026, 3, 2)


def event(time: Any, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": time, "type": kind, **attributes}


def ends(matches: Matches) -> list[Any]:
    """The times at which the matches start and end."""
    return [(m["match_start"], m["match_end"]) for m in matches.to_pylist()]


# Late events


def late_session(late: str) -> Any:
    session = Query(PAIR).session(late=late)
    session.push([event(5, "A")])
    session.advance(10)
    return session


def test_late_events_are_an_error() -> None:
    session = late_session("error")
    with pytest.raises(InputError, match=r"CEP408: 1 of 2 events are before the watermark.*\(9\)"):
        session.push([event(12, "B"), event(9, "B")])
    session.push([event(10, "B")])  # the watermark itself is not late
    assert ends(session.close()) == [(5, 10)]  # and nothing of the other batch was taken


def test_an_error_is_the_default() -> None:
    session = Query(PAIR).session(lateness=0)
    session.push([event(10, "A")])
    with pytest.raises(InputError):
        session.push([event(9, "A")])


def test_late_events_are_dropped_and_counted() -> None:
    session = late_session("drop")
    session.push([event(12, "B"), event(9, "B"), event(1, "B")])
    assert session.stats.late == 2
    assert ends(session.close()) == [(5, 12)]


def test_late_events_are_collected() -> None:
    session = late_session("collect")
    assert session.late_events.num_rows == 0
    session.push([event(12, "B"), event(9, "B")])
    session.push([event(1, "B")])
    assert session.late_events.to_pylist() == [event(9, "B"), event(1, "B")]
    assert session.stats.late == 2
    assert ends(session.close()) == [(5, 12)]


def test_no_event_is_late_within_its_own_batch() -> None:
    session = Query(PAIR).session(lateness=0)
    session.push([event(9, "B"), event(1, "A")])
    assert ends(session.close()) == [(1, 9)]


@pytest.mark.parametrize("late", ["drop", "collect"])
def test_a_late_event_does_not_move_the_watermark(late: str) -> None:
    session = Query(PAIR).session(lateness=2, late=late)
    session.push([event(10, "A")])
    session.push([event(3, "A")])
    session.push([event(8, "A"), event(9, "B")])
    assert ends(session.close()) == [(8, 9)]


def test_a_policy_that_is_none() -> None:
    with pytest.raises(UsageError, match="policy 'ignore'"):
        Query(PAIR).session(late="ignore")


@pytest.mark.parametrize("lateness", [-1, 1.5, "soon", True, "3 events", "10", dt.timedelta(-1), dt.date(2026, 1, 1)])
def test_a_lateness_that_is_none(lateness: Any) -> None:
    with pytest.raises(UsageError, match="lateness"):
        Query(PAIR).session(lateness=lateness)


# Watermarks


def test_a_watermark_that_goes_back() -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A"), event(7, "B")])
    session.advance(5)
    session.advance(5)
    with pytest.raises(UsageError, match="before the current one"):
        session.advance(4)
    with pytest.raises(InputError):
        session.push([event(4, "B")])
    assert ends(session.close()) == [(1, 7)]


def test_a_watermark_before_the_first_batch() -> None:
    """What the watermark means depends on the type of the time column."""
    with pytest.raises(UsageError, match="before the first push"):
        Query(PAIR).session().advance(5)


def test_a_watermark_before_the_first_event() -> None:
    session = Query(PAIR).session()
    session.push(pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())}))
    assert ends(session.advance(5)) == []
    with pytest.raises(InputError):
        session.push([event(4, "A")])


@pytest.mark.parametrize(
    ("zone", "watermark"),
    [
        (None, dt.datetime(2026, 3, 2, 0, 0, 2)),
        (None, "2026-03-02 00:00:02"),
        (None, "2026-03-02T00:00:02"),
        (dt.UTC, dt.datetime(2026, 3, 2, 0, 0, 2, tzinfo=dt.UTC)),
        (dt.UTC, dt.datetime(2026, 3, 2, 1, 0, 2, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
        (dt.UTC, "2026-03-02 00:00:02Z"),
        (dt.UTC, "2026-03-02 01:00:02+01:00"),
    ],
)
def test_watermarks_of_timestamps(zone: dt.tzinfo | None, watermark: Any) -> None:
    session = Query(PAIR).session()
    first = DAY.replace(tzinfo=zone)
    times = [first, first + dt.timedelta(seconds=1), first + dt.timedelta(seconds=2)]
    session.push([event(time, kind) for time, kind in zip(times, "ABB", strict=True)])
    assert ends(session.advance(watermark)) == [(times[0], times[1])]


def test_watermarks_of_dates() -> None:
    session = Query(PAIR).session()
    session.push([event(dt.date(2026, 3, day), kind) for day, kind in [(1, "A"), (2, "B"), (3, "B")]])
    assert len(session.advance(dt.date(2026, 3, 3))) == 1


def test_watermarks_of_nanoseconds() -> None:
    session = Query(PAIR).session()
    session.push(pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("ns")), "type": ["A", "B", "B"]}))
    assert len(session.advance(pandas.Timestamp(2))) == 0
    assert len(session.advance(pandas.Timestamp(3))) == 1


def test_lateness_counts_in_the_unit() -> None:
    session = Query(PAIR, unit="s").session(lateness=1)
    second = dt.timedelta(seconds=1)
    session.push([event(DAY, "A"), event(DAY + second, "B")])
    assert ends(session.push([event(DAY + 2 * second, "C")])) == []
    assert len(session.push([event(DAY + 3 * second, "C")])) == 1


@pytest.mark.parametrize(
    "lateness", ["1 second", "1000 ms", dt.timedelta(seconds=1), pandas.Timedelta("1s"), np.timedelta64(1, "s"), 1000]
)
def test_a_lateness_may_be_a_duration(lateness: Any) -> None:
    second = dt.timedelta(seconds=1)
    query = Query(PAIR)
    session = query.session(lateness=lateness)
    session.push([event(DAY, "A"), event(DAY + second, "B")])
    session = query.restore(session.snapshot())
    assert ends(session.push([event(DAY + 2 * second, "C")])) == []
    assert len(session.push([event(DAY + 3 * second, "C")])) == 1


@pytest.mark.parametrize("watermark", ["soon", 1.5, None, True, dt.datetime(2026, 3, 2)])
def test_a_watermark_that_is_no_time_of_integers(watermark: Any) -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A")])
    with pytest.raises(UsageError, match="can't be a time of this stream"):
        session.advance(watermark)
    session.push([event(1, "B")])
    assert ends(session.close()) == [(1, 1)]


@pytest.mark.parametrize("watermark", ["soon", 1.5, None, dt.datetime(2026, 3, 2, tzinfo=dt.UTC)])
def test_a_watermark_that_is_no_time_of_timestamps(watermark: Any) -> None:
    session = Query(PAIR).session()
    session.push([event(DAY, "A")])
    with pytest.raises(UsageError, match="can't be a time of this stream"):
        session.advance(watermark)
