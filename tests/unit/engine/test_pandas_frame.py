"""Matches as a data frame of pandas: times stay times, wherever they are."""

from datetime import datetime, time, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep

NS = 1_770_000_000_123_456_789


def events(unit: str, zone: str | None) -> pa.Table:
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    times = pa.array([NS // scale, NS // scale + 1], pa.int64()).cast(pa.timestamp(unit, zone))
    took = pa.array([5, None], pa.int64()).cast(pa.duration(unit))
    return pa.table({"ts": times, "type": ["A", "B"], "took": took})


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_inside_events(unit: str, zone: str | None) -> None:
    table = events(unit, zone)
    frame = cep.Query("PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour").match(table).to_pandas()
    first, second = (pd.Timestamp(value) for value in table["ts"].to_pylist())
    assert list(frame.columns) == ["match_start", "match_end", "a", "b"]
    assert frame["match_start"][0] == first
    assert frame["a"][0] == {"ts": first, "type": "A", "took": pd.Timedelta(5, unit)}
    assert isinstance(frame["a"][0]["ts"], datetime)
    assert isinstance(frame["a"][0]["took"], timedelta)
    assert list(frame["b"][0]) == [{"ts": second, "type": "B", "took": None}]
    assert isinstance(frame["b"][0][0]["ts"], datetime)


@pytest.mark.parametrize(
    ("arrow", "value"),
    [
        (pa.struct([("at", pa.timestamp("ns", "UTC"))]), {"at": pd.Timestamp(NS, tz="UTC")}),
        (
            pa.struct([("at", pa.list_(pa.timestamp("us", "UTC")))]),
            {"at": [pd.Timestamp(NS // 1000, unit="us", tz="UTC")]},
        ),
        (pa.list_(pa.struct([("at", pa.timestamp("ns"))])), [{"at": pd.Timestamp(NS)}]),
    ],
)
def test_times_inside_attributes(arrow: pa.DataType, value: Any) -> None:
    table = pa.table({"ts": [1], "type": ["A"], "x": pa.array([value], arrow)})
    found = cep.Query("PATTERN A a RETURN a.x AS x").match(table).to_pandas()["x"][0]
    assert (list(found) if isinstance(value, list) else found) == value


def test_a_column_that_pandas_can_not_hold() -> None:
    """Python's time of day has no nanoseconds."""
    table = pa.table({"ts": [1], "type": ["A"], "x": pa.array([1], pa.time64("ns")), "y": [time(1)]})
    frame = cep.Query("PATTERN A a RETURN a.x AS x, a.y AS y").match(table).to_pandas()
    assert str(frame["x"].dtype) == "time64[ns][pyarrow]"
    assert frame["y"][0] == time(1)


def test_no_matches() -> None:
    frame = cep.Query("PATTERN A a WHERE a.type = 'B'").match(events("ns", "UTC")).to_pandas()
    assert list(frame.columns) == ["match_start", "match_end", "a"]
    assert len(frame) == 0
