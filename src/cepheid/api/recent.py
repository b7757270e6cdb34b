"""The last events of a session, for its trace."""

from __future__ import annotations

from collections import deque

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.times import ticks
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import net_of
from cepheid.errors import UsageError
from cepheid.pattern.binding.schema import Roles, make_schema


class Recent:
    """The last rows that were pushed and not late; those that retract an event too.

    most: how many are kept. before: how many came before them.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.before = 0
        self._kept: deque[tuple[pa.Table, np.ndarray | None]] = deque()
        self._count = 0

    def see(self, events: Events, signs: np.ndarray | None = None) -> None:
        """Keep some rows, and drop the oldest where there are too many. signs: 1 inserts, -1 retracts; None: all 1."""
        table = as_table(events)
        more = table.num_rows - self.most
        if more > 0:  # a copy: a slice would hold all of a large batch
            self.before += more
            table = table.take(pa.array(np.arange(more, table.num_rows)))
            signs = None if signs is None else signs[more:]
        if table.num_rows:
            self._kept.append((table, signs))
            self._count += table.num_rows
        while self._kept and self._count - self._kept[0][0].num_rows >= self.most:
            old, _ = self._kept.popleft()
            self._count -= old.num_rows
            self.before += old.num_rows

    def see_signed(self, events: Timed, signs: np.ndarray | None) -> None:
        """The same of events with their times."""
        self.see(events[0], signs)

    def events(self, roles: Roles) -> tuple[pa.Table, int]:
        """What is left of the last rows after their retractions, and how many rows came before."""
        spare = max(0, self._count - self.most)
        table = pa.concat_tables([rows for rows, _ in self._kept], promote_options="permissive").slice(spare)
        if all(signs is None for _, signs in self._kept):
            return table, self.before + spare
        signs = np.concatenate([np.ones(t.num_rows, np.int8) if s is None else s for t, s in self._kept])[spare:]
        schema = make_schema(table.schema, roles)
        inserted, _ = net_of(schema, (table, ticks(schema, table)), signs)
        return table.slice(0, 0) if inserted is None else as_table(inserted[0]), self.before + spare

    def __bool__(self) -> bool:
        return bool(self._kept)


def read_recent(trace: object) -> Recent | None:
    """What keeps the last events of a session, where it is asked for."""
    if trace is None:
        return None
    if isinstance(trace, bool) or not isinstance(trace, int) or trace < 1:
        raise UsageError("CEP603", f"trace can't be {trace!r}", "pass the number of events to keep, or None for none")
    return Recent(trace)
