"""Rows that are read as they are: what they give is what a table would, and all else is left to the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from cepheid import InputError, Query
from cepheid.api.row_reader import RowReader
from cepheid.pattern.binding.schema import Roles, make_schema

COLUMNS = pa.schema(
    {
        "ts": pa.int64(),
        "type": pa.dictionary(pa.int32(), pa.string()),
        "n": pa.int16(),
        "x": pa.float64(),
        "s": pa.string(),
        "at": pa.timestamp("us"),
        "zoned": pa.timestamp("us", tz="UTC"),
        "ok": pa.bool_(),
        "none": pa.null(),
    }
)
FULL = {
    "ts": 1,
    "type": "A",
    "n": -3,
    "x": 1.5,
    "s": "é",
    "at": datetime(1969, 12, 31, 23, 59, 59, 999_999),
    "zoned": datetime(2026, 3, 14, tzinfo=UTC),
    "ok": True,
    "none": None,
}


def read(*rows: Any) -> pa.Table | None:
    found = RowReader(make_schema(COLUMNS, Roles())).read(list(rows))
    return None if found is None else found.to_table()


@pytest.mark.parametrize(
    "row", [FULL, {"ts": 1}, {**FULL, "x": 2}, {**FULL, "at": datetime.max}, dict.fromkeys(FULL) | {"ts": 1}]
)
def test_rows_are_what_a_table_holds(row: dict[str, Any]) -> None:
    table = read(row, {"ts": 2, "type": "B"})
    assert table is not None
    assert table.equals(pa.Table.from_pylist([row, {"ts": 2, "type": "B"}], schema=COLUMNS))


@pytest.mark.parametrize(
    "other",
    [
        {"ts": None},
        {"ts": 2**63},
        {"ts": True},
        {"n": 2**15},
        {"n": 1.0},
        {"x": 2**53 + 1},
        {"x": "1"},
        {"s": 1},
        {"s": "\ud800"},
        {"at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"zoned": datetime(2026, 1, 1)},
        {"zoned": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
        {"ok": 1},
        {"none": 1},
        {"more": None},
    ],
)
def test_what_does_not_fit_is_left_to_the_table(other: dict[str, Any]) -> None:
    assert read(FULL, {**FULL, **other}) is None


def test_only_lists_of_a_few_dicts_are_read() -> None:
    reader = RowReader(make_schema(COLUMNS, Roles()))
    for events in ([], [FULL] * 32, [[1]], (FULL,), FULL, None):
        assert reader.read(events) is None


def test_columns_of_other_types_are_left_to_the_table() -> None:
    for arrow in (pa.decimal128(5), pa.date32(), pa.dictionary(pa.int8(), pa.string()), pa.uint64()):
        schema = make_schema(pa.schema({"ts": pa.int64(), "type": pa.string(), "x": arrow}), Roles())
        assert RowReader(schema).read([{"ts": 1, "type": "A"}]) is None


def test_a_row_that_is_refused_leaves_the_session_as_it_was() -> None:
    session = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x").session(lateness=0)
    session.push([{"ts": 1, "type": "A", "x": 1}])
    with pytest.raises(InputError, match="CEP409"):
        session.push([{"ts": 2, "type": "B", "x": "2"}])
    with pytest.raises(InputError, match="CEP402"):
        session.push([{"ts": None, "type": "B", "x": 2}])
    session.push([{"ts": 3, "type": "B", "x": 2}])
    assert [match["b"] for match in session.close()] == [{"ts": 3, "type": "B", "x": 2}]


def test_pushes_without_matches_share_one_answer() -> None:
    session = Query("PATTERN SEQ(A a, B b)").session(lateness=0)
    session.push([{"ts": 1, "type": "A"}])
    first, second = (session.push([{"ts": ts, "type": "A"}]) for ts in (2, 3))
    assert first is second
    assert list(first) == list(first.outputs["query 1"]) == []
