"""The result type of an expression, as far as generation needs it: the kinds of the language, timestamps by zone."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa

from cepheid.pattern.expressions.types import Kind, from_arrow, zone_of


class Sort(Enum):
    """A kind of values that may be compared with each other (numbers also across sorts)."""

    INT = Kind.INT
    FLOAT = Kind.FLOAT
    DECIMAL = Kind.DECIMAL
    STRING = Kind.STRING
    BOOL = Kind.BOOL
    DATE = Kind.DATE
    LOCAL = Kind.TIMESTAMP  # without a zone
    ZONED = "timestamp with zone"
    DURATION = Kind.DURATION


NUMBERS = (Sort.INT, Sort.FLOAT, Sort.DECIMAL)
MOMENTS = (Sort.LOCAL, Sort.ZONED)


def sort_of(arrow: pa.DataType) -> Sort | None:
    """The sort of a column, or None if expressions can't use it.

    >>> sort_of(pa.int8()), sort_of(pa.timestamp("us", "UTC")), sort_of(pa.list_(pa.int8()))
    (<Sort.INT: <Kind.INT: 'integer'>>, <Sort.ZONED: 'timestamp with zone'>, None)
    """
    type_ = from_arrow(arrow)
    if type_.kind is Kind.TIMESTAMP and zone_of(type_) is not None:
        return Sort.ZONED
    return next((sort for sort in Sort if sort.value is type_.kind), None)
