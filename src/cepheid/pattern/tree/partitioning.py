"""Partitions: what splits the input, so that no run sees the events of another partition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partitioning:
    """What splits the input: PARTITION BY, which groups NULLs (S3), and `[attr]` where that makes no difference.

    Where no strategy is strict, events with another `[attr]` value are ignored by every run of a key, so they can be
    left out: the answer is the same, and a long stream of many keys stays bearable. Declared types may lack the
    attribute; then no event is left out. `one_key`: all events of a partition agree on every `[attr]`.
    """

    columns: tuple[str, ...]
    agreed: tuple[str, ...]
    one_key: bool

    @property
    def all(self) -> tuple[str, ...]:
        """The columns that make up a key."""
        return self.columns + self.agreed
