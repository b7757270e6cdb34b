"""Columns that no event has: what a query computes of one event, once for each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.encoding.columns import Unfit, as_dictionary
from cepheid.errors import EvaluationError
from cepheid.pattern.expressions.nested import is_list
from cepheid.pattern.expressions.types import Kind, Type, from_arrow
from cepheid.values.bindings import Bindings
from cepheid.values.columns import column_values, field_of
from cepheid.values.rows import Event
from cepheid.values.value import Value

EVENT = "event"
"""The variable that the expression of a derived column reads."""
MANY = 64
"""Rows from which on a value is computed once for each distinct one."""

Step = str | int
"""A field of a struct, or the number of an element of a list."""


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """A column that is computed. `steps`: it is a part of a nested column, which Arrow can reach."""

    type: Type
    reads: tuple[str, ...]
    evaluate: Callable[[Bindings], Value]
    steps: tuple[Step, ...] = ()

    def values(self, columns: Sequence[Sequence[Value]]) -> list[Value]:
        """The values of some rows, given those of the columns that it reads."""
        return [self._value(dict(zip(self.reads, row, strict=True))) for row in zip(*columns, strict=True)]

    def _value(self, values: Mapping[str, Value]) -> Value:
        event = Event(0, 0, 0, 0, None, values)
        try:
            return self.evaluate(Bindings({}, {EVENT: event}))
        except EvaluationError as error:  # only some of the events may be asked for it, by a machine that looks at each
            raise Unfit(error.message) from None

    def column(self, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
        """The values of a batch."""
        if self.steps:
            found = columns[0]
            for step in self.steps:
                found = field_of(found, (step,)) if isinstance(step, str) else _element(found, step)
            return found
        simple = from_arrow(columns[0].type).kind is not Kind.OPAQUE
        if len(columns) == 1 and len(columns[0]) > MANY and simple:
            coded = as_dictionary(columns[0])
            distinct = self.values([[*column_values(pa.chunked_array([coded.dictionary])), None]])
            places = coded.indices.cast(pa.int64()).fill_null(len(coded.dictionary))
            return pa.chunked_array([_array(distinct, self.type).take(places)])
        return pa.chunked_array([_array(self.values([column_values(column) for column in columns]), self.type)])


def carried(type_: Type) -> Type:
    """The type of a computed column, wide enough for every value of its kind."""
    zone = getattr(type_.arrow, "tz", None)
    wide = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.TIMESTAMP: pa.timestamp("ns", tz=zone)}
    arrow = {**wide, Kind.DURATION: pa.duration("ns"), Kind.STRING: pa.string()}.get(type_.kind, type_.arrow)
    return Type(type_.kind, arrow)


def _array(values: list[Value], type_: Type) -> pa.Array:
    try:
        if type_.kind in (Kind.TIMESTAMP, Kind.DURATION):
            return pa.array(values, pa.int64()).view(type_.arrow)
        if type_.kind is Kind.DATE:
            return pa.array(values, pa.int32()).cast(pa.date32())
        return pa.array(values, type_.arrow)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise Unfit(f"a computed value does not fit: {error}") from None


def _element(column: pa.ChunkedArray, index: int) -> pa.ChunkedArray:
    """The element of each list; NULL where it has none."""
    if pa.types.is_null(column.type):  # it has had no value yet
        return column
    chunks = [_of_lists(chunk, index) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type.value_type)


def _of_lists(lists: pa.Array, index: int) -> pa.Array:
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        lists = lists.cast(pa.large_list(lists.type.value_type))
    assert is_list(lists.type)
    offsets = to_numpy(lists.offsets.cast(pa.int64()))
    places = offsets[:-1] + index
    there = (index >= 0) & (places < offsets[1:]) & ~np.asarray(lists.is_null().to_numpy(zero_copy_only=False))
    return lists.values.take(pa.array(np.where(there, places, 0), mask=~there, type=pa.int64()))
