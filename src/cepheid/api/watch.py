"""The first events of a session, looked at for what the query may have got wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.api.surprises import ENOUGH, Surprises
from cepheid.engine.stream.retyped import as_types
from cepheid.engine.stream.rows import Arrival, RowsInMemory
from cepheid.pattern.binding.schema import Schema

LOOKS = (ENOUGH // 10, ENOUGH)
"""After so many events they are looked at; or at the end of the stream, if that comes before."""


class Watch:
    """Keeps the first events of a session until there are enough of them."""

    def __init__(self, surprises: Surprises) -> None:
        self._surprises = surprises
        self._seen: list[RowsInMemory] = []
        self._rows = 0
        self._looks = list(LOOKS)

    def see(self, schema: Schema, arrival: Arrival) -> bool:
        """Take some events. Returns whether more are of use."""
        if isinstance(arrival.rows, RowsInMemory) and arrival.count:
            self._seen.append(arrival.rows)
            self._rows += arrival.count
            while self._looks and self._rows >= self._looks[0]:
                self._looks = [look for look in self._looks if look > self._rows]
                self._look(schema, whole=False)
        return bool(self._looks)

    def forget(self, arrival: Arrival) -> None:
        """Events that `see` got last were refused: they may even have other columns than those that are accepted."""
        if self._seen and self._seen[-1] is arrival.rows:
            self._seen.pop()
            self._rows -= arrival.count

    def end(self, schema: Schema) -> None:
        """No more events will come."""
        if self._seen:
            self._look(schema, whole=True)

    def _look(self, schema: Schema, *, whole: bool) -> None:
        # A column that had no value at first has got its type since.
        events = pa.concat_tables([as_types(rows.table(), schema.arrow) for rows in self._seen])
        times = np.concatenate([rows.times for rows in self._seen])
        seen = self._surprises.observe(schema, events, times, whole=whole)
        self._surprises.warn(self._surprises.of_events(schema, seen))
