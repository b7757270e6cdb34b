"""What the queries of a session give, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import TypeVar

from cepheid.engine.matches.matches import Matches
from cepheid.engine.stream.query_stream import QueryStream
from cepheid.pattern.algebra.flow import is_hidden

T = TypeVar("T")


class Outputs:
    """The matches of queries as one result. It keeps that without matches: nearly every push of one event gives it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.empty: Matches | None = None
        self._empty_of: list[Matches] = []

    def named(self, results: Sequence[T]) -> dict[str, T]:
        """What each query gives, by its name; the reference has no derived streams to begin with."""
        shown = [name for name in self._names if not is_hidden(name)]
        names = self._names if len(results) == len(self._names) else shown
        return {name: result for name, result in zip(names, results, strict=True) if not is_hidden(name)}

    def of(self, matches: list[Matches], queries: Sequence[QueryStream]) -> Matches:
        """The matches of the last query, with those of all among the outputs. queries: what has emitted them."""
        if self.empty is not None and all(map(is_, matches, self._empty_of)):
            return self.empty
        empty = [query.nothing() for query in queries]
        if all(map(is_, matches, empty)):
            return self.nothing(queries)
        return matches[-1].with_outputs(self.named(matches))

    def nothing(self, queries: Sequence[QueryStream]) -> Matches:
        """No matches of any query."""
        empty = [query.nothing() for query in queries]
        if self.empty is None or not all(map(is_, empty, self._empty_of)):  # a query may have begun anew
            self.empty, self._empty_of = empty[-1].with_outputs(self.named(empty)), empty
        return self.empty

    def forget(self) -> None:
        """Drop what was kept: the queries are made anew."""
        self.empty = None


def with_others(matches: Matches, others: Mapping[str, Matches]) -> Matches:
    """The matches of the session's own query, with those of queries that were added among the outputs."""
    return matches.with_outputs({**matches.outputs, **others}) if others else matches
