"""Partitions that are ahead of the others: no event that a query could take of them comes before a time (S17a)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.columns import column_values
from cepheid.values.keys import group_key
from cepheid.values.value import Value

Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class PartitionTimes:
    """How far partitions are, in ticks. time_of: that of a key; None if it is no further than all."""

    partitions: Partitioning
    time_of: Callable[[Key], int | None]
    latest: int  # no partition is further than this
    only: tuple[Key, ...] | None = None  # the partitions that are further than before; None: any may be

    def numbered(self, numbers: PartitionIndex) -> Iterator[tuple[int, int]]:
        """The numbers of partitions that are ahead, and how far."""
        for key, partition in numbers.find(numbers.known() if self.only is None else self.only).items():
            time = self.time_of(key)
            if time is not None:
                yield partition, time

    def at(self, watermark: int, key: Key) -> int:
        """How far a partition is where all are at a time."""
        time = None if self.only is not None and key not in self.only else self.time_of(key)
        return watermark if time is None else max(watermark, time)

    def before(self, events: Events, times: np.ndarray) -> np.ndarray:
        """For each event: whether its partition is known up to it."""
        is_before = np.zeros(len(times), bool)
        near = np.flatnonzero(times < self.latest)
        if len(near):
            keys = keys_of(as_table(events).take(pa.array(near)), self.partitions.all)
            limits = {key: self.time_of(key) for key in (set(keys) if self.only is None else self.only)}
            for at, key in zip(near.tolist(), keys, strict=True):
                limit = limits.get(key)
                is_before[at] = limit is not None and times[at] < limit
        return is_before


def keys_of(table: pa.Table, columns: tuple[str, ...]) -> list[Key]:
    """The values of some columns as keys, row by row."""
    values = [[group_key(value) for value in column_values(table.column(name))] for name in columns]
    return list(zip(*values, strict=True)) if columns else [()] * table.num_rows
