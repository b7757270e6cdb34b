"""CAST: the names of types in Spark SQL, and from which kinds of values each can be cast."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from cepheid.errors import did_you_mean
from cepheid.pattern.expressions.types import NUMERIC, Kind, Type, timestamp

_INTEGERS = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64()}
_SIMPLE: Mapping[str, Type] = {
    "BOOLEAN": Type(Kind.BOOL, pa.bool_()),
    **{name: Type(Kind.INT, arrow) for name, arrow in _INTEGERS.items()},
    "FLOAT": Type(Kind.FLOAT, pa.float32()),
    "DOUBLE": Type(Kind.FLOAT, pa.float64()),
    "STRING": Type(Kind.STRING, pa.string()),
    "DATE": Type(Kind.DATE, pa.date32()),
}
_OTHER_NAMES = {
    "BOOL": "BOOLEAN",
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
_NAMES = (*_SIMPLE, "DECIMAL", *_TIMES)
_SPELLED = re.compile(r"\s*(\w+)\s*(?:\(\s*(\d{1,4})\s*(?:,\s*(\d{1,4})\s*)?\))?\s*")

# Spark has functions with the names of the types: double(x), string(x).
CAST_FUNCTIONS = frozenset(
    name.lower() for name in (*_SIMPLE, "DECIMAL", "TIMESTAMP") if name not in ("TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
)

_TEXT = frozenset({Kind.STRING})
_MOMENTS = frozenset({Kind.DATE, Kind.TIMESTAMP})
_FROM: Mapping[Kind, frozenset[Kind]] = {
    Kind.BOOL: NUMERIC | _TEXT | {Kind.BOOL, Kind.TIMESTAMP},
    Kind.INT: NUMERIC | _TEXT | {Kind.BOOL, Kind.TIMESTAMP},
    Kind.FLOAT: NUMERIC | _TEXT | {Kind.BOOL, Kind.TIMESTAMP},
    Kind.DECIMAL: NUMERIC | _TEXT | {Kind.BOOL, Kind.TIMESTAMP},
    Kind.STRING: NUMERIC | _TEXT | _MOMENTS | {Kind.BOOL},
    Kind.DATE: _TEXT | _MOMENTS,
    Kind.TIMESTAMP: NUMERIC | _TEXT | _MOMENTS | {Kind.BOOL},
}


def read_type_name(text: str) -> str:
    """The canonical name of a type; raises ValueError with what to write instead.

    >>> read_type_name("integer"), read_type_name("decimal"), read_type_name("Numeric(7, 2)")
    ('INT', 'DECIMAL(10, 0)', 'DECIMAL(7, 2)')
    """
    spelled = _SPELLED.fullmatch(text)
    word = spelled[1].upper() if spelled else text.strip().upper()
    name = _OTHER_NAMES.get(word, word)
    if name in ("VARCHAR", "CHAR", "TEXT"):
        raise ValueError("write STRING")
    if name not in _NAMES or spelled is None:
        raise ValueError(did_you_mean(name, [*_NAMES, *_OTHER_NAMES], "types"))
    if name != "DECIMAL":
        if spelled[2] is not None:
            raise ValueError(f"write {name} without a length")
        return name
    precision, scale = int(spelled[2] or 10), int(spelled[3] or 0)
    if not 1 <= precision <= 38 or scale > precision:
        raise ValueError("a decimal has at most 38 digits, and no more after the point than in all: DECIMAL(10, 2)")
    return f"DECIMAL({precision}, {scale})"


def cast_type(name: str, zone: str | None) -> Type:
    """The type that a canonical name stands for. `zone`: that of the time column, as Spark's is that of its session."""
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name == "TIMESTAMP_NTZ":
        return timestamp(None)
    if name in _TIMES:
        return timestamp(zone or ("UTC" if name == "TIMESTAMP_LTZ" else None))
    precision, scale = map(int, re.findall(r"\d+", name))
    return Type(Kind.DECIMAL, pa.decimal128(precision, scale))


def can_cast(source: Kind, target: Kind) -> bool:
    """Whether Spark gives such a cast a value; what a user function returns is known only when it runs."""
    return source in (Kind.NULL, Kind.ANY) or source in _FROM[target]
