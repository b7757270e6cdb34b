"""Matches that are put in the order of S9 when they are read: to count them does not need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.engine.matches.match_table import MANY, LazyMatches, MatchTable


class SortedWhenRead:
    """Matches of a machine, which may be in another order as long as nobody reads them."""

    def __init__(self, source: LazyMatches | MatchTable, sort: Callable[[MatchTable], MatchTable]) -> None:
        self._source = source
        self._sort = sort

    @cached_property
    def _sorted(self) -> MatchTable:
        return self._sort(self._source.all())

    def count(self) -> int:
        """How many there are, exactly."""
        return self._source.count()

    def size(self) -> int:
        """How many there are, by enumerating them."""
        return self._source.size()

    def bound(self) -> tuple[int, bool]:
        """How many there are at most, found without enumerating them, and whether that is exact."""
        return self._source.bound()

    def all(self) -> MatchTable:
        """All of them, in order."""
        return self._sorted

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other."""
        return self._sorted.batches(size)

    def few(self, wanted: int) -> MatchTable | None:
        """The first few; None if very many must be enumerated to know which these are."""
        return None if self.bound()[0] > MANY else self._sorted.few(wanted)

    def columns(self, variables: int) -> MatchColumns:
        """The same by variable, of which there are so many."""
        return self._sorted.columns(variables)
