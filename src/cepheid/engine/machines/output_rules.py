"""What is done with the matches of events before they are emitted: HAVING, and OUTPUT where they must be apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.matches.choice import Choice, KeptEvents, Open
from cepheid.engine.matches.having import keep_having
from cepheid.engine.matches.match_table import MatchTable
from cepheid.front.runnable import Runnable
from cepheid.kernel.runtime import NEVER
from cepheid.pattern.tree.nodes import Output


class OpenMatches(Protocol):
    """Matches that are not certain yet, or not known."""

    def opened(self, watermark: int, events: KeptEvents) -> Open:
        """With which events matches may start that are not known yet, when all events before a time are in."""

    def first_uncertain(self) -> int | None:
        """The first event at which a match ends that waits for an absence."""


class OutputRules:
    """The rules of a query, and the matches that wait for others. tested: its runs test HAVING already."""

    def __init__(self, query: Runnable, report: Callable[[], None], *, tested: bool = False) -> None:
        self.choice = Choice(query) if query.output is not Output.ALL else None
        self.tests_having = query.having is not None and not tested
        self.any = self.tests_having or self.choice is not None
        self._query = query
        self._report = report

    def apply(self, matches: MatchTable, rows: KeptRows, watermark: int | None, others: OpenMatches) -> MatchTable:
        """The matches to emit, given all events before a time (None: all)."""
        passed = keep_having(self._query, matches, rows.kept, self._report) if self.tests_having else matches
        if self.choice is None:
            return passed
        events = KeptEvents(self._query, rows.kept, rows.base)
        if self.choice.longest:
            return self.choice.choose_longest(
                passed, events, None if watermark is None else others.opened(watermark, events)
            )
        return self.choice.choose(passed, events, None if watermark is None else others.first_uncertain())

    def first_end(self) -> int | None:
        """The first event at which a match ends that waits."""
        return None if self.choice is None else self.choice.first_end()

    @property
    def holds(self) -> bool:
        """Whether matches wait until no better one can come."""
        return self.choice is not None and len(self.choice.held) > 0

    def first_needed(self, first: int | None, clock: int, oldest: Callable[[], int]) -> int | None:
        """The first event that a match to come can have: of the state (`first`), or of a match that waits.

        clock: the time of the last event. oldest: gives a time before which no match to come starts.
        """
        if self.choice is None:
            return first
        held = self.choice.first_start()
        needed = min((event for event in (first, held) if event is not None), default=None)
        self.choice.forget(needed, clock if needed is None else oldest())
        return needed

    def dump(self) -> StateFacts | None:
        return None if self.choice is None else self.choice.dump()

    def load(self, saved: StateFacts) -> None:
        if self.choice is not None:
            self.choice.load(saved)


def oldest_start(query: Runnable, clock: int, rules: OutputRules) -> int:
    """A time before which no match to come starts; NEVER if that is not known."""
    if query.window is None or not query.timed or rules.holds:
        return NEVER
    return clock - query.window
