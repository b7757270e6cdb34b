"""Spark's schemas as Arrow's and back: what a match over a DataFrame's events will look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from cepheid.api import Query
from cepheid.engine.pipeline import Pipeline
from cepheid.errors import BindError, InputError, UsageError, did_you_mean
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.schema import make_schema
from cepheid.pattern.types import Kind

_ALIKE: tuple[tuple[type[st.DataType], pa.DataType], ...] = (
    (st.BooleanType, pa.bool_()),
    (st.ByteType, pa.int8()),
    (st.ShortType, pa.int16()),
    (st.IntegerType, pa.int32()),
    (st.LongType, pa.int64()),
    (st.FloatType, pa.float32()),
    (st.DoubleType, pa.float64()),
    (st.StringType, pa.string()),
    (st.BinaryType, pa.binary()),
    (st.DateType, pa.date32()),
    (st.TimestampNTZType, pa.timestamp("us")),
    (st.DayTimeIntervalType, pa.duration("us")),
    (st.NullType, pa.null()),
)


def events_schema(schema: st.StructType, zone: str) -> pa.Schema:
    """The columns of a DataFrame as its Python workers see them; timestamps are shown in the session's zone."""
    fields = []
    for field in schema:
        try:
            fields.append(pa.field(field.name, _to_arrow(field.dataType, zone)))
        except TypeError as error:
            message = f"the column '{field.name}' is of Spark's type {error}, which has no form in Arrow"
            raise InputError("CEP403", message, f"drop or cast it: df.drop('{field.name}')") from None
    return pa.schema(fields)


def odd_strings(schema: st.StructType) -> frozenset[str]:
    """The columns of strings that Spark does not compare byte by byte: collated ones, and CHAR, which it pads."""
    return frozenset(
        field.name
        for field in schema
        if isinstance(field.dataType, st.StringType)
        and (field.dataType != st.StringType() or "__CHAR_VARCHAR_TYPE_STRING" in (field.metadata or {}))
    )


def _to_arrow(type_: st.DataType, zone: str) -> pa.DataType:
    if isinstance(type_, st.TimestampType):
        return pa.timestamp("us", tz=zone)
    if isinstance(type_, st.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, st.ArrayType):
        return pa.list_(_to_arrow(type_.elementType, zone))
    if isinstance(type_, st.MapType):
        return pa.map_(_to_arrow(type_.keyType, zone), _to_arrow(type_.valueType, zone))
    if isinstance(type_, st.StructType):
        return pa.struct([(field.name, _to_arrow(field.dataType, zone)) for field in type_])
    for spark, arrow in _ALIKE:
        if isinstance(type_, spark):
            return arrow
    raise TypeError(type_.simpleString())


def spark_schema(schema: pa.Schema) -> st.StructType:
    """Columns that workers give, as Spark's."""
    return st.StructType([st.StructField(field.name, _to_spark(field.type)) for field in schema])


def _to_spark(arrow: pa.DataType) -> st.DataType:
    if pa.types.is_timestamp(arrow):
        return st.TimestampType() if arrow.tz else st.TimestampNTZType()
    if pa.types.is_decimal(arrow):
        return st.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_map(arrow):
        return st.MapType(_to_spark(arrow.key_type), _to_spark(arrow.item_type))
    if pa.types.is_list(arrow):
        return st.ArrayType(_to_spark(arrow.value_type))
    if pa.types.is_struct(arrow):
        return st.StructType([st.StructField(field.name, _to_spark(field.type)) for field in arrow])
    return next(spark() for spark, own in _ALIKE if own == arrow)


def match_schema(query: Query, events: pa.Schema, output: str | None = None) -> pa.Schema:
    """The columns of a match in Arrow's types that Spark has too: times in microseconds, plain strings."""
    bound = bound_queries(query, events)[output_number(query, output)]
    fields = []
    declared = {r.name: _declared(bound, r.expression) for r in bound.returns if r.type.kind is Kind.ANY}
    for field in bound.match_schema():
        fields.append(pa.field(field.name, declared.get(field.name) or _plain(field.type)))
    return pa.schema(fields)


def bound_queries(query: Query, events: pa.Schema) -> list[Bound]:
    """The queries of a program, each bound to the columns that it reads."""
    pipeline = Pipeline(query._plan("interpreted", 0), make_schema(events, query._roles))
    return [stage.query for stage in pipeline.stages]


def output_number(query: Query, output: str | None) -> int:
    """Which query of a program gives the matches."""
    if output is None:
        return len(query._analysed) - 1
    names = [analysed.query.into for analysed in query._analysed]
    if output not in names:
        known = [name for name in names if name is not None]
        raise UsageError("CEP603", f"no query of the program makes '{output}'", did_you_mean(output, known, "outputs"))
    return names.index(output)


def _plain(arrow: pa.DataType) -> pa.DataType:
    if isinstance(arrow, pa.DictionaryType):
        return _plain(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", tz=arrow.tz)
    if pa.types.is_duration(arrow):
        return pa.duration("us")
    if pa.types.is_large_string(arrow):
        return pa.string()
    return arrow


_ANNOTATED: Mapping[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _declared(bound: Bound, expression: ex.Expression) -> pa.DataType:
    """What a user function returns: Spark must know before there is a value."""
    if isinstance(expression, ex.Call) and expression.function in bound.functions:
        name, returned = expression.function, _annotation(bound.functions[expression.function])
        if returned in _ANNOTATED:
            return _ANNOTATED[returned]
        message = f"Spark must know the type of what {name}(…) returns before it runs"
        raise BindError("CEP908", message, f"annotate it: def {name}(…) -> float", expression.span)
    message = "Spark must know the type of a column before it runs, and this one is computed from a user function"
    raise BindError("CEP908", message, "return the function's own value, annotated: def f(…) -> float", expression.span)


def _annotation(function: Callable[..., object]) -> object:
    try:
        found: object = inspect.get_annotations(function, eval_str=True).get("return")
    except (NameError, TypeError, ValueError):
        return None
    optional = [a for a in getattr(found, "__args__", ()) if a is not type(None)]
    return optional[0] if len(optional) == 1 else found
