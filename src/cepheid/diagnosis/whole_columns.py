"""The columns of all events of one query: their types, partitions, gaps and values, each worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.diagnosis.facts import EventFacts
from cepheid.engine.encoding.arrow import flags_to_numpy, from_numpy, to_numpy
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.components import Component


class QueryColumns:
    """The events of one query: the table, and their times in ticks. What is derived of them is kept.

    numbers: those of the rows, where the table is a part of another one.
    """

    def __init__(self, query: Runnable, table: pa.Table, times: np.ndarray, numbers: np.ndarray | None = None) -> None:
        self.query = query
        self.table = table
        self.times = times
        self.numbers = numbers
        self._codes: dict[str, np.ndarray] = {}

    @cached_property
    def seen(self) -> EventFacts:
        """How many, of which types, when, and how far apart."""
        time = self.table.column(self.query.schema.roles.time)
        ends = pc.min_max(time).as_py() if len(time) else {"min": None, "max": None}
        tick = self.query.schema.tick
        span = (int(self.times.min()) * tick, int(self.times.max()) * tick) if len(time) else None
        return EventFacts(
            self.table.num_rows,
            self.types,
            None if ends["min"] is None else str(ends["min"]),
            None if ends["max"] is None else str(ends["max"]),
            self.gap,
            int(np.count_nonzero(np.bincount(self.partitions))),
            span,
        )

    @cached_property
    def types(self) -> dict[str, int]:
        """How many events there are of each type."""
        name = self.query.schema.roles.type
        if name is None:
            return {}
        counts = pc.value_counts(self.table.column(name)).to_pylist()
        return {str(count["values"]): count["counts"] for count in counts if count["values"] is not None}

    @cached_property
    def keys(self) -> list[str]:
        """The columns that split the events into partitions."""
        return [name for name in self.query.partitions.all if name in self.table.column_names]

    @cached_property
    def partitions(self) -> np.ndarray:
        """A number for each event, the same for those of one partition."""
        indexes = np.zeros(self.table.num_rows, np.int64)
        for name in self.keys:
            codes = self.codes(name)
            indexes = codes if name is self.keys[0] else _recoded(indexes * (int(codes.max(initial=0)) + 1) + codes)
        return indexes

    def codes(self, name: str) -> np.ndarray:
        """A number for each value of a column; 0 for NULL."""
        if name not in self._codes:
            self._codes[name] = _numbers(self._coded(name))
        return self._codes[name]

    def _coded(self, name: str) -> pa.DictionaryArray:
        column = self.table.column(name)
        if pa.types.is_nested(column.type):
            column = pa.chunked_array([pa.array([str(value) for value in column.to_pylist()])])
        plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(plain, pa.ChunkedArray):
            plain = pa.concat_arrays(plain.chunks) if plain.num_chunks else pa.array([], column.type)
        return plain if isinstance(plain.type, pa.DictionaryType) else plain.dictionary_encode()

    @cached_property
    def gap(self) -> int | None:
        """The median distance of an event from the one before it in its partition, in nanoseconds."""
        times = np.asarray(self.times)
        if (times[1:] >= times[:-1]).all():
            order = np.argsort(self.partitions, kind="stable") if self.keys else slice(None)
        else:
            order = np.lexsort((times, self.partitions))
        apart = np.diff(times[order])[np.diff(self.partitions[order]) == 0]
        return int(np.median(apart)) * self.query.schema.tick if len(apart) else None

    def of_types(self, types: Sequence[str]) -> np.ndarray:
        """Which events are of some types; all of them if none is named."""
        name = self.query.schema.roles.type
        if name is None or not types:
            return np.ones(self.table.num_rows, bool)
        wanted = np.array([False, *(value in types for value in self._type_names)])
        flags: np.ndarray = wanted[self.codes(name)]
        return flags

    @cached_property
    def _type_names(self) -> list[str]:
        """The types, in the order of their numbers."""
        names: list[str] = self._coded(str(self.query.schema.roles.type)).dictionary.to_pylist()
        return names

    def of(self, component: Component, name: str) -> pa.ChunkedArray:
        """A column of the events that are of the types of a component."""
        column = self.table.column(name)
        if self.query.schema.roles.type is None or not component.types or self.types.keys() <= set(component.types):
            return column
        return column.filter(from_numpy(self.of_types(component.types)))

    def values(self, component: Component, name: str) -> list[Any]:
        """The different values of a column in the events of a component; without NULL."""
        column_values = pc.unique(self.of(component, name)).to_pylist()
        return [value for value in column_values if value is not None]


def _recoded(numbers: np.ndarray) -> np.ndarray:
    """The same numbers from 0 on, without those in between that do not occur."""
    return to_numpy(pa.array(numbers).dictionary_encode().indices.cast(pa.int64()))


def _numbers(coded: pa.DictionaryArray) -> np.ndarray:
    """Which value of its dictionary each one is, from 1; 0 for NULL."""
    numbers = coded.indices.cast(pa.int64())
    return np.where(flags_to_numpy(numbers.is_valid()), to_numpy(numbers), -1) + 1
