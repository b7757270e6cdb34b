"""S12 over a stream: which matches are given when they must not overlap, and which must wait for an earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.codec import decode, encode
from cepheid.engine.matches.match_table import NONE, MatchTable, arranged, concatenate
from cepheid.pattern.bind import Bound
from cepheid.values.columns import column_values
from cepheid.values.keys import group_key
from cepheid.values.value import Value


class NonOverlapping:
    """Until where each partition is taken, and matches that wait. Rows are positions in here."""

    def __init__(self, query: Bound) -> None:
        self.query = query
        self.columns = [*query.partition_by, *(test.attribute for test in query.same)]
        self.busy: dict[tuple[Value, ...], int] = {}
        self.held: MatchTable = NONE

    def choose(self, found: MatchTable, kept: pa.Table, base: int, limit: int | None) -> MatchTable:
        """Return the matches that can be emitted now. From `limit` on, an earlier match may still become certain."""
        found = found.moved(base)
        if len(self.held):
            found = arranged(concatenate([self.held, found]))
        waits = found.last >= limit if limit is not None else np.zeros(len(found), bool)
        self.held = found.take(np.flatnonzero(waits))
        ready = found.take(np.flatnonzero(~waits))
        starts, ends = ready.first, ready.last
        taken = kept.take(from_numpy(starts - base))
        values = [[group_key(v) for v in column_values(taken.column(name))] for name in self.columns]
        wanted = []
        for k in range(len(ready)):
            key = tuple(column[k] for column in values)
            if starts[k] > self.busy.get(key, -1):
                self.busy[key] = int(ends[k])
                wanted.append(k)
        chosen = ready.take(np.array(wanted, np.int64))
        return chosen.moved(-base)

    def first_end(self) -> int | None:
        """The first end of a match that waits."""
        return int(self.held.last.min()) if len(self.held) else None

    def first_start(self) -> int | None:
        """The first start of a match that waits."""
        return int(self.held.rows.min()) if len(self.held) else None

    def forget(self, first: int | None) -> None:
        """Forget partitions that no later match overlaps: none starts before a position, or before the next event."""
        self.busy = {key: end for key, end in self.busy.items() if first is not None and end >= first}

    def dump(self) -> dict[str, Any]:
        """As JSON."""
        h = self.held
        arrays = [a.tolist() for a in (h.rows, h.variables, h.offsets, h.reached)]
        return {
            "busy": [[encode(key), end] for key, end in self.busy.items()],
            "held": arrays,
            "reaches": [sorted(names) for names in h.reaches],
        }

    def load(self, saved: dict[str, Any]) -> None:
        """From JSON."""
        self.busy = {decode(key): end for key, end in saved["busy"]}
        arrays = [np.array(a, np.int64) for a in saved["held"]]
        self.held = MatchTable(arrays[0], arrays[1], arrays[2], arrays[3], tuple(map(frozenset, saved["reaches"])))
