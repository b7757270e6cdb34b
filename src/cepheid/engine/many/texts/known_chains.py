"""What conditions of texts were compiled to: more texts with one of them cost no compiling."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from cepheid.engine.many.tables.chain import NotChained

T = TypeVar("T")

MOST_CHAINS_KNOWN = 1 << 14
"""Results that are remembered: with more of them, what they are of does not come again."""


class NotUnitedError(Exception):
    """Why a condition can't be added to a chain on its own."""


class KnownChains:
    """What was found of frames and conditions, by their keys: a value, or the reason why there is none."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def any(self, key: Hashable, values: Hashable, make: Callable[[], T]) -> T:
        """What is the same with all constants of some types; but a reason why not is one of some values."""
        if key in self._found:
            known: T = self._found[key]
            return known
        made = self.same((key, values), make)
        self._found[key] = made
        return made

    def same(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is the same with the same constants."""
        known = self._found.get(key)
        if known is None:
            try:
                known = make()
            except (NotChained, NotUnitedError) as reason:
                known = reason
            if len(self._found) >= MOST_CHAINS_KNOWN:
                self._found = {}
            self._found[key] = known
        if isinstance(known, NotChained | NotUnitedError):
            raise known.with_traceback(None)
        made: T = known
        return made
