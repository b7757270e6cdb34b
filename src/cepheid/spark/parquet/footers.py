"""The footers of Parquet files: whether pyarrow and Spark read the same values from their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.spark.parquet.not_direct import NotDirect


@dataclass(frozen=True, slots=True)
class Footer:
    """The metadata of a file, and its columns as pyarrow reads them."""

    metadata: pq.FileMetaData
    schema: pa.Schema


def read_footer(path: str) -> Footer:
    """Read the footer of a file; raise `NotDirect` if pyarrow cannot."""
    try:
        with pq.ParquetFile(path) as file:
            return Footer(file.metadata, file.schema_arrow)
    except (OSError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise NotDirect(f"pyarrow can't read the footer of {_name(path)}: {reason}") from None


def check_columns(path: str, footer: Footer, events: pa.Schema) -> None:
    """Raise `NotDirect` if pyarrow might read other values than Spark from a column that is needed."""
    names = [name.lower() for name in footer.schema.names]
    for field in events:
        if names.count(field.name.lower()) != 1 or field.name not in footer.schema.names:
            raise NotDirect(f"{_name(path)} does not have exactly one column {field.name}")
        stored = footer.schema.field(field.name).type
        if not _reads_alike(stored, field.type):
            where = f"column {field.name} is {stored} in {_name(path)}"
            raise NotDirect(f"{where}, and it is not certain that Spark reads it as {field.type} like pyarrow")
    metadata: Mapping[bytes, bytes] = footer.metadata.metadata or {}
    if has_dates(events):
        if any(key.startswith(b"org.apache.spark.legacy") for key in metadata):
            raise NotDirect(f"{_name(path)} has dates in the legacy calendar")
        if metadata.get(b"org.apache.spark.version", b"3") < b"3":
            raise NotDirect(f"{_name(path)} was written by a Spark before 3.0, which used another calendar")


def has_dates(schema: pa.Schema) -> bool:
    """Tell whether there are dates or timestamps, which Spark may convert between calendars."""
    return any(from_arrow(field.type).kind in (Kind.DATE, Kind.TIMESTAMP) for field in schema)


def _reads_alike(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether pyarrow and Spark read the same values from a column of one type as the other."""
    if isinstance(stored, pa.DictionaryType):
        stored = stored.value_type
    if pa.types.is_large_string(stored):
        stored = pa.string()
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(wanted):
        return bool(stored.unit == wanted.unit and (stored.tz is None) == (wanted.tz is None))
    return stored == wanted and not pa.types.is_nested(stored) and not pa.types.is_null(stored)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
