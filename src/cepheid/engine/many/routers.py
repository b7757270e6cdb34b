"""Which rules an event concerns: those whose constants it has, where all that matters to a rule asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Now
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.many.concerns import Concern, concerns
from cepheid.engine.many.protocol import Router
from cepheid.engine.many.value_index import ValueIndex
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.pattern import expressions as ex
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind, plain

Pair = tuple[str, str]
"""A column of the events, and the column of constants that it must equal."""
_EXACT = (Kind.INT, Kind.STRING, Kind.BOOL, Kind.DATE)
"""Kinds of which equal values are the same value."""


class AllPairs:
    """Every event concerns every rule."""

    def __init__(self) -> None:
        self.numbers: Any = np.zeros(0, np.int64)

    def add(self, numbers: Any, constants: pa.Table) -> None:
        """More rules."""
        self.numbers = np.union1d(self.numbers, np.asarray(numbers, np.int64))

    def remove(self, numbers: Any) -> None:
        """Rules that are gone."""
        self.numbers = np.setdiff1d(self.numbers, numbers, assume_unique=True)

    def clear(self) -> None:
        """Forget all rules."""
        self.numbers = np.zeros(0, np.int64)

    def copy(self) -> AllPairs:
        """The same, to which more may come."""
        return copy(self)

    def route(self, batch: Batch) -> tuple[Any, Any]:
        """Every event with every rule."""
        events = np.repeat(np.arange(len(batch)), len(self.numbers))
        return events, np.tile(self.numbers, len(batch))


class ByEquality:
    """An event concerns the rules whose constant it has, in one of some pairs of columns."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._indexes = {pair: ValueIndex() for pair in dict.fromkeys(pairs)}

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The columns of the events, each with that of the constants."""
        return tuple(self._indexes)

    def add(self, numbers: Any, constants: pa.Table) -> None:
        """More rules."""
        for (_, constant), index in self._indexes.items():
            index.add(np.asarray(numbers, np.int64), constants.column(constant))

    def remove(self, numbers: Any) -> None:
        """Rules that are gone."""
        for index in self._indexes.values():
            index.remove(numbers)

    def clear(self) -> None:
        """Forget all rules."""
        for index in self._indexes.values():
            index.clear()

    def copy(self) -> ByEquality:
        """The same, to which more may come."""
        found = ByEquality(())
        found._indexes = {pair: index.copy() for pair, index in self._indexes.items()}
        return found

    def route(self, batch: Batch) -> tuple[Any, Any]:
        """Each event with the rules that have its values."""
        parts = [index.find(batch.column(column)) for (column, _), index in self._indexes.items()]
        if len(parts) == 1:
            return parts[0]
        events, numbers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((numbers, events))
        events, numbers = events[order], numbers[order]
        new = np.ones(len(events), bool)
        new[1:] = (events[1:] != events[:-1]) | (numbers[1:] != numbers[:-1])
        return events[new], numbers[new]


def router_of(compiled: CompiledQuery) -> tuple[Router, str]:
    """What finds the rules of a joined query, and why that is all of them, if it is."""
    found = concerns(compiled)
    if isinstance(found, str):
        return AllPairs(), found
    pairs = []
    for concern in found:
        pair = _pair(concern, compiled.query.schema)
        if pair is None:
            return AllPairs(), "an event may matter that no constant of a rule is equal to"
        pairs.append(pair)
    return (ByEquality(pairs), "") if pairs else (AllPairs(), "nothing is asked of events")


def _pair(concern: Concern, schema: Schema) -> Pair | None:
    """A column and a constant that an event must have in common with a rule."""
    for condition in concern.conditions:
        match condition:
            case ex.Compare(operator="=", left=Now() as left, right=Now() as right):
                for one, other in ((left, right), (right, left)):
                    if other.column in schema.constants and _is_plain(one, other, schema):
                        return one.column, other.column
    return None


def _is_plain(column: Now, constant: Now, schema: Schema) -> bool:
    """Whether values are equal iff Arrow says so."""
    if column.column not in schema.columns or column.column in schema.constants:
        return False
    kinds = {column.type.kind, constant.type.kind}
    odd = plain(column.type) in (pa.uint64(), pa.date64()) or schema.roles.types is not None
    return len(kinds) == 1 and kinds <= set(_EXACT) and not odd
