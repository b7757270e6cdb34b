"""Events that come after the watermark has passed them."""

from __future__ import annotations

from typing import Any

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
        if self.policy == "error":
            raise _too_late(table, late, arrivals.schema.roles.time)
        self.count += int(late.sum())
        if self.policy == "collect":
            self.set_aside.append(table.filter(from_numpy(late)))
        return arrival_of(arrivals.schema, table.filter(from_numpy(~late)), times[~late])


def _too_late(table: pa.Table, late: Any, time: str) -> InputError:
    row = int(late.argmax())
    value = table.column(time)[row].as_py()
    remedy = 'advance later, or open the session with late="drop" or late="collect"'
    message = f"{int(late.sum())} of {table.num_rows} events are before the watermark, the first in row {row} ({value})"
    return InputError("CEP408", message, remedy)
