"""Constants of a query as exact values of a column's type."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.spark.pushdown.predicate import Constant, NotPushable
from cepheid.values.value import Value

_EXACT = 2**53
"""Doubles below it that are whole numbers equal one integer only."""


def literal_of(node: ex.Expression) -> ex.Literal:
    """Return a literal, with the sign in front of it; raise if the expression is anything else."""
    if isinstance(node, ex.Minus) and isinstance(node.operand, ex.Literal):
        value = node.operand.value
        if isinstance(value, int | float | Decimal) and node.operand.type.kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
            return replace(node.operand, value=-value)
    if isinstance(node, ex.Literal):
        return node
    raise NotPushable(why_computed(node))


def why_computed(node: ex.Expression) -> str:
    """Say why an expression that is neither a column nor a literal is not pushed down."""
    match node:
        case ex.Call(function=name):
            return f"it calls {name}"
        case ex.Arithmetic() | ex.Minus():
            return "it computes a value, which may depend on spark.sql.ansi.enabled"
    return "only comparisons of a column with a constant or a column are pushed down"


def exact_value(literal: ex.Literal, column: Type) -> Constant:
    """Convert a literal to the type of a column; raise if the value would change."""
    value: Value = literal.value
    match column.kind, literal.type.kind:
        case Kind.INT, Kind.INT if not pa.types.is_uint64(plain(column)):
            return int(value)
        case Kind.INT, Kind.FLOAT | Kind.DECIMAL if abs(value) < _EXACT and value == int(value):
            return int(value)
        case Kind.FLOAT, Kind.INT | Kind.FLOAT | Kind.DECIMAL if math.isfinite(value):
            return float(value)
        case Kind.DECIMAL, Kind.INT | Kind.DECIMAL if pa.types.is_decimal128(plain(column)):
            exact = _decimal(Decimal(value), plain(column))
            if exact is not None:
                return exact
        case (Kind.STRING, Kind.STRING) | (Kind.BOOL, Kind.BOOL):
            return value  # type: ignore[no-any-return]
        case Kind.DATE, Kind.DATE if pa.types.is_date32(plain(column)):
            return int(value)
        case Kind.TIMESTAMP, Kind.TIMESTAMP:
            count, finer = divmod(value, ARROW_UNITS[plain(column).unit])
            if not finer and -(2**63) < count < 2**63:
                return int(count)
    raise NotPushable(f"the constant is not an exact value of type {column}")


def _decimal(value: Decimal, arrow: pa.DataType) -> Decimal | None:
    try:
        return pa.scalar(value, arrow).as_py()  # type: ignore[no-any-return]
    except (pa.ArrowInvalid, ValueError):
        return None
