"""Insertions and retractions on their way to the engine: a column beside those of the events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.stream.operations import read_signs

OPERATION = "__cepheid_op"
"""The column in which rows of Spark bring their operations: +, -, …"""

SIGN = "__cepheid_sign"
"""The column that blobs of events have if some of them are retracted: 1 or -1."""

SIGN_FIELD = pa.field(SIGN, pa.int8())


def signs_of(table: pa.Table, op: str | None) -> np.ndarray | None:
    """Return 1 for each row that inserts an event, -1 for each that retracts one; None if all are inserted.

    op: what the user calls the column of the operations; None if there is none.
    """
    return None if op is None else read_signs(table.column(OPERATION), op)


def with_signs(events: pa.Table, signs: np.ndarray | None) -> pa.Table:
    """Return events with their signs; without them if all are inserted."""
    if signs is None or (signs > 0).all():
        return events
    return events.append_column(SIGN_FIELD, pa.array(signs))


def without_signs(table: pa.Table) -> tuple[pa.Table, np.ndarray | None]:
    """Return the events, and their signs if some are retracted."""
    if SIGN not in table.column_names:
        return table, None
    return table.drop_columns([SIGN]), to_numpy(table.column(SIGN).combine_chunks())


def joined_signs(parts: list[tuple[pa.Table, np.ndarray | None]]) -> np.ndarray | None:
    """Return the signs of tables one after the other; None if all are inserted."""
    if all(signs is None for _, signs in parts):
        return None
    return np.concatenate([np.ones(t.num_rows, np.int8) if signs is None else signs for t, signs in parts])
