"""The events of a log by their numbers: arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.engine.encoding.grown import Grown
from cepheid.engine.stream.event_log import EventLog
from cepheid.kernel.runtime import NIL

NOWHERE = int(NIL)
"""The lane of events that are in none."""


class EventArrays:
    """What is known of each event of a log. Its number is its place in the log.

    seen: whether it was gone over. quiet: whether no run of its lane is under way after it.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.time, self.lane = Grown(np.int64), Grown(np.uint32)
        self.there, self.seen, self.quiet = Grown(bool), Grown(bool), Grown(np.uint8)
        self.columns: dict[str, Grown] = {}

    @property
    def count(self) -> int:
        """How many events there are, also those that were retracted."""
        return self.time.size

    @property
    def lane_count(self) -> int:
        """How many lanes they are in, at most."""
        lanes = self.lane.all
        return int(lanes[lanes != NOWHERE].max(initial=0)) + 1

    def add(self, times: Any, lanes: Any, columns: dict[str, Any]) -> Any:
        """Add events at the end; their numbers."""
        first = self.count
        self.time.add(times)
        self.lane.add(lanes)
        self.there.add(np.ones(len(times), bool))
        self.seen.add(np.zeros(len(times), bool))
        self.quiet.add(np.zeros(len(times), np.uint8))
        for name, values in columns.items():
            self.columns.setdefault(name, Grown(values.dtype)).add(values)
        return np.arange(first, self.count)

    def of(self, events: Any) -> dict[str, Any]:
        """The columns of some events."""
        return {name: grown.all[events] for name, grown in self.columns.items()}

    def keep(self, wanted: Any) -> None:
        """Keep some events, which get new numbers, in order."""
        for grown in (self.time, self.lane, self.there, self.seen, self.quiet, *self.columns.values()):
            grown.keep(wanted)

    @property
    def nbytes(self) -> int:
        """How much it takes."""
        arrays = (self.time, self.lane, self.there, self.seen, self.quiet, *self.columns.values())
        return sum(grown.nbytes for grown in arrays)

    def table(self, events: Any) -> Any:
        """Some events as a table."""
        return self.log.take(events)
