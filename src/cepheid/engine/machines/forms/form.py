"""What every result form does, whatever its matches look like."""

from __future__ import annotations

from typing import Protocol

from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.scan import Scan
from cepheid.engine.matches.match_table import LazyMatches, MatchTable
from cepheid.engine.matches.matches import Matches


class ResultForm(Protocol):
    """The matches of a scan, from the state of its kernel to what is emitted.

    Its machine says which scan it reads (`begin`), has it `check` and `collect` where the scan needs room, asks for
    matches with `emit` when time has moved on, and writes it down with the state of the scan.
    """

    splits: bool
    """Whether matches of some partitions may be emitted before earlier ones of others."""

    quiet: bool
    """Whether there is nothing to emit while the store of the scan has no matches."""

    def begin(self, scan: Scan) -> None:
        """Read the matches of a scan that has no events yet."""

    def check(self) -> None:
        """Raise if there are too many runs. Called before room is made for more."""

    def collect(self) -> None:
        """Take the matches out of the store, so that their nodes can be cleared."""

    def emit(self, watermark: int | None, rows: KeptRows) -> MatchTable | LazyMatches | Matches:
        """The matches that became certain, given all events before a time (None: all); the scan has expired waits."""

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""

    def compact(self, watermark: int) -> int | None:
        """Drop what no match to come can need; the first event that one can have among those so far."""

    def dump(self) -> StateFacts:
        """Prepare the state of the scan to be written down, and return what there is besides."""

    def load(self, facts: StateFacts) -> None:
        """Restore what was dumped, after the scan."""
