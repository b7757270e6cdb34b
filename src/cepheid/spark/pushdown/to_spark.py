"""Predicates as conditions of Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.timestamps import print_timestamp
from cepheid.pattern.expressions.types import Kind, Type, plain, zone_of
from cepheid.spark.names import column_named
from cepheid.spark.pushdown.computed import Computed, Operand
from cepheid.spark.pushdown.predicate import (
    AllOf,
    AnyOf,
    CompareColumns,
    CompareConstant,
    Constant,
    NullTest,
    OneOf,
    Predicate,
    computed_in,
)

_OPERATORS: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def spark_condition(where: Predicate) -> Column:
    """Return a predicate as a boolean column of Spark."""
    if isinstance(where, AllOf | AnyOf):
        is_all = isinstance(where, AllOf)
        if not where.operands:
            return F.lit(is_all)
        return reduce(and_ if is_all else or_, map(spark_condition, where.operands))
    doubts = [doubt.column() for tested in computed_in(where) for doubt in tested.doubts]
    test = _test(where)
    return F.when(reduce(or_, doubts), F.lit(True)).otherwise(test) if doubts else test


def _test(leaf: Predicate) -> Column:
    match leaf:
        case NullTest(tested=tested, negated=negated):
            return _column(tested).isNotNull() if negated else _column(tested).isNull()
        case CompareColumns(left=left, operator=operator, right=right):
            columns: Column = _OPERATORS[operator](_column(left), _column(right))
            return columns
        case OneOf(tested=tested, values=values):
            return _column(tested).isin(list(values))
        case CompareConstant(tested=tested, operator=operator, value=value, type=type_):
            comparison: Column = _OPERATORS[operator](_column(tested), _constant(value, type_))
            # NaN is greater than any number, but the statistics of a Parquet row group leave it out, and a reader
            # would skip groups that have it. It does not skip by a condition that contains isnan.
            return comparison | F.isnan(_column(tested)) if leaf.admits_nan else comparison
    raise TypeError(f"no condition for {type(leaf).__name__}")


def _column(tested: Operand) -> Column:
    return tested.column() if isinstance(tested, Computed) else column_named(tested)


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
