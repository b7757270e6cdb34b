"""Which rules an event concerns: those whose constants it has, or whose bounds it passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Now
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import type_numbers
from cepheid.engine.many.protocol import Router
from cepheid.engine.many.routed.concerns import Concern, beginnings, concerns
from cepheid.engine.many.routed.range_index import RangeIndex
from cepheid.engine.many.routed.value_index import ValueIndex
from cepheid.engine.many.tables.begun import BegunRules
from cepheid.engine.many.tables.bounds import bounds_of, parts_of
from cepheid.engine.many.tables.chain import Bounds, RuleConstant
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind, plain

Pair = tuple[str, str]
"""A column of the events, and the column of constants that it must equal."""
_EXACT = (Kind.INT, Kind.STRING, Kind.BOOL, Kind.DATE)
"""Kinds of which equal values are the same value."""


SOME = 4
"""Rules that an event is expected to concern, where it is not known."""


@dataclass(frozen=True, slots=True)
class Route:
    """How events of some types (none: of any) find rules: by an equality, or by bounds, or they concern every rule."""

    types: tuple[str, ...]
    pair: Pair | None
    bounds: tuple[Bounds, ...] = ()

    @property
    def finds_all(self) -> bool:
        """Whether nothing is looked up."""
        return self.pair is None and not self.bounds


class AllPairs:
    """Every event concerns every rule."""

    def __init__(self) -> None:
        self.numbers: np.ndarray = np.zeros(0, np.int64)

    def add(self, numbers: np.ndarray, constants: pa.Table) -> None:
        self.numbers = np.union1d(self.numbers, np.asarray(numbers, np.int64))

    def remove(self, numbers: np.ndarray) -> None:
        self.numbers = np.setdiff1d(self.numbers, numbers, assume_unique=True)

    def most(self, batch: Batch) -> np.ndarray:
        """How many rules each event may concern."""
        return np.full(len(batch), len(self.numbers))

    def clear(self) -> None:
        self.numbers = np.zeros(0, np.int64)

    def dump(self) -> tuple[np.ndarray, ...]:
        """Nothing depends on the events so far."""
        return ()

    def load(self, arrays: Sequence[np.ndarray], numbers: np.ndarray, at: int | None) -> None:
        """There is nothing to load: the rules are all that it knows."""

    def copy(self) -> AllPairs:
        """The same, to which more may come."""
        return copy(self)

    def find(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Every event with every rule."""
        return self.route(batch)

    def route(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The places of events, and the numbers of the rules that each may concern: all of them."""
        events = np.repeat(np.arange(len(batch)), len(self.numbers))
        return events, np.tile(self.numbers, len(batch))


class ByConstants:
    """An event concerns the rules that one of some ways finds, each of which is about events of some types.

    later: types of events (none: of any) that concern a rule once another event has, for so many ticks.
    """

    def __init__(self, ways: Sequence[Route], later: tuple[str, ...] | None = None, reach: int | None = None) -> None:
        self.ways = tuple(dict.fromkeys(ways))
        self.later = later
        self.begun = BegunRules(reach)
        self._indexes = [_index_of(way) for way in self.ways]
        self._rules = 0

    def add(self, numbers: np.ndarray, constants: pa.Table) -> None:
        self._rules += len(numbers)
        for index in self._indexes:
            index.add(np.asarray(numbers, np.int64), constants)

    def remove(self, numbers: np.ndarray) -> None:
        self._rules -= len(numbers)
        self.begun.remove(numbers)
        for index in self._indexes:
            index.remove(numbers)

    def most(self, batch: Batch) -> Any:
        """How many rules each event may concern."""
        counts = np.sum([index.most(batch) for index in self._indexes], axis=0)
        return (
            counts + np.minimum(len(self.begun) + np.cumsum(counts), self._rules) if self.later is not None else counts
        )

    def clear(self) -> None:
        self.begun, self._rules = self.begun.anew(), 0
        for index in self._indexes:
            index.clear()

    def dump(self) -> tuple[np.ndarray, ...]:
        """The rules that have begun."""
        return (self.begun.numbers, self.begun.times) if self.later is not None else ()

    def load(self, arrays: Sequence[np.ndarray], numbers: np.ndarray, at: int | None) -> None:
        """Go on with them; a state of an earlier release does not say which they are, so that all may have."""
        if arrays:
            self.begun.set(*arrays)
        elif self.later is not None and at is not None:
            self.begun.set(np.sort(numbers), np.full(len(numbers), at))

    def copy(self) -> ByConstants:
        """The same rules, of which none has begun, to which more may come."""
        router = copy(self)
        router.begun = self.begun.anew()
        router._indexes = [index.copy() for index in self._indexes]
        return router

    def route(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Each event with the rules that it concerns."""
        parts = [self._found(way, index, batch) for way, index in zip(self.ways, self._indexes, strict=True)]
        if len(parts) == 1 and isinstance(self._indexes[0], _Index) and self.later is None:
            return parts[0]
        events, numbers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if self.later is not None:
            wanted = np.flatnonzero(_of_types(batch, self.later))
            more, owners = self.begun.find(batch.times, wanted, events, numbers)
            events, numbers = np.concatenate([events, more]), np.concatenate([numbers, owners])
        order = np.lexsort((numbers, events))
        events, numbers = events[order], numbers[order]
        new = np.ones(len(events), bool)
        new[1:] = (events[1:] != events[:-1]) | (numbers[1:] != numbers[:-1])
        return events[new], numbers[new]

    def _found(self, way: Route, index: _AnyIndex, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        rows = _of_types(batch, way.types)
        if not rows.all():
            places = np.flatnonzero(rows)
            batch = batch.once_for(
                ("of types", way.types),
                lambda: Batch(batch.codes, batch.only(places), batch.times[places], batch.first),
            )
            events, numbers = index.find(batch)
            return places[events], numbers
        return index.find(batch)


class _Index:
    """The rules of each value of a constant."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._values = ValueIndex()

    def add(self, numbers: np.ndarray, constants: pa.Table) -> None:
        self._values.add(numbers, constants.column(self.pair[1]))

    def remove(self, numbers: np.ndarray) -> None:
        self._values.remove(numbers)

    def clear(self) -> None:
        self._values.clear()

    def copy(self) -> _Index:
        index = copy(self)
        index._values = self._values.copy()
        return index

    def most(self, batch: Batch) -> np.ndarray:
        return np.full(len(batch), SOME)

    def find(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The places of events, and the rules that have the value of each."""
        return self._values.find(batch.column(self.pair[0]))


_AnyIndex = _Index | RangeIndex | AllPairs


def _index_of(way: Route) -> _AnyIndex:
    if way.pair is not None:
        return _Index(way.pair)
    return RangeIndex(way.bounds) if way.bounds else AllPairs()


def _of_types(batch: Batch, types: tuple[str, ...]) -> Any:
    """Which events are of some types; none: of any."""
    if not types or batch.schema.roles.type is None:
        return np.ones(len(batch), bool)
    codes, names = batch.type_codes
    return type_numbers(names, types)[codes] != 0


def router_of(compiled: CompiledQuery) -> tuple[Router, str]:
    """What finds the rules of a joined query; and why that is all of them, or all that have begun, if it is."""
    concerns_ = concerns(compiled)
    why = concerns_ if isinstance(concerns_, str) else ""
    if isinstance(concerns_, str):
        pair = _partition_pair(compiled)
        if pair is not None:
            return ByConstants([Route((), pair)]), ""
        concerns_ = (*beginnings(compiled), Concern((), ()))
    ways = {concern: _way(concern, compiled.query.schema) for concern in concerns_}
    later = [way for concern, way in ways.items() if not concern.begins and way.finds_all]
    kept = [way for concern, way in ways.items() if concern.begins or not way.finds_all]
    if any(way.finds_all and not way.types for way in kept):
        return AllPairs(), why or "an event may matter that no constant of a rule is compared with"
    if all(way.finds_all for way in kept):
        return AllPairs(), why or "an event is compared with no constant of a rule"
    return ByConstants(kept, _types(later, kept), compiled.query.reach), why


def _types(ways: Sequence[Route], other: Sequence[Route]) -> tuple[str, ...] | None:
    """The types of events that are of some ways (none: any), and do not find all rules by other ones; None: of none."""
    if not all(way.types for way in ways):
        return ()
    known = {name for way in other if way.finds_all for name in way.types}
    return tuple(dict.fromkeys(name for way in ways for name in way.types if name not in known)) or None


def _way(concern: Concern, schema: Schema) -> Route:
    """How the rules of a concern are found."""
    types = concern.types if schema.roles.types is None and schema.roles.type is not None else ()
    pair = _pair(concern, schema)
    if pair is not None or schema.roles.types is not None:
        return Route(types, pair)
    bounds_ = (
        bounds
        for condition in concern.conditions
        for part in parts_of(condition)
        for bounds in bounds_of(part)
        if isinstance(bounds.constant, RuleConstant)
        and bounds.key.column in schema.columns
        and bounds.constant.column in schema.constants
        and plain(schema.columns[bounds.key.column]) not in (pa.uint64(), pa.date64())
    )
    return Route(types, None, tuple(dict.fromkeys(bounds_)))


def _partition_pair(compiled: CompiledQuery) -> Pair | None:
    """A column that splits the events, and the constant in it without which nothing begins.

    Other events are of other partitions, so that even a strategy that sees every event does not see them.
    """
    query = compiled.query
    if compiled.why_interpreted:
        return None
    begins = [
        {
            pair
            for pair in _pairs([test.condition for test in arc.fence], query.schema)
            if pair[0] in query.partitions.all
        }
        for arc in compiled.automaton.arcs
        if arc.source is None
    ]
    return min(set.intersection(*begins), default=None) if begins else None


def _pair(concern: Concern, schema: Schema) -> Pair | None:
    """A column and a constant that an event must have in common with a rule."""
    return next(_pairs(concern.conditions, schema), None)


def _pairs(conditions: Sequence[ex.Expression], schema: Schema) -> Iterator[Pair]:
    for condition in conditions:
        match condition:
            case ex.Compare(operator="=", left=Now() as left, right=Now() as right):
                for event_side, rule_side in ((left, right), (right, left)):
                    if rule_side.column in schema.constants and _is_plain(event_side, rule_side, schema):
                        yield event_side.column, rule_side.column


def _is_plain(column: Now, constant: Now, schema: Schema) -> bool:
    """Whether values are equal iff Arrow says so."""
    if column.column not in schema.columns or column.column in schema.constants:
        return False
    kinds = {column.type.kind, constant.type.kind}
    odd = plain(column.type) in (pa.uint64(), pa.date64()) or schema.roles.types is not None
    return len(kinds) == 1 and kinds <= set(_EXACT) and not odd
