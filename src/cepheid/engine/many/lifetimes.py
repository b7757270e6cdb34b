"""The lifetimes of many rules, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.engine.stream.lifetime import Lifetime

ALWAYS, NEVER = -(2**63), 2**63 - 1
"""Since before all events; until after all of them."""


@dataclass(frozen=True)
class Lifetimes:
    """Two numbers for each rule, by its number."""

    since: np.ndarray
    until: np.ndarray

    @classmethod
    def for_good(cls, count: int, since: int | None = None) -> Lifetimes:
        """Rules that no one has removed."""
        # All alike, these are one number each; with the first change they become arrays.
        begin = ALWAYS if since is None else since
        return cls(np.broadcast_to(np.int64(begin), count), np.broadcast_to(np.int64(NEVER), count))

    @property
    def whole(self) -> bool:
        """Whether none has come or gone."""
        return bool((self.since == ALWAYS).all() and (self.until == NEVER).all())

    def of(self, number: int) -> Lifetime:
        """The lifetime of a rule."""
        since, until = int(self.since[number]), int(self.until[number])
        return Lifetime(None if since == ALWAYS else since, None if until == NEVER else until)

    def added(self, count: int, since: int | None) -> Lifetimes:
        """With more rules after these."""
        more = Lifetimes.for_good(count, since)
        return Lifetimes(np.append(self.since, more.since), np.append(self.until, more.until))

    def removed(self, numbers: np.ndarray, at: int) -> Lifetimes:
        """With an end of some rules."""
        until = self.until.copy()
        until[numbers] = at
        return Lifetimes(self.since, until)
