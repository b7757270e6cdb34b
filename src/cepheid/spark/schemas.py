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
    """Return the columns with strings that Spark does not compare byte by byte: collated ones, and CHAR, which it pads.

    Such a string may also be inside of a struct, a list or a map.
    """
    return frozenset(
        field.name
        for field in schema
        if _is_collated(field.dataType) or "__CHAR_VARCHAR_TYPE_STRING" in (field.metadata or {})
    )


def _is_collated(type_: st.DataType) -> bool:
    match type_:
        case st.StringType():
            return type_ != st.StringType()
        case st.ArrayType(elementType=inner):
            return _is_collated(inner)
        case st.MapType(keyType=key, valueType=value):
            return _is_collated(key) or _is_collated(value)
        case st.StructType(fields=fields):
            return any(_is_collated(field.dataType) for field in fields)
    return False


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
    return st.StructType([st.StructField(field.name, spark_type(field.type)) for field in schema])


def spark_type(arrow: pa.DataType) -> st.DataType:
    """Return the type of Spark that has the values of one of Arrow."""
    if pa.types.is_timestamp(arrow):
        return st.TimestampType() if arrow.tz else st.TimestampNTZType()
    if pa.types.is_decimal(arrow):
        return st.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_map(arrow):
        return st.MapType(spark_type(arrow.key_type), spark_type(arrow.item_type))
    if pa.types.is_list(arrow):
        return st.ArrayType(spark_type(arrow.value_type))
    if pa.types.is_struct(arrow):
        return st.StructType([st.StructField(field.name, spark_type(field.type)) for field in arrow])
    return next(spark() for spark, arrow_type in _SAME_TYPES if arrow_type == arrow)
