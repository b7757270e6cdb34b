"""What matches were given, and what two sets of them differ in, as multisets of rows (S15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.content_keys import grouped, mixed, row_keys, rows_of
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.match_table import MatchTable, concatenate, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.errors import EvaluationError
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import Ties

MOST = 1_000_000
"""Matches of one call that are compared with those of others."""


def check_count(number: int) -> None:
    """Refuse matches that are too many to be compared one by one."""
    if number > MOST:
        message = f"{number:,} matches are too many to be retracted one by one when an event is late"
        remedy = "add conditions or a shorter WITHIN, use skip_till_next_match, or wait: leave out speculate="
        raise EvaluationError("CEP505", message, remedy)


class Keyed(Protocol):
    """Matches whose rows have keys."""

    @property
    def keys(self) -> np.ndarray:
        """What stands for the rows."""

    def __len__(self) -> int: ...


class EmittedMatches:
    """Matches that were given together. base: the id of the first row of their events."""

    def __init__(self, matches: Matches, base: int) -> None:
        self.matches = matches
        self.base = base

    def bound(self) -> int:
        """How many there are at most, found without enumerating them."""
        return self.matches.bound()

    def count(self) -> int:
        """How many there are, found without enumerating them."""
        return self.matches.count()

    @property
    def found(self) -> MatchTable:
        """The matches, which are enumerated when they are first asked for."""
        return self.matches.found

    def __len__(self) -> int:
        return len(self.found)

    @cached_property
    def keys(self) -> np.ndarray:
        """What stands for the rows of the matches: without RETURN, their events do."""
        query = self.matches.query
        if query.returns or not len(self):
            # What a user-defined function returns has the type that its values have: it may be another one next time.
            untyped = [result.name for result in query.returns if result.type.kind is Kind.ANY]
            return row_keys(self.matches.to_arrow(), untyped)
        used, place = np.unique(self.found.rows, return_inverse=True)
        return match_keys(self.found, row_keys(rows_of(self.matches.table, used))[:, place])

    def ends(self) -> np.ndarray:
        """When each match ends, in ticks."""
        ends: np.ndarray = ticks(self.matches.query.schema, rows_of(self.matches.table, self.found.last))
        return ends


def match_keys(matched: MatchTable, events: np.ndarray) -> np.ndarray:
    """What stands for matches, given what stands for each of their events."""
    starts, lengths = matched.offsets[:-1], np.diff(matched.offsets)
    step = np.arange(len(matched.rows)) - np.repeat(starts, lengths)
    words = mixed(mixed(events, matched.variables.astype(np.uint64)), step.astype(np.uint64))
    with np.errstate(over="ignore"):
        keys: np.ndarray = mixed(np.add.reduceat(words, starts, axis=1), lengths.astype(np.uint64))
        return keys


@dataclass(frozen=True, eq=False)
class EmittedKeys:
    """What is left of matches that were given: the keys of their rows, and when they end."""

    keys: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    def since(self, end: int, emitted: EmittedMatches | None = None) -> EmittedKeys:
        """Those that end at a time or later, and such of some other matches."""
        keys, ends = self.keys, self.ends
        if emitted is not None and len(emitted):
            keys, ends = np.concatenate([keys, emitted.keys], axis=1), np.concatenate([ends, emitted.ends()])
        recent = ends >= end
        return EmittedKeys(keys[:, recent], ends[recent])


FORGOTTEN = EmittedKeys(np.zeros((2, 0), np.uint64), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class MatchSelection:
    """Some of the matches of each of several (None: all of them).

    ranks: how many equal ones there were before, for each in turn; None: that was not asked yet.
    """

    parts: Sequence[tuple[EmittedMatches, np.ndarray | None]]
    ranks: np.ndarray | None

    def __len__(self) -> int:
        return sum(len(emitted) if index is None else len(index) for emitted, index in self.parts)

    def count(self) -> int:
        """How many there are, without enumerating them where all of some are selected."""
        return sum(emitted.count() if index is None else len(index) for emitted, index in self.parts)

    @property
    def keys(self) -> np.ndarray:
        """The keys of the matches that are selected."""
        return np.concatenate(
            [g.keys if k is None else g.keys[:, k] for g, k in self.parts] or [np.zeros((2, 0), np.uint64)], 1
        )


NOTHING = MatchSelection((), np.zeros(0, np.int64))


def whole(emitted: Sequence[EmittedMatches]) -> MatchSelection:
    """All matches; which of them are equal is not asked yet."""
    return MatchSelection([(matches, None) for matches in emitted if matches.bound()], None)


def difference(old: Sequence[EmittedMatches], new: Sequence[EmittedMatches]) -> tuple[MatchSelection, MatchSelection]:
    """The matches that are no more, and those that are new."""
    old, new = [matches for matches in old if len(matches)], [matches for matches in new if len(matches)]
    if not old and not new:
        return NOTHING, NOTHING
    keys = [np.concatenate([FORGOTTEN.keys, *(matches.keys for matches in side)], axis=1) for side in (old, new)]
    gone, added, ranks = _ranked(*keys)
    before = len(gone)
    return _select(old, gone, ranks[:before]), _select(new, added, ranks[before:])


def _ranked(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the keys of some matches and of others, which the other side has less often.

    And how many equal ones of the own side are before each.
    """
    before, count = old.shape[1], old.shape[1] + new.shape[1]
    if not count:
        nothing = np.zeros(0, bool)
        return nothing, nothing, np.zeros(0, np.int64)
    order, group = grouped(np.concatenate([old, new], axis=1))
    is_new = order >= before
    counts = [np.bincount(group[side], minlength=group[-1] + 1) for side in (~is_new, is_new)]
    firsts = np.concatenate([[0], np.cumsum(counts[0] + counts[1])[:-1]])
    place = np.arange(count) - firsts[group]  # in a group those that are old come first
    rank = np.where(is_new, place - counts[0][group], place)
    ranks, chosen = np.empty(count, np.int64), np.zeros(count, bool)
    ranks[order] = rank
    chosen[order] = rank >= np.where(is_new, counts[0][group], counts[1][group])
    return chosen[:before], chosen[before:], ranks


def _select(emitted: Sequence[EmittedMatches], chosen: np.ndarray, ranks: np.ndarray) -> MatchSelection:
    parts = []
    at = 0
    for matches in emitted:
        index = np.flatnonzero(chosen[at : at + len(matches)])
        if len(index):
            parts.append((matches, index))
        at += len(matches)
    return MatchSelection(parts, ranks[chosen])


def counted_in(keys: np.ndarray, emitted: Sequence[Keyed]) -> np.ndarray:
    """How often the rows of some keys are among other matches."""
    others = [matches.keys for matches in emitted if len(matches)]
    if not others or not keys.shape[1]:
        return np.zeros(keys.shape[1], np.int64)
    known = np.concatenate(others, axis=1)
    order, group = grouped(np.concatenate([keys, known], axis=1))
    counts = np.bincount(group[order >= keys.shape[1]], minlength=group[-1] + 1)
    how_often = np.empty(len(order), np.int64)
    how_often[order] = counts[group]
    return how_often[: keys.shape[1]]


def gathered(selected: MatchSelection, nothing: Matches) -> tuple[Matches, np.ndarray | slice]:
    """The matches that are selected, in the order of S9, and that order, as a permutation of the selection."""
    if not selected.parts:
        return nothing, np.zeros(0, np.int64)
    emitted, index = selected.parts[0]
    if len(selected.parts) == 1:
        matches = emitted.matches if index is None else emitted.matches.with_found(emitted.found.take(index))
        return matches, slice(None)
    tables, parts, ids = [], [], []
    rows = 0
    for emitted, index in selected.parts:
        part = emitted.found if index is None else emitted.found.take(index)
        used, place = np.unique(part.rows, return_inverse=True)
        tables.append(rows_of(emitted.matches.table, used))
        parts.append(replace(part, rows=place + rows))
        ids.append(used + emitted.base)
        rows += len(used)
    together, query = concatenate(parts), emitted.matches.query
    events = pa.concat_tables(tables, promote_options="permissive")
    times = ticks(query.schema, events)[together.rows] if query.ties is Ties.SIMULTANEOUS else None
    order = in_order(together, np.concatenate(ids)[together.rows], times)
    return emitted.matches.with_found(together.take(order), events), order
