"""S12 and S24 over a stream: which matches are given where they must be apart, and which must wait for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.codec import decode, encode
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.instants import Instants
from cepheid.engine.matches.match_table import NONE, MatchTable, arranged, concatenate
from cepheid.front.runnable import Runnable
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.values.columns import column_values, read_column
from cepheid.values.json import Json
from cepheid.values.keys import group_key
from cepheid.values.value import Value

Key = tuple[Value, ...]
"""A partition."""
Start = tuple[int, int]
"""Where a match starts: its first event, and where events last, when that started."""
Open = Callable[[Key, int], int | None]
"""The first event, from one on, with which a match of a partition can start that is not known yet, if there is one."""


class Choice:
    """Until where each partition is taken, and matches that wait. Rows are positions in here."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.longest = query.output is Output.LONGEST
        self.cooldown = -(-query.cooldown // query.schema.tick)
        self.columns = [*query.partition_by, *(test.attribute for test in query.same)]
        # The end of the last match, and from when on the next may start; where events last, the end is a time (S13).
        self.busy: dict[Key, tuple[int, int]] = {}
        self.lasts = query.schema.start is not None
        self.held: MatchTable = NONE

    def choose(self, matched: MatchTable, events: KeptEvents, limit: int | None) -> MatchTable:
        """S12: the matches that are emitted now. From `limit` on, an earlier match may still become certain."""
        matched = self._with_held(matched.moved(events.base), events)
        waits = events.at(matched.last) >= limit if limit is not None else np.zeros(len(matched), bool)
        self.held = matched.take(np.flatnonzero(waits))
        return self._take(matched.take(np.flatnonzero(~waits)), events, None)

    def choose_longest(self, matched: MatchTable, events: KeptEvents, opened: Open | None) -> MatchTable:
        """S24: the matches that are emitted now; None: no event is to come."""
        matched = self._with_held(matched.moved(events.base), events)
        matched = matched.take(
            np.lexsort((np.arange(len(matched)), -events.at(matched.last), events.at(matched.first)))
        )
        return self._take(matched, events, opened)

    def _with_held(self, matched: MatchTable, events: KeptEvents) -> MatchTable:
        return events.arranged(concatenate([self.held, matched])) if len(self.held) else matched

    def _take(self, matched: MatchTable, events: KeptEvents, opened: Open | None) -> MatchTable:
        """Of matches in the order in which they are preferred, those that are emitted."""
        starts, ends = events.at(matched.first).tolist(), events.at(matched.last).tolist()
        firsts, keys = matched.first.tolist(), events.keys(matched.first, self.columns)
        wanted: list[int] = []
        held: list[int] = []
        stopped: dict[Key, set[Start]] = {}  # where an earlier start may still become that of a match
        for k, (key, event, start, end) in enumerate(zip(keys, firsts, starts, ends, strict=True)):
            if not self.may_start(key, event, events):
                continue
            if opened is not None and key not in stopped:
                first = opened(key, self.bound(key, events))
                if first is not None and first <= start:
                    stopped[key] = set()
            if key not in stopped:
                self.take(key, end, events)
                wanted.append(k)
                continue
            # Composite events of one time may reach back to different starts: one may be taken, one free.
            start_and_origin = start, events.start(event) if self.lasts else 0
            if start_and_origin not in stopped[key]:  # of each start, the one that comes first
                stopped[key].add(start_and_origin)
                held.append(k)
        if self.longest:
            self.held = events.arranged(matched.take(np.array(held, np.int64)))
        return events.arranged(matched.take(np.array(wanted, np.int64))).moved(-events.base)

    def may_start(self, key: Key, event: int, events: KeptEvents) -> bool:
        """Whether the next match of a partition may start with an event."""
        if not self.lasts:
            return event >= self.bound(key, events)
        end, free = self.busy.get(key, (NEVER, NEVER))
        start = events.start(event)
        return start >= free and (start > end or key not in self.busy)

    def bound(self, key: Key, events: KeptEvents) -> int:
        """The first event that the next match of a partition may start with, as far as its position shows."""
        if self.lasts:
            return 0
        end, free = self.busy.get(key, (-1, NEVER))
        return max(end + 1, events.first_at(free)) if free > NEVER else end + 1

    def take(self, key: Key, end: int, events: KeptEvents) -> None:
        """A match that ends at an event is given."""
        time = events.time(end) if self.lasts or self.cooldown else 0
        self.busy[key] = time if self.lasts else end, time + self.cooldown if self.cooldown else NEVER

    def first_end(self) -> int | None:
        """The first end of a match that waits."""
        return int(self.held.last.min()) if len(self.held) else None

    def first_start(self) -> int | None:
        """The first start of a match that waits."""
        return int(self.held.rows.min()) if len(self.held) else None

    def forget(self, first: int | None, oldest: int) -> None:
        """Forget partitions that no later match overlaps: none starts before a position, or before a time."""
        if self.lasts:
            return  # a composite event to come may have started long ago
        self.busy = {
            key: (end, free)
            for key, (end, free) in self.busy.items()
            if free > oldest or (first is not None and end >= first)
        }

    def dump(self) -> Json:
        """The state for a header: the matches that are held, and until when partitions are taken."""
        h = self.held
        arrays = [a.tolist() for a in (h.rows, h.variables, h.offsets, h.reached)]
        return {
            "busy": [[encode(key), end, free] for key, (end, free) in self.busy.items()],
            "held": arrays,
            "reaches": [sorted(names) for names in h.reaches],
        }

    def load(self, saved: Json) -> None:
        """From JSON; before there was a cooldown it was not written."""
        self.busy = {decode(key): (end, *(free or [NEVER])) for key, end, *free in saved["busy"]}
        arrays = [np.array(a, np.int64) for a in saved["held"]]
        self.held = MatchTable(arrays[0], arrays[1], arrays[2], arrays[3], tuple(map(frozenset, saved["reaches"])))


class KeptEvents:
    """The rows that are kept, of which the first has the id `base`: what a choice reads of them."""

    def __init__(self, query: Runnable, kept: pa.Table, base: int) -> None:
        self.query = query
        self.kept = kept
        self.base = base
        self._times: np.ndarray | None = None
        self._starts: np.ndarray | None = None

    def start(self, event: int) -> int:
        """When an event started, in ticks; only where events last."""
        if self._starts is None:
            self._starts = ticks(self.query.schema, self.kept, self.query.schema.start)
        return int(self._starts[event - self.base])

    @property
    def times(self) -> np.ndarray:
        """All times, which are in order."""
        if self._times is None:
            self._times = ticks(self.query.schema, self.kept)
        return self._times

    def time(self, event: int) -> int:
        """The time of an event."""
        return int(self.times[event - self.base])

    def at(self, events: np.ndarray) -> np.ndarray:
        """What stands for some events in the order of starts and ends: of those of an instant, its last one (S2)."""
        if self.query.ties is Ties.ORDERED or not len(events):
            return events
        last_rows: np.ndarray = (
            np.searchsorted(self.times, self.times[events - self.base], side="right") + self.base - 1
        )
        return last_rows

    def arranged(self, matched: MatchTable) -> MatchTable:
        """Matches in the order of S9."""
        simultaneous = self.query.ties is Ties.SIMULTANEOUS
        return arranged(matched, Instants(lambda: self.times, self.base) if simultaneous else None)

    def first_at(self, time: int) -> int:
        """The first event at or after a time; the one after the last if there is none."""
        return self.base + int(np.searchsorted(self.times, time))

    def keys(self, events: list[int] | np.ndarray, columns: Sequence[str]) -> list[Key]:
        """The partitions of some events."""
        if not columns:
            return [()] * len(events)
        schema, rows = self.query.schema, from_numpy(np.asarray(events, np.int64) - self.base)
        taken = self.kept.select(list(dict.fromkeys(schema.path(name)[0] for name in columns))).take(rows)
        values = [[group_key(v) for v in column_values(read_column(taken, schema, name))] for name in columns]
        return list(zip(*values, strict=True))
