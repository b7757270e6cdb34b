"""One query over one stream: batches in, certain matches out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cepheid.engine.encoding.arrow import empty_table, from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.protocol import Machine
from cepheid.engine.matches.match_table import NONE, MatchTable, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.arrivals import arrange
from cepheid.engine.stream.input_stream import InputStream
from cepheid.errors import InputError
from cepheid.pattern.binding.bind import Bound
from cepheid.pattern.tree.nodes import Ties


class QueryStream:
    """One query of a program. `general` makes a machine that computes with integers of any size."""

    def __init__(self, query: Bound, stream: InputStream, machine: Machine, general: Callable[[], Machine]) -> None:
        self.query = query
        self.stream = stream
        self.machine = machine
        self._general = general
        self.base = 0  # the id of the first row of the events of the matches that it gave last
        result = query.result
        self._nothing = Matches(
            result, empty_table(stream.schema.arrow if result is query else result.schema.arrow), NONE
        )

    def feed(self, batch: Batch) -> None:
        """The next events of its stream."""
        try:
            self.machine.feed(batch)
        except Unfit as reason:
            if batch.first:
                remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
                raise InputError("CEP410", str(reason), remedy) from None
            self.machine = self._general()
            self.machine.feed(batch)

    def settle(self, now: int | None, horizon: int | None = None) -> Matches:
        """The matches that are certain to stand when all events before a time (None: all) are in.

        horizon: where all are in, until when absences are known; None: the end of the input ends them.
        """
        self.base = self.stream.base
        found = self.machine.settle(now, self.stream, horizon)
        if found is NONE:
            return self.nothing()
        if isinstance(found, Matches):
            return found
        if self.stream.is_mixed and isinstance(found, MatchTable):
            found = self._sorted(found)
        return Matches(self.query, self.stream.kept_events, found)

    def _sorted(self, found: MatchTable) -> MatchTable:
        """Matches in the order of S9 where their events did not come in the order of S1."""
        used, place = np.unique(found.rows, return_inverse=True)
        table = self.stream.kept.take(from_numpy(used))
        times = ticks(self.stream.schema, table)
        places = np.arange(len(used))
        order = arrange(self.stream.schema, table, times)
        if order is not None:
            places[order] = np.arange(len(used))
        simultaneous = times[place] if self.query.ties is not Ties.ORDERED else None
        return found.take(in_order(found, places[place], simultaneous))

    def certain(self, now: int) -> int:
        """The time before which no further match can end, when all events before `now` are in."""
        end = self.machine.unsettled()
        if end is None:
            return now
        return min(now, int(ticks(self.stream.schema, self.stream.kept.slice(end - self.stream.base, 1))[0]))

    def nothing(self) -> Matches:
        """No matches, of this query."""
        return self._nothing
