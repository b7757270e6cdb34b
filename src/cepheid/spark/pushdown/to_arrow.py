"""Predicates as expressions of pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.spark.pushdown.predicate import AllOf, AnyOf, CompareColumns, CompareConstant, NullTest, OneOf, Predicate

_OPERATORS: dict[str, Callable[..., pc.Expression]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def arrow_expression(where: Predicate, column: Callable[[str], pc.Expression] = pc.field) -> pc.Expression:
    """Return a predicate as an expression of pyarrow; or as booleans, if `column` returns the values of a column."""
    match where:
        case AllOf(operands=operands) | AnyOf(operands=operands):
            is_all = isinstance(where, AllOf)
            if not operands:
                return pc.scalar(is_all)
            connective = pc.and_kleene if is_all else pc.or_kleene
            return reduce(connective, (arrow_expression(operand, column) for operand in operands))
        case NullTest(tested=str(name), negated=negated):
            return pc.is_valid(column(name)) if negated else pc.is_null(column(name))
        case CompareColumns(left=str(left), operator=operator, right=str(right)):
            return _OPERATORS[operator](column(left), column(right))
        case OneOf(tested=str(name), values=values, type=type_):
            tested, choices = column(name), pa.array(values, _constant_type(type_))
            if isinstance(tested, pa.DictionaryArray):
                return pc.is_in(tested.dictionary, value_set=choices).take(tested.indices)
            return pc.is_in(tested, value_set=choices)
        case CompareConstant(tested=str(name), operator=operator, value=value, type=type_):
            tested = column(name)
            if pa.types.is_floating(plain(type_)) and plain(type_) != pa.float64():
                tested = tested.cast(pa.float64())  # in 32 bits the constant 0.1 would be rounded too
            comparison = _OPERATORS[operator](tested, pa.scalar(value, _constant_type(type_)))
            return pc.or_kleene(comparison, pc.is_nan(column(name))) if where.admits_nan else comparison
    raise TypeError(f"no expression for {type(where).__name__}")


def _constant_type(type_: Type) -> pa.DataType:
    """Return the type of a constant: that of the column, but numbers in full width, as they may not fit the column."""
    wide = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.STRING: pa.string()}
    return wide.get(type_.kind, plain(type_))
