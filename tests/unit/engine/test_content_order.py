"""The order of rows with equal times: as the reference has it, for every type of column."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.engine.encoding.content_order import ranks
from cepheid.engine.stream.arrivals import arrange
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.values.keys import sort_key
from cepheid.values.rows import read_events

NAN = math.nan
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int64": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63)]),
    "int8": (pa.int8(), [0, 127, -128]),
    "uint32": (pa.uint32(), [0, 2**32 - 1, 7]),
    "uint64": (pa.uint64(), [0, 2**63 - 1, 7]),
    "float64": (pa.float64(), [0.0, -0.0, NAN, -NAN, math.inf, -math.inf, 1.5, -1.5, 5e-324]),
    "float32": (pa.float32(), [0.0, -0.0, NAN, 1.5, -2.0]),
    "float16": (pa.float16(), [0.0, -0.0, NAN, 1.5, -2.0]),
    "bool": (pa.bool_(), [True, False]),
    "string": (
        pa.string(),
        ["", "a", "a\0", "a\0b", "ab", "é", "\U0001f600", "longer than a word", "longer than"],
    ),
    "large": (pa.large_string(), ["", "12345678", "123456789", "12345678\0", "\uffff"]),
    "binary": (pa.binary(), [b"", b"\0", b"\0\0", b"\xff", b"\x7f" * 9]),
    "fixed": (pa.binary(3), [b"abc", b"\0\0\0", b"\xff\0\1"]),
    "decimal": (pa.decimal128(38, 2), [Decimal("0.00"), Decimal("-1.25"), Decimal(10) ** 30, -(Decimal(10) ** 30)]),
    "wide": (pa.decimal256(60, 0), [Decimal(0), Decimal(10) ** 50, -(Decimal(10) ** 50), Decimal(-1)]),
    "narrow": (pa.decimal64(12, 2), [Decimal("0.00"), Decimal("-1.25"), Decimal("1234.50")]),
    "date": (pa.date32(), [date(1969, 12, 31), date(2026, 1, 1)]),
    "time": (pa.time64("us"), [time(0), time(23, 59, 59, 5)]),
    "timestamp": (pa.timestamp("ns", "UTC"), [datetime(1960, 1, 1), datetime(2026, 1, 1)]),
    "duration": (pa.duration("s"), [timedelta(seconds=-5), timedelta(days=3)]),
    "null": (pa.null(), []),
    "words": (pa.dictionary(pa.int8(), pa.string()), ["b", "a", "", "long words, too"]),
    "struct": (
        pa.struct([("x", pa.float64()), ("s", pa.string())]),
        [{"x": 0.0, "s": "b"}, {"x": -0.0, "s": "a"}, {"x": None, "s": "z"}, {"x": NAN, "s": None}],
    ),
    "list": (pa.list_(pa.int64()), [[], [1], [1, None], [1, 2], [None], [2]]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("a", None)], [("b", 0)], []]),
}


def cells(name: str) -> st.SearchStrategy[Any]:
    values = COLUMNS[name][1]
    return st.sampled_from([None, *values])


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, tuple[str, ...]]:
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 24))
    columns: dict[str, pa.Array] = {"ts": pa.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))}
    for name in names:
        column = pa.array(draw(st.lists(cells(name), min_size=rows + 1, max_size=rows + 1)), COLUMNS[name][0])
        columns[name] = column.slice(1)
    table = pa.table(columns)
    cut = draw(st.integers(0, rows))
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)]) if draw(st.booleans()) else table
    return table, tuple(draw(st.lists(st.sampled_from(names), max_size=2)))


def shown(value: Any) -> str:
    return repr(sort_key(value))


@given(tables())
def test_that_the_order_is_that_of_the_reference(example: tuple[pa.Table, tuple[str, ...]]) -> None:
    table, order_by = example
    schema = make_schema(table.schema, Roles(type=None, order_by=order_by))
    order = arrange(schema, table, table["ts"].to_numpy())
    found = range(table.num_rows) if order is None else order.tolist()
    assert sorted(found) == list(range(table.num_rows))
    events = read_events(table, schema)
    by_row = {event.row: event for event in events}
    told = [[shown(by_row[row].values[name]) for name in table.column_names] for row in found]
    assert told == [[shown(event.values[name]) for name in table.column_names] for event in events]


@pytest.mark.parametrize("name", COLUMNS)
def test_ranks_of_a_column(name: str) -> None:
    arrow, values = COLUMNS[name]
    array = pa.array([*values, None, *reversed(values)], arrow)
    keys = [sort_key(value) for value in array.to_pylist()]
    known = {key: rank for rank, key in enumerate(sorted({*keys, (0,)}))}
    assert ranks(array).tolist() == [known[key] for key in keys]


@pytest.mark.parametrize("distinct", [3, 100_000])
def test_many_rows_of_a_few_or_of_many_words(distinct: int) -> None:
    chance = np.random.default_rng(1)
    words = [f"a word, {k}" for k in chance.integers(0, distinct, 5_000)]
    table = pa.table({"ts": np.sort(chance.integers(0, 40, 5_000)), "s": words, "x": chance.normal(size=5_000)})
    schema = make_schema(table.schema, Roles(type=None))
    found = table.take(pa.array(arrange(schema, table, table["ts"].to_numpy())))
    assert found.equals(table.sort_by([("ts", "ascending"), ("s", "ascending"), ("x", "ascending")]).combine_chunks())


def test_wide_numbers_beside_many_groups() -> None:
    """Groups and numbers do not fit into one word together."""
    chance = np.random.default_rng(2)
    numbers = chance.integers(-(2**63), 2**63 - 1, 3_000)
    table = pa.table({"ts": np.repeat(np.arange(1_000), 3), "n": np.where(chance.random(3_000) < 0.5, numbers, 5)})
    schema = make_schema(table.schema, Roles(type=None))
    found = table.take(pa.array(arrange(schema, table, table["ts"].to_numpy())))
    assert found.equals(table.sort_by([("ts", "ascending"), ("n", "ascending")]).combine_chunks())
