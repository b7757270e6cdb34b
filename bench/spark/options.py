"""How a row is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.cache import DIRECTORY


@dataclass(frozen=True)
class Options:
    """Sizes, rounds and places."""

    quick: bool = False  # few rounds and micro-batches: to see that it works
    scale: float = 1.0  # of the streams
    rounds: int = 3
    data: Path = DIRECTORY / "spark"  # Parquet that is made once
    memory: str = "4g"  # of the JVM

    @property
    def times(self) -> int:
        """How often everything is run; the best counts."""
        return min(self.rounds, 2) if self.quick else self.rounds

    def sized(self, events: int) -> int:
        """How many events instead of so many."""
        return int(events * self.scale)
