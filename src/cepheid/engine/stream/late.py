"""Events that come after the watermark has passed them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.stream.arrivals import Arrivals
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.errors import InputError


class LateFilter:
    """Sorts out late events, and counts them.

    policy: they are an "error", are dropped ("drop"), or set aside ("collect").
    """

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.count = 0
        self.set_aside: list[pa.Table] = []

    def on_time(self, arrival: Arrival, arrivals: Arrivals, watermark: int | None) -> Arrival:
        """The events of an arrival that are not late. Its rows are read only if some are."""
        if watermark is None or arrival.low >= watermark or not arrival.count:
            return arrival
        events, times = arrivals.read(arrival)
        table = as_table(events)
        late = times < watermark
        self.check(table, late, arrivals.schema.roles.time)
        self.put_aside(table.filter(from_numpy(late)))
        return arrival_of(arrivals.schema, table.filter(from_numpy(~late)), times[~late])

    def check(self, table: pa.Table, late: np.ndarray, time: str) -> None:
        """Refuse events if some of them are late, where that is an error."""
        if self.policy == "error" and late.any():
            raise _too_late(table, late, time)

    def put_aside(self, late: pa.Table) -> None:
        """Count late events, and keep them if they are collected."""
        self.count += late.num_rows
        if self.policy == "collect" and late.num_rows:
            self.set_aside.append(late)


def _too_late(table: pa.Table, late: np.ndarray, time: str) -> InputError:
    row = int(late.argmax())
    value = table.column(time)[row].as_py()
    remedy = 'advance later, or open the session with late="drop" or late="collect"'
    message = f"{int(late.sum())} of {table.num_rows} events are before the watermark, the first in row {row} ({value})"
    return InputError("CEP408", message, remedy)
