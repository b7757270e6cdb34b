"""How far a run is, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Report = Callable[[int], None]
"""Called with how many more events a query has gone over; with fewer than none where it begins again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far `match` is. events: how many it has gone over; of a program, each query goes over them. total: of all."""

    events: int
    total: int
