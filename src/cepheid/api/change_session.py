"""A session that gives matches before they are certain, and takes events and matches back (S15, S16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.api.events import to_table
from cepheid.api.session import Session
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.session.ahead_session import AheadSession
from cepheid.engine.session.refused_changes import retracts_numbers
from cepheid.engine.stream.operations import split_operations
from cepheid.errors import InputError

if TYPE_CHECKING:
    from cepheid.api.query import Query


class ChangeSession(Session):
    """A query on a stream of batches whose matches are given before they are certain.

    Each call returns `Changes`: matches that are new, and matches that are taken back because an event came late, was
    retracted or revised. Without `speculate` it returns the certain matches.

    >>> from cepheid import Query
    >>> s = Query("PATTERN SEQ(A a, !(N n), B b) WITHIN 1 second").session(lateness=10, speculate="all")
    >>> s.push([{"ts": 1, "type": "A"}, {"ts": 5, "type": "B"}])
    <1 change>
    op  match_start  match_end  a                 b
    +   1            5          {ts: 1, type: A}  {ts: 5, type: B}
    >>> s.push([{"ts": 3, "type": "N"}])
    <1 change>
    op  match_start  match_end  a                 b
    -   1            5          {ts: 1, type: A}  {ts: 5, type: B}
    """

    def __init__(self, query: Query, engine: AheadSession, *, trace: object = None) -> None:
        super().__init__(query, engine, trace=trace)
        self._ahead = engine

    def push(self, events: object) -> Any:
        """Add events and, where `op` names a column, retract some. With `lateness` the watermark follows them."""
        session = self._ahead
        session.check_usable()
        if session.op is None:
            return self._push(self._read(events), None)
        table, signs = split_operations(to_table(events, session.roles.type), session.op)
        return self._push(self._fitted(table, listed=not hasattr(events, "columns")), signs)

    def advance(self, watermark: object) -> Any:
        """Move the watermark: all events before it have arrived."""
        return super().advance(watermark)

    def close(self) -> Any:
        """End the stream; return what that changes, after which nothing changes any more."""
        return super().close()

    def retract(self, rows: object) -> Any:
        """Take events back. Each row takes back one event that is equal in every column."""
        self._check_retractable()
        table = self._plain("retract", rows)
        return self._push(table, np.full(table.num_rows, -1, np.int8))

    def revise(self, old: object, new: object) -> Any:
        """Take events back and put others in their place, in one call."""
        self._check_retractable()
        after, before = as_table(self._plain("revise", new)), as_table(self._plain("revise", old))
        signs = np.repeat(np.array([-1, 1], np.int8), [before.num_rows, after.num_rows])
        return self._push(pa.concat_tables([before, after]), signs)

    def _plain(self, call: str, rows: object) -> Events:
        """Events that do not say themselves what is done with them."""
        op = self._ahead.op
        if op is None:
            return self._read(rows)
        table = to_table(rows, self.engine.roles.type)
        if op in table.column_names:
            message = f"the rows that {call} is given have the column '{op}'"
            raise InputError("CEP409", message, "leave it out, or pass the rows to push, which reads it")
        return self._fitted(table, listed=not hasattr(rows, "columns"))

    def _check_retractable(self) -> None:
        self.engine.check_usable()
        if self._ahead.sequence is not None:
            raise retracts_numbers()
