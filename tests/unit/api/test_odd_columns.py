"""Columns of types that are seldom seen: read as they are meant, or refused with their name, on every path."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep

TYPES = ["A", "B", "A", "B"] * 10
TIMES = list(range(40))
QUERY = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k] }"


def table(column: Any) -> pa.Table:
    return pa.table({"ts": TIMES, "type": TYPES, "k": column})


def frame(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"ts": TIMES, "type": TYPES}).assign(k=column)


def by_match(query: cep.Query, events: Any) -> list[dict[str, Any]]:
    return query.match(events).to_pylist()


def by_session(query: cep.Query, events: Any) -> list[dict[str, Any]]:
    session = query.session()
    session.push(events)
    return query.restore(session.snapshot()).close().to_pylist()


def after_nulls(query: cep.Query, events: Any) -> list[dict[str, Any]]:
    """The column has no type before."""
    session = query.session()
    session.push([{"ts": -1, "type": "A", "k": None}])
    session.push(events)
    return session.close().to_pylist()


PATHS = [by_match, by_session, after_nulls]
Path = Callable[[cep.Query, Any], list[dict[str, Any]]]


def run_ends(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array([20, 40], pa.int32()), values)


def uuids(values: list[bytes | None]) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(values, pa.binary(16)))


ID = uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
HALVES = ["x"] * 20 + ["y"] * 20
DAY = dt.date(2026, 3, 1)
MIDDAY = dt.datetime(2026, 3, 1, 12)
MILLIS = pa.array([dt.datetime(2026, 3, 1, 12)] * 40, pa.timestamp("ms")).cast(pa.int64())

KEYS: dict[str, tuple[Any, Any]] = {
    "decimal32": (table(pa.array([Decimal("1.50")] * 40, pa.decimal32(5, 2))), Decimal("1.50")),
    "decimal64": (table(pa.array([Decimal("1.50")] * 40, pa.decimal64(12, 2))), Decimal("1.50")),
    "string view": (table(pa.array(["x"] * 40, pa.string_view())), "x"),
    "binary view": (table(pa.array([b"x"] * 40, pa.binary_view())), b"x"),
    "words in views": (
        table(pa.DictionaryArray.from_arrays(pa.array([0] * 40, pa.int8()), pa.array(["x"], pa.string_view()))),
        "x",
    ),
    "run ends": (table(run_ends(pa.array(["x", "y"]))), "x"),
    "run ends of views": (table(run_ends(pa.array(["x", "y"], pa.string_view()))), "x"),
    "date64": (table(pa.array([DAY] * 40, pa.date64())), DAY),
    "date64 with a time of day": (table(MILLIS.view(pa.date64())), MIDDAY),
    "bool8": (table(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1] * 40, pa.int8()))), True),
    "json": (table(pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}'] * 40))), '{"a": 1}'),
    "uuid": (table(uuids([ID.bytes] * 40)), str(ID)),
    "uuid with NULL": (table(uuids([ID.bytes] * 39 + [None])), str(ID)),
    "some of uuids": (table(uuids([b"0" * 16, *[ID.bytes] * 40]).slice(1)), str(ID)),
    "run ends of uuids": (table(run_ends(uuids([ID.bytes, b"0" * 16]))), str(ID)),
    "Python's uuid": ([{"ts": k, "type": TYPES[k], "k": ID} for k in TIMES], str(ID)),
    "pandas' uuid": (frame([ID] * 40), str(ID)),
    "sparse pandas": (frame(pd.arrays.SparseArray([0] * 40)), 0),
    "sparse pandas with NaN": (frame(pd.arrays.SparseArray([1.5] * 39 + [np.nan])), 1.5),
    "pandas' periods": (frame(pd.PeriodIndex(["2026-03"] * 40, freq="M")), dt.datetime(2026, 3, 1)),
    "pandas' categories": (frame(pd.Categorical(HALVES)), "x"),
    "polars' categories": (
        pl.DataFrame({"ts": TIMES, "type": TYPES, "k": pl.Series(HALVES, dtype=pl.Categorical)}),
        "x",
    ),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", KEYS)
def test_what_can_be_a_key(name: str, path: Path) -> None:
    events, value = KEYS[name]
    found = path(cep.Query(QUERY), events)
    assert found[0]["a"] == {"ts": 0, "type": "A", "k": value}
    assert len(found) == (19 if name.endswith(("NaN", "NULL")) else 20)


NESTED: dict[str, tuple[Any, Any]] = {
    "a polars map": (
        pl.DataFrame({"ts": TIMES, "type": TYPES, "k": pl.Series([{"a": 1}] * 40, dtype=pl.Map(pl.String, pl.Int64))}),
        [("a", 1)],
    ),
    "pandas' intervals": (frame(pd.interval_range(0, 40)), {"left": 0, "right": 1}),
    "pandas' bins": (frame(pd.cut([1.0, 3.0] * 20, [0, 2, 4])), {"left": 0, "right": 2}),
    "uuids in a struct": (
        table(pa.StructArray.from_arrays([uuids([ID.bytes] * 39 + [None])], ["id"])),
        {"id": str(ID)},
    ),
    "uuids in lists": (
        table(pa.ListArray.from_arrays(pa.array(range(41), pa.int32()), uuids([ID.bytes] * 40))),
        [str(ID)],
    ),
    "a list view": (table(pa.array([[1, 2]] * 40, pa.list_view(pa.int64()))), [1, 2]),
    "views in a struct": (table(pa.array([{"a": "x"}] * 40, pa.struct([("a", pa.string_view())]))), {"a": "x"}),
    "views in lists of a size": (table(pa.array([["x"]] * 40, pa.list_(pa.string_view(), 1))), ["x"]),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", NESTED)
def test_what_is_handed_on(name: str, path: Path) -> None:
    events, value = NESTED[name]
    found = path(cep.Query("PATTERN A a"), events)
    assert next(match["a"]["k"] for match in found if match["a"]["ts"] >= 0) == value
    again = [match["a"]["ts"] for match in found]
    assert again == sorted(again)


def union() -> pa.Array:
    numbers, words = pa.array([1] * 40), pa.array(["x"] * 40)
    return pa.UnionArray.from_sparse(pa.array([0, 1] * 20, pa.int8()), [numbers, words])


LARGE = 2**70
UNREADABLE: dict[str, tuple[Any, str, str]] = {
    "a union": (table(union()), "CEP411", "column 'k' is a union of types"),
    "a time zone": (
        table(pa.array([1] * 40, pa.timestamp("us", "Mars/Olympus"))),
        "CEP411",
        "column 'k' has the time zone 'Mars/Olympus', which this machine does not know",
    ),
    "a large integer": (
        [{"ts": 1, "type": "A", "k": LARGE}],
        "CEP405",
        f"column 'k' has an integer in row 0, {LARGE},",
    ),
    "a large integer in pandas": (frame([LARGE] * 40), "CEP405", "column 'k' has an integer that does not fit"),
    "an unsigned integer": (table(pa.array([2**63] * 40, pa.uint64())), "CEP405", f"{2**63} in 'k' does not fit"),
    "a surrogate": (
        [{"ts": 1, "type": "A", "k": "\ud800"}],
        "CEP403",
        r"column 'k' has a string in row 0, '\\ud800', that is not valid Unicode",
    ),
    "a surrogate in pandas": (frame(["\ud800"] * 40), "CEP403", "column 'k' has a string that is not valid Unicode"),
    "a surrogate in a name": ([{"ts": 1, "type": "A", "\ud800": 1}], "CEP404", "a column name is not text"),
    "infinity": ([{"ts": 1, "type": "A", "k": Decimal("inf")}], "CEP403", "column 'k' can't hold Decimal"),
    "complex numbers": (frame([1j] * 40), "CEP403", "column 'k' can't be read"),
    "several types": (frame([1, "x"] * 20), "CEP403", "column 'k' can't be read: Could not convert 'x'"),
    "Python objects in polars": (
        pl.DataFrame({"ts": TIMES, "type": TYPES, "k": pl.Series([{1}] * 40, dtype=pl.Object)}),
        "CEP403",
        "column 'k' has Python objects",
    ),
    "Python objects in a lazy frame": (
        pl.LazyFrame({"ts": TIMES, "type": TYPES, "k": pl.Series([{1}] * 40, dtype=pl.Object)}),
        "CEP403",
        "column 'k' has Python objects",
    ),
    "128 bits": (
        pl.DataFrame({"ts": TIMES, "type": TYPES, "k": pl.Series([LARGE] * 40, dtype=pl.Int128)}),
        "CEP403",
        "column 'k' can't be read",
    ),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_refused(name: str, path: Path) -> None:
    events, code, message = UNREADABLE[name]
    with pytest.raises(cep.InputError, match=message) as error:
        path(cep.Query("PATTERN A a"), events)
    assert error.value.code == code
    assert error.value.remedy


def not_text() -> pa.Table:
    """Arrow takes the buffers as they are."""
    ends = pa.array(range(0, 82, 2), pa.int32()).buffers()[1]
    return table(pa.Array.from_buffers(pa.string(), 40, [None, ends, pa.py_buffer(b"\xff\xff" * 40)]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("condition", ["[k]", "a.k LIKE 'x%'", "a.k = b.k", "lower(a.k) = 'x'"])
@pytest.mark.parametrize("repeat", [1, 200])  # few events are read one by one
def test_strings_that_are_not_text(condition: str, repeat: int, path: Path) -> None:
    events = pa.concat_tables([not_text()] * repeat)
    with pytest.raises(cep.InputError, match="CEP403: column 'k' has a string that is not valid UTF-8"):
        path(cep.Query(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 3"), events)


def test_a_session_goes_on_after_strings_that_are_not_text() -> None:
    session = cep.Query("PATTERN A a WHERE a.k = 'x'").session()
    session.push(table(["x"] * 40))
    with pytest.raises(cep.InputError, match="CEP403"):
        session.push(not_text())
    assert len(session.close()) == 20


def test_a_uuid_is_compared_with_text_and_with_a_parameter() -> None:
    events = table(uuids([ID.bytes, b"0" * 16] * 20))
    assert len(cep.Query(f"PATTERN * a WHERE a.k = '{ID}'").match(events)) == 20
    assert len(cep.Query("PATTERN * a WHERE a.k = id", params={"id": ID}).match(events)) == 20


@pytest.mark.parametrize("column", [pa.array([dt.time(1)] * 40), pa.array([dt.time(1)] * 40, pa.time32("s"))])
@pytest.mark.parametrize("clause", ["WHERE [k]", "PARTITION BY k"])
def test_a_type_that_can_not_be_a_key_is_named(column: pa.Array, clause: str) -> None:
    with pytest.raises(cep.BindError, match="CEP305") as error:
        cep.Query(f"PATTERN SEQ(A a, B b) {clause}").match(table(column))
    assert str(column.type) in error.value.message
    assert "nested" not in str(error.value)
    assert error.value.remedy == "cast the column to string or integer before"


@pytest.mark.parametrize(
    "column", [pa.array([10**14] * 40, pa.timestamp("s")), pa.array([2**62] * 40, pa.timestamp("us"))]
)
def test_times_that_python_does_not_have(column: pa.Array) -> None:
    matches = cep.Query("PATTERN A a RETURN a.k AS k").match(table(column))
    with pytest.raises(cep.UsageError, match="CEP612: a match has a time that is out of the range") as error:
        matches.to_pylist()
    assert error.value.remedy == "use to_arrow()"
    assert matches.to_arrow().column("k").type == column.type


def test_text_that_python_does_not_have() -> None:
    with pytest.raises(cep.UsageError, match="CEP612: a match has a string that is not valid UTF-8"):
        cep.Query("PATTERN A a").match(not_text()).to_pylist()


def test_a_session_looks_at_every_table() -> None:
    """A table of the columns that are known is taken as it is, but for types that have values we can't read."""
    session = cep.Query("PATTERN A a").session()
    session.push(table(pa.array([1] * 40, pa.uint64())))
    with pytest.raises(cep.InputError, match="CEP405"):
        session.push(table(pa.array([2**63] * 40, pa.uint64())))
    assert len(session.close()) == 20


def test_more_words_than_narrow_codes_can_tell_apart() -> None:
    """Each batch has few words; all of them together are too many for eight bits."""
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [k]")
    session = query.session()
    for first in range(0, 1000, 100):
        words = pa.array([f"word {k}" for k in range(first, first + 100)])
        codes = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), words)
        for time, kind in enumerate("AB"):
            session.push(pa.table({"ts": [2 * first + time] * 100, "type": [kind] * 100, "k": codes}))
    again = query.restore(session.snapshot())
    assert len(session.close()) == len(again.close()) == 1000


# A column that gets its type later.


def test_a_column_gets_its_type_when_it_has_a_value() -> None:
    session = cep.Query("PATTERN SEQ(A a, B b) WHERE b.x > 3").session()
    session.push([{"ts": 1, "type": "A", "x": None, "note": None, "tags": []}])
    session.advance(2)
    session.push([{"ts": 2, "type": "B", "x": 5, "note": "hello", "tags": ["new"]}])
    assert session.close().to_pylist() == [
        {
            "match_start": 1,
            "match_end": 2,
            "a": {"ts": 1, "type": "A", "x": None, "note": None, "tags": []},
            "b": {"ts": 2, "type": "B", "x": 5, "note": "hello", "tags": ["new"]},
        }
    ]


def test_a_type_that_the_query_can_not_use_leaves_the_session_as_it_was() -> None:
    session = cep.Query("PATTERN SEQ(A a, B b) WHERE b.x > 3").session()
    session.push([{"ts": 1, "type": "A", "x": None}])
    with pytest.raises(cep.BindError, match="CEP305"):
        session.push([{"ts": 2, "type": "B", "x": [1]}])
    session.push([{"ts": 3, "type": "B", "x": 4}])
    assert len(session.close()) == 1


def test_a_type_is_kept_once_it_is_known() -> None:
    session = cep.Query("PATTERN A a").session(late="collect")
    session.push([{"ts": 5, "type": "A", "x": None}])
    session.advance(5)
    session.push([{"ts": 1, "type": "A", "x": None}])  # late
    session.push([{"ts": 6, "type": "A", "x": "text"}])
    with pytest.raises(cep.InputError, match="CEP409: the batch has 'x' as int64, the first one as string"):
        session.push([{"ts": 7, "type": "A", "x": 1}])
    assert session.late_events.schema.field("x").type == pa.string()
    assert [match["a"]["x"] for match in session.close()] == [None, "text"]
