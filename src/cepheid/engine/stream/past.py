"""Which events before the watermark a change to come can need.

A change begins at the watermark or later, and goes over its partition again from a window before it. Of what is there,
only events matter from which on a run has been under way that the watermark has not ended: runs do not know what was
before their first event. So where windows are long, partitions are gone over as they were at the watermark, and their
runs tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.machines.replay_scan import ReplayScan
from cepheid.engine.stream.event_arrays import NOWHERE
from cepheid.engine.stream.partition_order import PartitionOrder
from cepheid.kernel.runtime import NEVER

MANY = 1 << 12
"""Events that are replayed at a time to find out which are needed, if they are not of one partition: runs take room."""
MUCH = 3
"""It is asked which events before the watermark are needed where those since then are at most so many times as many."""
_LATEST = 2**63 - 1


class Past:
    """The events of partitions that may be needed though the watermark has passed them.

    reach: after how many ticks (`timed`), or events of a partition, an event does not matter any more; None: partitions
    are often without runs, and what was before that does not matter.
    by_runs: whether nothing but its runs is known of a partition. Where an event must be absent before others, that is
    more.
    """

    def __init__(
        self, machine: ReplayScan, order: PartitionOrder, reach: int | None, *, timed: bool, by_runs: bool
    ) -> None:
        self.machine = machine
        self.order = order
        self.events = order.known
        self.reach = reach
        self.timed = timed
        self.by_runs = by_runs and reach is not None
        self.steps = 0  # events that were gone over to find out what is needed, the last time
        self._enough = 0  # events before the watermark that are not looked at

    def needed(self, watermark: int, limits: np.ndarray, standing: np.ndarray, errors: Errors, few: int) -> np.ndarray:
        """Flags for the events that are needed: those since the watermark, and some before it.

        limits: of each event, how far its partition is: the watermark, or later.
        standing: the events of matches that may change. errors: what could not be computed of an event.
        few: how many events are not worth a look.
        """
        known = self.events
        self.steps = 0
        time, somewhere = known.time.all, known.partition.all != NOWHERE
        keep = known.there.all & (time >= limits)
        past = np.flatnonzero(known.there.all & known.seen.all & somewhere & (time < limits))
        past = self._in_reach(past, limits)
        if self.by_runs and len(past) >= max(self._enough, few, int(keep.sum()) // MUCH):
            left = self._under_way(past, watermark, standing, errors)
            # Where that was little, it is not asked for soon again.
            self._enough = (2 if 2 * len(left) <= len(past) else 8) * len(left)
            past = left
        keep[past] = True
        return keep

    def _in_reach(self, past: np.ndarray, limits: np.ndarray) -> Any:
        """Those that are not too long before the time that their partition has reached."""
        known = self.events
        time, partition = known.time.all, known.partition.all
        if self.reach is None:
            calm = past[known.quiet.all[past].astype(bool)]
            rest = np.full(known.partition_count, NEVER)
            np.maximum.at(rest, partition[calm], time[calm])
            return past[time[past] >= rest[partition[past]]]
        if self.timed:
            return past[time[past] > limits[past] - self.reach]
        past = self._in_order(past)
        after = np.searchsorted(partition[past], partition[past], side="right") - np.arange(len(past))
        return past[after <= self.reach]

    def _under_way(self, past: np.ndarray, watermark: int, standing: np.ndarray, errors: Errors) -> Any:
        """Those from the first event on of a run of their partition that the watermark has not ended."""
        known = self.events
        used = np.zeros(known.count, bool)
        used[standing] = True
        for part in self._parts(self._in_order(past)):
            used[self._events_of_runs(part, watermark, errors)] = True
        held = np.flatnonzero(used)
        first = np.full(known.partition_count, _LATEST)
        np.minimum.at(first, known.partition.all[held], known.time.all[held])
        return past[known.time.all[past] >= first[known.partition.all[past]]]

    def _in_order(self, events: np.ndarray) -> Any:
        """Events by partition, and in each in the order of S1."""
        wanted = np.zeros(self.events.count, bool)
        wanted[events] = True
        return self.order.of(wanted)

    def _parts(self, events: np.ndarray) -> Iterator[np.ndarray]:
        """Events in parts that do not share a partition."""
        partition = self.events.partition.all[events]
        begin = 0
        while begin < len(events):
            last = partition[min(begin + MANY, len(events)) - 1]
            end = int(np.searchsorted(partition, last, side="right"))
            yield events[begin:end]
            begin = end

    def _events_of_runs(self, events: np.ndarray, watermark: int, errors: Errors) -> np.ndarray:
        """The events of the runs that there are when these events were gone over, and of all others."""
        known, machine = self.events, self.machine
        partition = known.partition.all[events]
        place = np.append(0, np.cumsum(partition[1:] != partition[:-1]))
        numbers = machine.new_partitions(int(place[-1]) + 1)
        with machine.rehearsal():
            for at in range(0, len(events), MANY):
                some = events[at : at + MANY]
                failed = (
                    {k: errors[event] for k, event in enumerate(some.tolist()) if event in errors} if errors else {}
                )
                skip = np.zeros(len(some), np.int64)
                machine.run(some, numbers[place[at : at + MANY]], known.time.all[some], skip, known.of(some), failed)
        self.steps += len(events)
        machine.forget(watermark)
        machine.shorten()
        events_of_runs = machine.tape.all.copy()
        machine.clear(numbers)
        return events_of_runs
