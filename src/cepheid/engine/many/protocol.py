"""What runs the rules of some templates, whichever way: events in, matches with the numbers of their rules out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.matches.matches import Matches
from cepheid.front.templates.rule_columns import RULE, WINDOW
from cepheid.pattern.expressions.sampled import constant_column
from cepheid.values.json import Json

__all__ = ["RULE", "WINDOW", "Router", "RuleMatches", "Tier", "constant_column"]


@dataclass(frozen=True, slots=True)
class RuleMatches:
    """Matches of one template, each with the number of its rule."""

    template: int
    numbers: np.ndarray
    matches: Matches


class Tier(Protocol):
    """One way to run rules. Times are ticks; a rule has a number, and sees the events in (at, until].

    reloads: whether `load` may come after events: rules stay as they are, and what ran is replaced.
    """

    reloads: bool

    def add(self, numbers: np.ndarray, constants: pa.Table, at: int | None, kind: object = None) -> None:
        """Rules with their constants; at: None is from the beginning. kind: what the tier must know of the template."""

    def remove(self, numbers: np.ndarray, at: int) -> None:
        """Rules that see no event after a time."""

    def settle_rules(self) -> None:
        """Put the rules so far where events find them, if that is not done yet."""

    def feed(self, batch: Batch) -> None:
        """The next events, in the order of S1."""

    def settle(self, watermark: int | None, rows: KeptRows) -> list[RuleMatches]:
        """The matches that became certain, given all events before a time (None: all)."""

    def deadline(self) -> int | None:
        """The time from which on there is something to settle even if no event comes; None if there is none."""

    def compact(self, watermark: int) -> int | None:
        """Drop what no match to come can need; the first event that one can have among those so far."""

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The state: facts for a header, and flat arrays."""

    def load(self, facts: Json, arrays: list[np.ndarray], rows: KeptRows) -> None:
        """Take up a state that was dumped."""

    def counters(self) -> Mapping[str, int]:
        """What it has done: events, rules that were touched, runs that are alive."""


class Router(Protocol):
    """Which rules an event concerns."""

    def add(self, numbers: np.ndarray, constants: pa.Table) -> None:
        """Add rules; `numbers` are ascending, `constants` has a row for each."""

    def remove(self, numbers: np.ndarray) -> None:
        """Remove rules: no event finds them from now on."""

    def clear(self) -> None:
        """Remove all rules, before others are loaded."""

    def copy(self) -> Router:
        """The same at the beginning of another stream, to which more may come."""

    def dump(self) -> tuple[np.ndarray, ...]:
        """Arrays that say what it knows of the events so far; none: nothing."""

    def load(self, arrays: Sequence[np.ndarray], numbers: np.ndarray, at: int | None) -> None:
        """Take these up, of some rules, after events up to a time; None: there were none."""

    def route(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The places of events in a batch and the numbers of the rules that each concerns, by event and number."""

    def most(self, batch: Batch) -> Any:
        """How many rules each event of a batch may concern, before that is known."""
