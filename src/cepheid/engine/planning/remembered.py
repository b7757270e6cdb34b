"""A decision that later runs of the query take over, while their events are like those that it was made for."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.engine.planning.decision import Decision
from cepheid.plan.statistics import moved

ALIKE = 1.25
"""How much the shares of types may differ between runs that take the same plan."""
MOST_USES = 32
"""Runs after which a sample is taken all the same."""


@dataclass
class RememberedDecision:
    """A decision of an earlier run, the number of its events and the share of each component's types."""

    decision: Decision
    events: int
    shares: tuple[float, ...]
    uses: int = 0

    def suits(self, events: int, shares: tuple[float, ...]) -> bool:
        """Whether another run is on events like these; it counts as a use."""
        self.uses += 1
        size = max(events, self.events) <= 2 * min(events, self.events)
        return size and self.uses < MOST_USES and not moved(self.shares, shares, ALIKE)
