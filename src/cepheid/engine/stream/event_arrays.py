"""The events of a log by their numbers: arrays that grow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.grown import Grown
from cepheid.engine.stream.event_log import EventLog
from cepheid.kernel.runtime import NIL

NOWHERE = int(NIL)
"""The partition of events that are in none."""


class EventArrays:
    """What is known of each event of a log. Its number is its place in the log.

    seen: whether it was gone over. quiet: whether no run of its partition is under way after it.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.time, self.partition = Grown(np.int64), Grown(np.uint32)
        self.there, self.seen, self.quiet = Grown(bool), Grown(bool), Grown(np.uint8)
        self.columns: dict[str, Grown] = {}

    @property
    def count(self) -> int:
        """How many events there are, also those that were retracted."""
        return self.time.size

    @property
    def partition_count(self) -> int:
        """How many partitions they are in, at most."""
        partitions = self.partition.all
        return int(partitions[partitions != NOWHERE].max(initial=0)) + 1

    def add(self, times: np.ndarray, partitions: np.ndarray, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Add events at the end; their numbers."""
        first = self.count
        self.time.add(times)
        self.partition.add(partitions)
        self.there.add(np.ones(len(times), bool))
        self.seen.add(np.zeros(len(times), bool))
        self.quiet.add(np.zeros(len(times), np.uint8))
        for name, values in columns.items():
            self.columns.setdefault(name, Grown(values.dtype)).add(values)
        return np.arange(first, self.count)

    def of(self, events: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of some events."""
        return {name: grown.all[events] for name, grown in self.columns.items()}

    def keep(self, wanted: np.ndarray) -> None:
        """Keep some events, which get new numbers, in order."""
        for grown in (self.time, self.partition, self.there, self.seen, self.quiet, *self.columns.values()):
            grown.keep(wanted)

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take."""
        arrays = (self.time, self.partition, self.there, self.seen, self.quiet, *self.columns.values())
        return sum(grown.nbytes for grown in arrays)

    def table(self, events: np.ndarray) -> pa.Table:
        """Some events as a table."""
        return self.log.take(events)
