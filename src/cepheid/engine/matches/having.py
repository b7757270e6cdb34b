"""HAVING: which matches pass a condition over all of their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.graph_matches import Decoder, too_many
from cepheid.engine.matches.match_table import MatchTable, bindings
from cepheid.errors import EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event, read_rows

MOST_TESTED = 100_000
"""Matches with one start and one end that are tested one after the other, until one passes."""
_OFTEN = 2_000  # matches that are tested before progress is reported


def keep_having(
    query: Runnable, matches: MatchTable, kept: pa.Table, report: Callable[[], None] = lambda: None
) -> MatchTable:
    """The matches that pass; all of them where a query has no HAVING. report: is called now and then, and may raise."""
    if query.having is None or not len(matches):
        return matches
    holds = Compiler(query).condition(query.having)
    wanted = []
    for k, bound in enumerate(bindings(query, kept, matches)):
        if k % _OFTEN == 0:
            report()
        if holds(bound):
            wanted.append(k)
    return matches.take(np.array(wanted, np.int64))


class Having:
    """Tests matches one by one, as the match store has them."""

    def __init__(
        self, query: Runnable, kept: pa.Table, base: int, decoder: Decoder, report: Callable[[], None]
    ) -> None:
        assert query.having is not None
        self.report = report
        self.query = query
        self.kept = kept
        self.base = base
        self.decoder = decoder
        self.condition = Compiler(query).condition(query.having)
        self.names = [component.variable for component in query.positive]
        self.events: dict[int, Event] = {}
        self.tested = self.all_tested = 0

    def begin(self) -> None:
        """The matches of another start or end follow."""
        self.tested = 0

    def holds(self, words: Sequence[int]) -> bool:
        """Whether a match, as words of the store, passes HAVING."""
        self.tested += 1
        self.all_tested += 1
        if self.all_tested % _OFTEN == 0:
            self.report()
        if self.tested > MOST_TESTED:
            raise EvaluationError(
                "CEP505",
                f"HAVING fails for more than {MOST_TESTED:,} matches that start and end alike",
                too_many(self.decoder),
            )
        decoder = self.decoder
        mask = (1 << decoder.shift) - 1
        reached = decoder.reaches[decoder.reached[words[-1] & mask]]
        bound: dict[str, list[Event]] = {name: [] for name in sorted(reached)}
        for word in words:
            name = self.names[decoder.variables[word & mask]]
            bound.setdefault(name, []).append(self.event(word >> decoder.shift))
        every = {name: tuple(chosen) for name, chosen in bound.items()}
        return self.condition(Bindings(every, {name: chosen[-1] for name, chosen in every.items() if chosen}))

    def event(self, number: int) -> Event:
        """An event by its id."""
        if number not in self.events:
            row = self.kept.take(from_numpy(np.array([number - self.base])))
            (self.events[number],) = read_rows(row, self.query.schema)
        return self.events[number]
