"""Structs without the fields that a query does not read.

The content of a struct breaks ties of time, field by field (S1). So only the fields after the last one that is read can
stay behind, and only of the last column that is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A struct column as it is, and as it is sent."""

    whole: pa.DataType
    sent: pa.DataType

    def of(self, column: Column) -> Column:
        """Return the struct that is sent, NULL where the column is."""
        return _narrowed(column, self.whole, self.sent)

    def dropped(self, name: str) -> Iterator[str]:
        """Yield the fields that are not sent, with the names of those that they are in."""
        return _dropped(name, self.whole, self.sent)


def narrow(arrow: pa.DataType, paths: frozenset[tuple[str, ...]]) -> Narrowed | None:
    """Return a struct without the fields after those that are read; None if all of it is sent."""
    sent = _without_later(arrow, paths)
    return None if sent == arrow else Narrowed(arrow, sent)


def _without_later(arrow: pa.DataType, paths: frozenset[tuple[str, ...]]) -> pa.DataType:
    if not pa.types.is_struct(arrow) or () in paths:
        return arrow
    names = [field.name for field in arrow]
    if len({name.lower() for name in names}) < len(names):
        return arrow  # Spark may not tell them apart
    last = max(names.index(path[0]) for path in paths)
    inner = _without_later(arrow.field(last).type, frozenset(path[1:] for path in paths if path[0] == names[last]))
    return pa.struct([*(arrow.field(k) for k in range(last)), arrow.field(last).with_type(inner)])


def _narrowed(column: Column, whole: pa.DataType, sent: pa.DataType) -> Column:
    if whole == sent:
        return column
    fields = (
        _narrowed(column.getField(field.name), whole.field(field.name).type, field.type).alias(field.name)
        for field in sent
    )
    return F.when(column.isNotNull(), F.struct(*fields))


def _dropped(name: str, whole: pa.DataType, sent: pa.DataType) -> Iterator[str]:
    if whole == sent:
        return
    last = sent.num_fields - 1
    yield from _dropped(f"{name}.{sent.field(last).name}", whole.field(last).type, sent.field(last).type)
    yield from (f"{name}.{whole.field(k).name}" for k in range(last + 1, whole.num_fields))
