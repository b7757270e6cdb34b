"""Rows with what is done with them: 1 inserts an event, -1 retracts one; None: all are inserted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.matches.changes import ADDED, REMOVED
from cepheid.engine.stream.arrivals import Timed

Times = NDArray[np.int64]
"""Times in ticks."""

Flags = NDArray[np.bool_]

Signs = NDArray[np.int8] | None
"""1 inserts an event, -1 retracts one; None: all are inserted."""


def those(chosen: Flags, events: Timed, signs: Signs) -> tuple[Timed, Signs]:
    """Those rows of some that are chosen by flags."""
    rows, times = events
    kept = as_table(rows).filter(from_numpy(chosen)), times[chosen]
    return kept, None if signs is None else signs[chosen]


def with_op(table: pa.Table, op: str | None, signs: Signs) -> pa.Table:
    """Rows as they came: those of a session with `op` have that column."""
    if op is None:
        return table
    words = [ADDED] * table.num_rows if signs is None else [ADDED if sign > 0 else REMOVED for sign in signs]
    return table.append_column(op, pa.array(words, pa.string()))
