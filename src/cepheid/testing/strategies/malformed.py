"""Events and options that are invalid or almost valid."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.testing.strategies.schemas import PLAIN
from cepheid.testing.strategies.streams import rows, streams

_ODD: list[object] = [
    *(None, True, 0, -1, 2**63, 2**64, 10**400, 0.5, math.nan, math.inf, Decimal("NaN"), Decimal("1e-30"), 2 + 3j),
    *("", "A", "\ud800", "\x00", "9" * 5000, b"", b"\xff", bytearray(b"a"), memoryview(b"a")),
    *((), [], {}, set(), frozenset({1}), [[]], [None], [1, "a"], {"a": 1}, {1: 2}, {"": 0}, range(3), slice(1)),
    *(datetime.date.min, datetime.datetime.max, datetime.time(1), datetime.timedelta.max, datetime.UTC),
    *(object(), object, len, ..., NotImplemented, ValueError("no"), math),
    *(pa.scalar(1), pa.array([1]), pa.int64(), pa.schema([]), pa.table({})),
]


def odd_values() -> st.SearchStrategy[object]:
    """Python values of all kinds, most of them wrong as events or options."""
    return st.sampled_from(_ODD)


@st.composite
def odd_rows(draw: st.DrawFn) -> object:
    """An event with some values, keys or columns that are wrong."""
    row: dict[Any, Any] = draw(rows(PLAIN))
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from([*PLAIN.names, "more"]))
        match draw(st.integers(0, 3)):
            case 0:
                row.pop(name, None)
            case 1:
                row[name] = draw(odd_values())
            case 2:
                row[name] = draw(
                    st.lists(odd_values(), max_size=2) | st.dictionaries(st.text(max_size=2), odd_values())
                )
            case 3:
                key = draw(odd_values().filter(_is_hashable))
                row[key] = 1
    return row


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@st.composite
def odd_events(draw: st.DrawFn) -> object:
    """Not a stream; or a list, a generator or a table with something wrong in it."""
    if draw(st.integers(0, 4)) == 4:
        return draw(odd_values())
    if draw(st.booleans()):
        return draw(odd_tables())
    events = draw(st.lists(rows(PLAIN) | odd_rows() | odd_values(), max_size=4) | st.lists(odd_rows(), max_size=3))
    return draw(st.sampled_from([events, tuple(events), iter(events)]))


_TYPES: list[pa.DataType] = [
    *(
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.float64(),
        pa.decimal256(50, 3),
        pa.string_view(),
    ),
    *(
        pa.large_binary(),
        pa.binary(2),
        pa.date64(),
        pa.time32("s"),
        pa.timestamp("s"),
        pa.timestamp("ns", "Asia/Tokyo"),
    ),
    *(pa.duration("s"), pa.month_day_nano_interval(), pa.list_(pa.string()), pa.struct([]), pa.large_string()),
    *(pa.map_(pa.string(), pa.int8()), pa.dictionary(pa.int8(), pa.int64()), pa.list_(pa.int8(), 2)),
]


@st.composite
def odd_tables(draw: st.DrawFn) -> pa.Table:
    """A table with columns lost, doubled, renamed, emptied or of another type."""
    table = draw(streams(PLAIN, max_size=4))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, table.num_columns - 1))
        name, column = table.field(at).name, table.column(at)
        match draw(st.integers(0, 4)):
            case 0 if table.num_columns > 1:
                table = table.remove_column(at)
            case 1:
                table = table.append_column(name, column)
            case 2:
                table = table.set_column(at, draw(st.text(max_size=2)), column)
            case 3:
                table = table.set_column(at, name, pa.nulls(table.num_rows, column.type))
            case 4:
                table = table.set_column(at, name, pa.nulls(table.num_rows, draw(st.sampled_from(_TYPES))))
    return table


@st.composite
def odd_options(draw: st.DrawFn) -> dict[str, object]:
    """Options of `cepheid.Query`, one or two of them wrong."""
    names = st.sampled_from(["params", "functions", "time", "type", "order_by", "types", "unit"])
    return {
        name: draw(_option(name) if draw(st.booleans()) else odd_values())
        for name in draw(st.lists(names, min_size=1, max_size=2, unique=True))
    }


def _option(name: str) -> st.SearchStrategy[object]:
    """Options of the right form with wrong contents."""
    keys = st.sampled_from(["A", "x", "T", "", "Limit", "Few", "Same", "count", "upper"]) | odd_values().filter(
        _is_hashable
    )
    match name:
        case "params" | "functions":
            return st.dictionaries(keys, odd_values() | st.lists(odd_values(), max_size=2), max_size=2)
        case "types":
            return st.dictionaries(keys, st.lists(odd_values(), max_size=2) | odd_values(), max_size=2)
        case "order_by":
            return st.lists(odd_values() | st.sampled_from(PLAIN.names), max_size=2)
    return odd_values() | st.sampled_from([*PLAIN.names, "hours", "fortnights"])
