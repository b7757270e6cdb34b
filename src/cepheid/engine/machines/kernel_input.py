"""What kernels read of the batches of a stream: arrays of the events, and the constants of their query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import Errors, Reader, reader
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventArray
from cepheid.kernel.constants import Constant
from cepheid.pattern.tree.partitioning import Partitioning


class KernelInput:
    """The arguments of the kernels of one query. `nullable`: the columns that have had NULLs, which kernels test."""

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, partitions: Partitioning) -> None:
        self.nullable: frozenset[str] = frozenset()
        self.partitions = partitions
        self.partition_index = codes.partitions(partitions)
        self._compiled = compiled
        self._codes = codes
        self._wanted: Sequence[EventArray] = ()
        self._readers: list[Reader] = []  # of what is wanted

    def learns(self, batch: Batch, columns: Iterable[str]) -> bool:
        """Note which columns have NULLs for the first time; if some have, other kernels are needed."""
        empty = {name for name in columns if name not in self.nullable and batch.has_nulls(name)}
        if empty:
            # A stream that has NULLs in one column may have them in others, and another kernel takes time.
            self.nullable |= empty if self._codes.once else set(columns)
        return bool(empty)

    def arrays(self, wanted: Sequence[EventArray], types: Sequence[str], batch: Batch, errors: Errors) -> list[Any]:
        """The arrays of all events of a batch."""
        if wanted is not self._wanted:
            self._wanted = wanted
            self._readers = [reader(one, self._compiled.flat, self.partition_index, types) for one in wanted]
        arrays = [read(batch, errors) for read in self._readers]
        size = len(batch.times)
        for event_array, array in zip(wanted, arrays, strict=True):
            # Machine code reads all of them by the number of events.
            if len(array) != size and event_array.of_each:
                raise IndexError(f"{event_array.array.name} has {len(array)} values for {size} events")
        return arrays

    def constants(self, constants: Sequence[Constant]) -> list[int | float]:
        """The constants of the query; strings are codes."""
        return [constant.argument(self._codes.strings.code) for constant in constants]


def as_lists(wanted: Sequence[EventArray], arrays: Sequence[Any], begin: int, end: int) -> Iterator[list[Any]]:
    """The arrays of some events for plain Python; what is known of types or times is of all of them."""
    for event_array, array in zip(wanted, arrays, strict=True):
        yield (array[begin:end] if event_array.of_each else array).tolist()
