"""What the queries of a session give, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_not
from typing import TypeVar

from cepheid.engine.matches.matches import Matches
from cepheid.pattern.algebra.flow import is_hidden

T = TypeVar("T")


class Outputs:
    """The matches of queries as one result. It keeps that without matches: nearly every push of one event gives it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._nothing: Matches | None = None
        self._nothing_of: list[Matches] = []

    def named(self, found: Sequence[T]) -> dict[str, T]:
        """What each query gives, by its name; the reference has no derived streams to begin with."""
        shown = [name for name in self._names if not is_hidden(name)]
        names = self._names if len(found) == len(self._names) else shown
        return {name: one for name, one in zip(names, found, strict=True) if not is_hidden(name)}

    def of(self, found: Sequence[Matches]) -> Matches:
        """The matches of the last query, with those of all among the outputs."""
        return found[-1].with_outputs(self.named(found))

    def nothing(self, empty: list[Matches]) -> Matches:
        """No matches, of queries that give these where they give none."""
        if self._nothing is None or any(map(is_not, empty, self._nothing_of)):  # a query may have begun anew
            self._nothing, self._nothing_of = self.of(empty), empty
        return self._nothing

    def forget(self) -> None:
        """Let go of what was kept: the queries are made anew."""
        self._nothing = None


def with_others(own: Matches, others: Mapping[str, Matches]) -> Matches:
    """The matches of the session's own query, with those of queries that were added among the outputs."""
    return own.with_outputs({**own.outputs, **others}) if others else own
