"""Schemas of events: time, type and attributes of every kind, also of kinds that expressions can't use."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.testing.strategies.sorts import Sort, sort_of

TIME, TYPE, KEY = "ts", "type", "k"

ATTRIBUTES: dict[str, tuple[pa.DataType, ...]] = {
    "x": (pa.int64(), pa.int8(), pa.uint16()),
    "y": (pa.int64(), pa.int32()),
    "f": (pa.float64(), pa.float32()),
    "d": (pa.decimal128(7, 2), pa.decimal128(9, 0)),
    "s": (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())),
    "b": (pa.bool_(),),
    "day": (pa.date32(),),
    "at": (pa.timestamp("us"), pa.timestamp("s"), pa.timestamp("ns")),
    "zoned": (pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Paris")),
    "took": (pa.duration("us"),),
    "raw": (pa.binary(),),
    "items": (pa.list_(pa.int64()), pa.struct([("u", pa.float64())]), pa.list_(pa.struct([("x", pa.int64())]))),
    "nest": (
        pa.struct([("x", pa.int64()), ("in", pa.struct([("s", pa.string()), ("f", pa.float64())]))]),
        pa.struct([("s", pa.string()), ("at", pa.timestamp("us")), ("tags", pa.list_(pa.string()))]),
    ),
    "props": (pa.map_(pa.string(), pa.int64()),),
    "nothing": (pa.null(),),
}
"""Columns by name, each with the types that it may have."""

NESTED = pa.schema(
    [(TIME, pa.int64()), (TYPE, pa.string()), (KEY, pa.int64()), ("x", pa.int64())]
    + [(name, ATTRIBUTES[name][0]) for name in ("items", "nest", "props")]
)
"""A schema with a list, a struct and a map."""

TIMES = (pa.int64(), pa.int32(), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.date32())
"""Types that a time column may have."""

PLAIN = pa.schema(
    [(TIME, pa.int64()), (TYPE, pa.string()), (KEY, pa.int64()), ("x", pa.int64()), ("y", pa.int64())]
    + [(name, ATTRIBUTES[name][0]) for name in ("f", "s", "b")]
)
"""A schema for tests where the types of the columns do not matter."""


@st.composite
def schemas(draw: st.DrawFn, *, typed: bool = True, min_attributes: int = 1, max_attributes: int = 5) -> pa.Schema:
    """Arrow schemas: `ts`, `type` where `typed`, a key `k`, and some attributes, in any order."""
    chosen = draw(
        st.lists(st.sampled_from(list(ATTRIBUTES)), min_size=min_attributes, max_size=max_attributes, unique=True)
    )
    columns = [(TIME, draw(st.sampled_from(TIMES))), (KEY, pa.int64())]
    if typed:
        columns.append((TYPE, draw(st.sampled_from([pa.string(), pa.dictionary(pa.int32(), pa.string())]))))
    columns += [(name, draw(st.sampled_from(ATTRIBUTES[name]))) for name in chosen]
    return pa.schema(draw(st.permutations(columns)))


def tick(schema: pa.Schema) -> str:
    """The unit in which streams of a schema count their time: windows of some of them matter.

    >>> tick(PLAIN)
    'milliseconds'
    """
    return "days" if sort_of(schema.field(TIME).type) is Sort.DATE else "milliseconds"
