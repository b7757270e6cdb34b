"""Events in every form that a user has them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.api.events import to_table

ROWS = [{"ts": 2, "type": "B", "x": None}, {"ts": 1, "type": "A", "x": 1.5}]
QUERY = cep.Query("PATTERN SEQ(A a, B b)")
EXPECTED = [{"match_start": 1, "match_end": 2, "a": ROWS[1], "b": ROWS[0]}]


@pytest.mark.parametrize(
    "events",
    [
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        pa.Table.from_pylist(ROWS),
        pa.RecordBatch.from_pylist(ROWS),
        pa.RecordBatchReader.from_batches(
            pa.schema(pa.Table.from_pylist(ROWS).schema), pa.Table.from_pylist(ROWS).to_batches()
        ),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        pa.concat_tables(
            [pa.Table.from_pylist(ROWS[:1], pa.Table.from_pylist(ROWS).schema), pa.Table.from_pylist(ROWS[1:])]
        ),
    ],
    ids=["list", "tuple", "iterator", "table", "batch", "reader", "polars", "lazy", "chunks"],
)
def test_forms(events: object) -> None:
    assert QUERY.match(events).to_pylist() == EXPECTED


def test_pandas() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime(["2024-01-01 00:00:02", "2024-01-01 00:00:01"]), "type": ["B", "A"]})
    found = QUERY.match(frame).to_pylist()
    assert [m["match_start"] for m in found] == [pd.Timestamp("2024-01-01 00:00:01")]


def test_the_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame({"ts": [1], "type": ["A"]}, index=pd.Index(["x"], name="key"))
    assert cep.Query("EVENT A a").match(frame).to_pylist()[0]["a"] == {"ts": 1, "type": "A"}


def test_nested_views_of_polars() -> None:
    frame = pl.DataFrame({"ts": [1], "type": ["A"], "l": [["x"]], "s": [{"t": "y"}]})
    found = cep.Query("EVENT A a").match(frame).to_pylist()
    assert found[0]["a"] == {"ts": 1, "type": "A", "l": ["x"], "s": {"t": "y"}}


def test_categories_of_polars() -> None:
    kinds = pl.Series(["A", "B"], dtype=pl.Categorical)
    frame = pl.DataFrame({"ts": [1, 2], "type": kinds, "e": pl.Series(["u", "v"], dtype=pl.Enum(["u", "v"]))})
    assert [m["b"]["e"] for m in QUERY.match(frame)] == ["v"]


def test_views_in_a_batch() -> None:
    batch = pa.RecordBatch.from_pydict({"ts": [1, 2], "type": pa.array(["A", "B"], pa.string_view())})
    assert len(QUERY.match(batch)) == 1


def test_times_that_are_not() -> None:
    rows = [{"ts": 1, "type": "A", "at": pd.NaT}, {"ts": 2, "type": "B", "at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}]
    assert [m["a"]["at"] for m in QUERY.match(rows)] == [None]


def test_rows_need_not_have_the_same_keys() -> None:
    assert to_table([{"ts": 1}, {"type": "A"}]).to_pylist() == [{"ts": 1, "type": None}, {"ts": None, "type": "A"}]


def test_no_events() -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 1 PARTITION BY k RETURN a.x + 1 AS y")
    assert query.match([]).to_pylist() == []
    assert query.match(pa.table({})).to_pylist() == []


@pytest.mark.parametrize(
    ("events", "code"),
    [
        (5, "CEP401"),
        (None, "CEP401"),
        ("text", "CEP401"),
        ({"ts": 1}, "CEP401"),
        ([1, 2], "CEP401"),
        ([{"ts": 1, "type": "A"}, None], "CEP401"),
        ([{1: 2}], "CEP404"),
        ([{"ts": 1, "type": "A", "": 1}], "CEP404"),
        ([{"ts": 1, "type": "A", "x": 1}, {"ts": 1, "type": "A", "x": "y"}], "CEP403"),
        ([{"ts": 1, "type": "A", "x": 2**70}], "CEP405"),
        ([{"ts": None, "type": "A"}], "CEP402"),
        ([{"type": "A"}], "CEP309"),
        ([{"ts": 1.5, "type": "A"}], "CEP309"),
        ([{"ts": "monday", "type": "A"}], "CEP309"),
        ([{"ts": 1}], "CEP310"),
        ([{"ts": 1, "type": 7}], "CEP310"),
        (pa.table([[1], [2]], names=["ts", "ts"]), "CEP404"),
        (pd.DataFrame([[1, 2]], columns=["ts", "ts"]), "CEP404"),
        (pd.Series([1]), "CEP401"),
        ([{"ts": dt.datetime(2024, 1, 1)}, {"ts": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}], "CEP403"),
        (pa.table({"ts": [1], "type": ["A"], "x": pa.array([2**63], pa.uint64())}), "CEP405"),
    ],
)
def test_malformed(events: object, code: str) -> None:
    with pytest.raises(cep.CepheidError) as error:
        cep.Query("EVENT A a").match(events)
    assert error.value.code == code
    assert error.value.remedy


@pytest.mark.parametrize("paths", [["monday.csv", "tuesday.csv"], [Path("monday.csv")]])
def test_a_list_of_paths(paths: list[object]) -> None:
    with pytest.raises(cep.InputError, match=r"CEP401: row 0 is the path 'monday\.csv', not a dict") as error:
        cep.Query("EVENT A a").match(paths)
    assert error.value.remedy == (
        "pass a folder, a pattern such as 'events/*.csv', or pyarrow.dataset.dataset([…]) of several files"
    )


def test_datetimes_of_several_offsets_are_one_zone_in_any_order() -> None:
    rows = [
        {"ts": dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=h))), "type": "A"} for h in (0, 2)
    ]
    query = cep.Query("PATTERN A a RETURN hour(a.ts) AS h")
    for events in (rows, rows[::-1]):
        assert [m["h"] for m in query.match(events)] == [21, 23]


def test_the_culprit_is_named() -> None:
    rows = [{"ts": t, "type": "A", "x": t} for t in range(10)]
    rows[7]["x"] = "seven"
    with pytest.raises(cep.InputError, match="column 'x' can't hold 'seven' of row 7"):
        cep.Query("EVENT A a").match(rows)


@pytest.mark.parametrize(
    ("column", "unit", "window"),
    [
        (pa.array([0, 5], pa.int64()), "ms", "6 milliseconds"),
        (pa.array([0, 5], pa.int64()), "s", "6 seconds"),
        (pa.array([0, 5], pa.int32()), "hours", "6"),
        (pa.array([0, 5], pa.timestamp("s")), "ms", "6 seconds"),
        (pa.array([0, 5], pa.timestamp("ns", tz="UTC")), "ms", "6 nanoseconds"),
        (pa.array([0, 5], pa.date32()), "ms", "6 days"),
    ],
)
def test_times(column: pa.Array, unit: str, window: str) -> None:
    table = pa.table({"ts": column, "type": ["A", "B"]})
    for length, expected in ((window, 1), (window.replace("6", "5"), 0)):
        query = cep.Query(f"PATTERN SEQ(A a, B b) WITHIN {length}", unit=unit)
        assert len(query.match(table)) == expected


def test_values_come_back_as_they_went_in() -> None:
    row = {
        "ts": dt.datetime(2024, 1, 1, 12, 30),
        "type": "A",
        "price": Decimal("1.50"),
        "day": dt.date(2024, 1, 1),
        "flags": [True, None],
        "place": {"x": 1, "y": None},
        "raw": b"\x00",
    }
    assert cep.Query("EVENT A a").match([row]).to_pylist()[0]["a"] == row
