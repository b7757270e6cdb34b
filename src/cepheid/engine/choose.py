"""Which machine runs a query."""

from __future__ import annotations

from cepheid.engine.interpreted import Interpreted
from cepheid.engine.stage import Machine
from cepheid.pattern.bind import Bound


def make_machine(query: Bound, engine: str, events: int | None) -> Machine:
    """A machine for a query; `events` is how many there will be, if that is known."""
    return Interpreted(query)
