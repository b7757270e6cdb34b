"""From when until when something takes part in a stream: a query, or a rule (S17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.few_events import Events, as_table


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The events in `(since, until]`, in ticks; None: from the beginning, for good."""

    since: int | None = None
    until: int | None = None

    def has(self, times: Any) -> Any:
        """A flag for each time, whether it is in."""
        flags: Any = np.ones(len(times), bool)
        if self.since is not None:
            flags &= times > self.since
        if self.until is not None:
            flags &= times <= self.until
        return flags

    def events(self, events: Events, times: Any) -> tuple[Events, Any]:
        """The events that are in, with their times."""
        if self.since is None and self.until is None:
            return events, times
        flags = self.has(times)
        return (events, times) if flags.all() else (as_table(events).filter(from_numpy(flags)), times[flags])

    def part_of(self, batch: Batch) -> Batch | None:
        """The events of a batch that are in; None if there are none. They keep their ids and codes."""
        begin = 0 if self.since is None else int(np.searchsorted(batch.times, self.since, side="right"))
        end = len(batch) if self.until is None else int(np.searchsorted(batch.times, self.until, side="right"))
        if begin == 0 and end == len(batch):
            return batch
        return batch.part(begin, end) if begin < end else None

    def is_over(self, watermark: int | None) -> bool:
        """Whether the watermark (None: the end) has passed all of it."""
        return self.until is not None and (watermark is None or watermark > self.until)

    def known(self, last: int | None) -> int | None:
        """The end of what is known of absences, where that reaches to `last`; None: the end of the input ends them."""
        return min((time for time in (last, self.until) if time is not None), default=None)


FOR_GOOD = Lifetime()
