"""Predicates as conditions of Spark."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.pattern.durations import ARROW_UNITS
from cepheid.pattern.timestamps import print_timestamp
from cepheid.pattern.types import Kind, Type, plain, zone_of
from cepheid.spark.names import column_named
from cepheid.spark.pushdown.predicate import (
    AllOf,
    AnyOf,
    CompareColumns,
    CompareConstant,
    Constant,
    IsNull,
    OneOf,
    Predicate,
)

_OPERATORS: dict[str, Any] = {
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def spark_condition(where: Predicate) -> Column:
    """Return a predicate as a boolean column of Spark."""
    match where:
        case AllOf(operands=operands) | AnyOf(operands=operands):
            is_all = isinstance(where, AllOf)
            if not operands:
                return F.lit(is_all)
            return reduce(and_ if is_all else or_, map(spark_condition, operands))
        case IsNull(column=name, negated=negated):
            return column_named(name).isNotNull() if negated else column_named(name).isNull()
        case CompareColumns(left=left, operator=operator, right=right):
            columns: Column = _OPERATORS[operator](column_named(left), column_named(right))
            return columns
        case OneOf(column=name, values=values):
            return column_named(name).isin(list(values))
        case CompareConstant(column=name, operator=operator, value=value, type=type_):
            comparison: Column = _OPERATORS[operator](column_named(name), _constant(value, type_))
            # NaN is greater than any number, but the statistics of a Parquet row group leave it out, and a reader
            # would skip groups that have it. It does not skip by a condition that contains isnan.
            return comparison | F.isnan(column_named(name)) if where.admits_nan else comparison
    raise TypeError(f"no condition for {type(where).__name__}")


def _constant(value: Constant, type_: Type) -> Column:
    if type_.kind is Kind.DATE:
        return F.date_from_unix_date(F.lit(value))  # a literal of Java before 1582 would be in another calendar
    if type_.kind is Kind.TIMESTAMP:
        assert isinstance(value, int)
        nanoseconds = value * ARROW_UNITS[plain(type_).unit]
        if zone_of(type_) is not None:
            return F.timestamp_micros(F.lit(nanoseconds // 1000))
        return F.lit(print_timestamp(nanoseconds, zoned=False)).cast("timestamp_ntz")
    return F.lit(value)
