"""What becomes of a query of a session when it changes (S17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.engine.program import QueryCache
from cepheid.engine.session.history import EVER, Life


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of one query, of which it is known that it can be made.

    query: as it runs from now on; None: as before. cache: what runs it where its code stays, and only data change.
    settled: the time from which on it is right.
    fits: of which of its queries the state is one of the new one too.
    first: the first time at which it is another one.
    """

    life: Life
    query: Any = None
    cache: QueryCache | None = None
    settled: int | None = None
    fits: Sequence[bool] = ()
    first: int = EVER
