"""One query over a stream: events in, certain matches out, and no more rows kept than a match can still need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from cepheid.engine.arrivals import Arrivals
from cepheid.engine.columns import Unfit
from cepheid.engine.found import NONE, Found, Many
from cepheid.engine.matches import Matches
from cepheid.engine.times import ticks
from cepheid.errors import InputError
from cepheid.pattern.bind import Bound


class Machine(Protocol):
    """What runs a query. Times are ticks, positions count the events since the stream began."""

    @property
    def kind(self) -> str:
        """Which kind can read its state."""

    @property
    def mode(self) -> str:
        """How it runs: compiled, plain or interpreted."""

    @property
    def plan(self) -> str:
        """By which plan, by its name."""

    @property
    def replans(self) -> int:
        """How often another plan was taken."""

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""

    @property
    def merged(self) -> int:
        """How many runs became one with another."""

    @property
    def runs(self) -> int:
        """How many runs are alive."""

    def feed(self, table: pa.Table, times: Any, base: int) -> None:
        """The next events in the order of S1; `base` is the position of the first."""

    def settle(self, now: int | None, kept: pa.Table, base: int) -> Found | Many:
        """The matches that became certain, given all events before a time (None: all).

        Their rows are those of `kept`, whose first is at position `base`.
        """

    def unsettled(self) -> int | None:
        """The first position where a match ends that is not certain yet."""

    def oldest(self) -> int | None:
        """The first position that a match to come can have among the events so far."""

    def state_bytes(self) -> int:
        """How much the state takes."""

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The state: facts for a header, and flat arrays."""

    def load(self, facts: dict[str, Any], arrays: list[Any], kept: pa.Table, base: int) -> None:
        """Take up a state that was dumped; `kept` are the rows from position `base` on."""


class Stage:
    """One query of a program."""

    def __init__(self, query: Bound, machine: Machine, general: Callable[[], Machine]) -> None:
        self.query = query
        self.schema = query.schema
        self.machine = machine
        self.general = general  # a machine that computes with whatever values there are
        self.arrivals = Arrivals(query.schema)
        self.kept = query.schema.arrow.empty_table()
        self.base = 0  # the position of the first row that is kept
        self.events = 0
        self.enough = _FEW  # rows that are kept before it is asked which of them can go

    def advance(self, now: int | None) -> Matches:
        """Run what is certain to be in order, and give the matches that are certain to stand."""
        table, times = self.arrivals.release(now)
        if table.num_rows:
            try:
                self.machine.feed(table, times, self.events)
            except Unfit as reason:
                if self.events:
                    remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
                    raise InputError("CEP410", str(reason), remedy) from None
                self.machine = self.general()
                self.machine.feed(table, times, self.events)
            self.events += table.num_rows
            self.kept = pa.concat_tables([self.kept, table]) if self.kept.num_rows else table
            if self.kept.column(0).num_chunks > _MANY_CHUNKS:
                self.kept = self.kept.combine_chunks()
        found = self.machine.settle(now, self.kept, self.base)
        matches = Matches(self.query, self.kept, found)
        if now is not None:
            self.forget()
        return matches

    def certain(self, now: int) -> int:
        """The time before which no further match can end, when all events before `now` are in."""
        end = self.machine.unsettled()
        if end is None:
            return now
        return min(now, int(ticks(self.schema, self.kept.slice(end - self.base, 1))[0]))

    def nothing(self) -> Matches:
        """No matches, of this query."""
        return Matches(self.query, self.kept, NONE)

    def forget(self) -> None:
        """Let go of rows that no match to come can have."""
        if self.kept.num_rows < self.enough:
            return
        oldest = self.machine.oldest()
        cut = (self.events if oldest is None else oldest) - self.base
        if cut > 0:
            self.kept = self.kept.slice(cut)
            self.base += cut
        self.enough = 2 * self.kept.num_rows + _FEW


_MANY_CHUNKS = 64
_FEW = 256
