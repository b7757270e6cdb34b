"""The events of each partition in order, and which of them have to be gone over again when some are new or gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engine.encoding.grown import Grown
from cepheid.engine.stream.arrivals import arrange
from cepheid.engine.stream.event_arrays import EventArrays
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.partition_order import PLACES


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Events that are gone over, partition by partition, as `kernel.stretches` finds them."""

    events: np.ndarray
    skip: np.ndarray
    recent: np.ndarray
    partitions: np.ndarray
    ends: np.ndarray
    kinds: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """How many events each part has."""
        lengths = self.ends.copy()
        lengths[1:] -= self.ends[:-1]
        return lengths

    @property
    def only_follow(self) -> bool:
        """Whether all events are new, and after all others of their partitions."""
        return not self.kinds.any()

    def note(self, left: np.ndarray, quiet: np.ndarray, changed: np.ndarray, *, native: bool) -> int:
        """Write down what going over them has left behind each event, and where other matches may end than before.

        Returns how many of them were not skipped.
        """
        numbers = (a.view(np.uint8) for a in (left, quiet, changed))
        left, quiet, changed = numbers
        arguments = self.events, left, len(left), self.recent, quiet, changed, self.ends, self.kinds, len(self.kinds)
        return run_on_arrays("note_parts", *arguments, native=native)


class PartitionOrder:
    """The events that are in a partition and not too far ahead, by partition, and in each by the order of S1."""

    def __init__(self, known: EventArrays) -> None:
        self.known = known
        self.events = Grown(np.uint32)
        self.tied = False  # whether events of one partition ever had the same time

    def change(self, fresh: np.ndarray, gone: np.ndarray, reach: int | None, *, timed: bool, native: bool) -> Parts:
        """Put new events in their places and drop others; what has to be gone over again.

        reach: after how many ticks (timed) or events of a partition an event does not matter any more; None: a quiet
        partition tells.
        """
        known, size, count = self.known, self.events.size, len(fresh) + len(gone)
        fresh, gone = (self._sorted(events, native) for events in (fresh, gone))
        time, partition = known.time.all, known.partition.all
        self.events.add(fresh)
        order = self.events.all
        if len(fresh) and run_on_arrays("merge_events", order, size, fresh, len(fresh), time, partition, native=native):
            self.tied = True
            self._arrange()
        facts = (flags.all.view(np.uint8) for flags in (known.there, known.seen, known.quiet))
        events, recent = np.empty(len(order), np.uint32), np.empty(len(order), np.uint8)
        skip = np.empty(len(order), np.int64)
        partitions, ends, kinds = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.uint8)
        some = gone if len(gone) else order  # an empty array takes longer to pass
        asked = fresh if len(fresh) else order, len(fresh), some, len(gone), int(timed), -1 if reach is None else reach
        made = events, skip, recent, partitions, ends, kinds
        parts = run_on_arrays("find_parts", order, len(order), time, partition, *facts, *asked, *made, native=native)
        if len(gone):
            there = known.there.all.view(np.uint8)
            self.events.size = run_on_arrays("drop_events", order, len(order), there, native=native)
        total = int(ends[parts - 1]) if parts else 0
        return Parts(*(a[:total] for a in (events, skip, recent)), *(a[:parts] for a in (partitions, ends, kinds)))

    def _sorted(self, events: np.ndarray, native: bool) -> np.ndarray:
        """Events by partition and time."""
        ordered = events.astype(np.uint32)
        if len(ordered) < 2:
            return ordered
        spare, heads = np.empty(len(ordered), np.uint32), np.empty(PLACES, np.uint32)
        arguments = ordered, len(ordered), self.known.time.all, self.known.partition.all, spare, heads
        run_on_arrays("sort_events", *arguments, native=native)
        return ordered

    def _arrange(self) -> None:
        """New events have the time of others of their partition: then the content decides."""
        known, events = self.known, self.events.all
        time, partition = known.time.all[events], known.partition.all[events]
        tied = np.zeros(len(events) + 1, bool)
        tied[1:-1] = (time[1:] == time[:-1]) & (partition[1:] == partition[:-1])
        group = np.cumsum(~tied[:-1]) - 1
        has_new = np.zeros(int(group[-1]) + 1, bool)
        has_new[group[~known.seen.all[events]]] = True
        among = np.flatnonzero((tied[:-1] | tied[1:]) & has_new[group])
        place = arrange(known.log.schema, known.table(events[among]), group[among])
        if place is not None:
            events[among] = events[among][place]

    def of(self, wanted: np.ndarray) -> Any:
        """Some events, given by a flag for each, in order."""
        return self.events.all[wanted[self.events.all]]

    def keep(self, wanted: np.ndarray, number: np.ndarray) -> None:
        """Keep some events, given by a flag for each, which get new numbers, in order."""
        self.events.keep(wanted[self.events.all])
        self.events.all[:] = number[self.events.all]

    @property
    def nbytes(self) -> int:
        return self.events.nbytes
