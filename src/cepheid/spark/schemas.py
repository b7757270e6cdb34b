"""Conversion between the schemas of Spark and of Arrow."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as st

from cepheid.errors import InputError

_SAME_TYPES: tuple[tuple[type[st.DataType], pa.DataType], ...] = (
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
    """Return the columns of a DataFrame as its Python workers receive them; timestamps are in the session's zone."""
    fields = []
    for field in schema:
        try:
            fields.append(pa.field(field.name, _to_arrow(field.dataType, zone)))
        except TypeError as error:
            message = f"column '{field.name}' has Spark's type {error}, which Arrow does not have"
            raise InputError("CEP403", message, f"drop or cast it: df.drop('{field.name}')") from None
    return pa.schema(fields)


def collated_columns(schema: st.StructType) -> frozenset[str]:
    """Return the string columns that Spark does not compare byte by byte: with a collation, and CHAR, which it pads."""
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
    for spark, arrow in _SAME_TYPES:
        if isinstance(type_, spark):
            return arrow
    raise TypeError(type_.simpleString())


def spark_schema(schema: pa.Schema) -> st.StructType:
    """Return the columns that workers produce as a schema of Spark."""
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
    return next(spark() for spark, own in _SAME_TYPES if own == arrow)
