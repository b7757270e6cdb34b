"""Values of a column: a few of each type, so that they repeat, including awkward ones."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.pattern.expressions.types import Kind, from_arrow

DAY = date(2024, 2, 28)
MOMENT = datetime(2024, 2, 28, 23, 59, 59)
_TEXTS = ["a", "b", "", "ab", "A", "a%", "_", "é", " a "]
_FLOATS = [0.0, 1.0, 2.0, 0.5, -1.5, -0.0, math.nan, math.inf, -math.inf, 1e308, 5e-324]


@cache
def values(arrow: pa.DataType) -> st.SearchStrategy[object]:
    """Values of an Arrow type, without NULL.

    Small ones are frequent: tests need equal values, ties and neighbours.
    """
    if isinstance(arrow, pa.DictionaryType):
        return values(arrow.value_type)
    if pa.types.is_map(arrow):
        pairs = st.tuples(st.sampled_from(["k", "a", ""]), values(arrow.item_type))
        return st.lists(pairs, max_size=2, unique_by=lambda pair: pair[0])
    if pa.types.is_list(arrow):
        return st.lists(values(arrow.value_type), max_size=2)
    if pa.types.is_struct(arrow):
        return st.fixed_dictionaries({field.name: st.none() | values(field.type) for field in arrow})
    return _single(arrow)


def _single(arrow: pa.DataType) -> st.SearchStrategy[object]:
    match from_arrow(arrow).kind:
        case Kind.INT:
            return _integers(arrow)
        case Kind.FLOAT:
            return st.integers(0, 3).map(float) | st.sampled_from(_FLOATS)
        case Kind.DECIMAL:
            return st.integers(-150, 350).map(lambda n: Decimal(n).scaleb(-arrow.scale))
        case Kind.STRING:
            return st.sampled_from(_TEXTS[:2]) | st.sampled_from(_TEXTS)
        case Kind.BOOL:
            return st.booleans()
        case Kind.BINARY:
            return st.sampled_from([b"", b"a", b"\x00\xff"])
        case Kind.DATE:
            return st.integers(0, 3).map(lambda n: DAY + timedelta(days=n))
        case Kind.TIMESTAMP:
            zone = UTC if arrow.tz else None
            return st.integers(0, 3).map(lambda n: (MOMENT + timedelta(seconds=n)).replace(tzinfo=zone))
        case Kind.DURATION:
            return st.integers(-1, 3).map(lambda n: timedelta(seconds=n))
        case Kind.NULL:
            return st.none()
    raise TypeError(f"no values of {arrow}")


def _integers(arrow: pa.DataType) -> st.SearchStrategy[int]:
    bits, signed = arrow.bit_width, pa.types.is_signed_integer(arrow)
    # Integers wrap at 64 bits, so the greatest ones must be among them; an unsigned one must fit into 64 bits.
    most = 2 ** (bits - 1) - 1
    least = -most - 1 if signed else 0
    return st.integers(0, 3) | st.integers(0, 3) | st.sampled_from([least, max(least, -1), most])
