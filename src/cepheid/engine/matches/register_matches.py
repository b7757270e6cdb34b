"""Matches of automata of one's own (S18): (first, last, register), each once, and their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.matches.match_table import Column, MatchTable
from cepheid.front.automata.bound import automaton_in
from cepheid.front.automata.registers import FIRST, LAST
from cepheid.front.runnable import Result, Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind, plain
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.keys import sort_key
from cepheid.values.rows import read_rows
from cepheid.values.value import Value

KEPT = -1
"""The value beside those of the register: whether a match came when its window was over."""


def pairs(rows: np.ndarray, values: tuple[pa.Array, ...]) -> MatchTable:
    """Matches by their first and last rows, which alternate."""
    count = len(rows) // 2
    return MatchTable(
        rows,
        np.tile(np.array([0, 1]), count),
        np.arange(0, 2 * count + 1, 2),
        np.zeros(count, np.int64),
        (frozenset((FIRST, LAST)),),
        values,
    )


class RegisterMatches:
    """What is made of the matches of an automaton whose values are the fields of its register."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.slots = automaton_in(query).slots

    def once(self, matched: MatchTable) -> MatchTable:
        """Each match once, in the order of S9; then by the register."""
        assert matched.values is not None
        ends = _ends(matched.rows)
        if (ends[1:] > ends[:-1]).all():
            return matched
        order = np.argsort(ends, kind="stable")  # which is fast where they are nearly in order, as kernels emit them
        sorted_ = ends[order]
        if (sorted_[1:] > sorted_[:-1]).all():
            return _taken(matched, order)
        registers = [_ranks(column) for column in matched.values[: len(self.slots)]]
        order = np.lexsort((*reversed(registers), ends))
        known = [ends[order], *(ranks[order] for ranks in registers)]
        new = np.ones(len(order), bool)
        if len(order) > 1:
            new[1:] = np.any([values[1:] != values[:-1] for values in known], axis=0)
        return _taken(matched, order[new])

    def keys(self, matched: MatchTable) -> list[tuple[Value, ...]]:
        """What identifies each match among those of its stream; NaN equals NaN."""
        assert matched.values is not None
        registers = [map(_identical, column.to_pylist()) for column in matched.values[: len(self.slots)]]
        return list(zip(matched.first.tolist(), matched.last.tolist(), *registers, strict=True))

    def given(self, matched: MatchTable, kept: pa.Table) -> MatchTable:
        """The matches that HAVING lets pass, with the columns of RETURN."""
        assert matched.values is not None
        if self.query.having is not None:
            holds = Compiler(self.query).condition(self.query.having)
            wanted = [k for k, bound in enumerate(self._bindings(matched, kept)) if holds(bound)]
            matched = matched.take(np.array(wanted, np.int64))
        assert matched.values is not None
        made = [self._copied(result, matched, kept) for result in self.query.returns]
        if any(column is None for column in made):
            bound = self._bindings(matched, kept)
            compiler = Compiler(self.query, output=True)
            for k, result in enumerate(self.query.returns):
                if made[k] is None:
                    evaluate = compiler.result(result.expression)
                    made[k] = [evaluate(bindings_) for bindings_ in bound]
        values = tuple(made)
        return MatchTable(matched.rows, matched.variables, matched.offsets, matched.reached, matched.reaches, values)

    def _copied(self, result: Result, matched: MatchTable, kept: pa.Table) -> Column | None:
        """A column that needs no evaluation; None if it does."""
        schema, node = self.query.schema, result.expression
        assert matched.values is not None
        match node:
            case ex.RegisterField(name=name):
                return _as_result(matched.values[[slot.name for slot in self.slots].index(name)], result)
            case ex.Rows():
                return [None] * len(matched)  # which are made of the events themselves
            case ex.Literal(value=None):
                return pa.nulls(len(matched), result.type.arrow)
            case ex.Attribute(variable=variable, name=name) if schema.roles.types is None:
                return kept.column(name).take(from_numpy(matched.first if variable == FIRST else matched.last))
            case ex.Arithmetic(
                operator="+", left=ex.Attribute(variable=variable, name=name), right=ex.Literal(value=int(length))
            ) if schema.columns[name].kind is Kind.INT and variable == FIRST and schema.roles.types is None:
                times = kept.column(name).take(from_numpy(matched.first)).cast(pa.int64())
                return pc.add(times, length)  # wraps, as all integers do
        return None

    def _bindings(self, matched: MatchTable, kept: pa.Table) -> list[Bindings]:
        assert matched.values is not None
        used, place = np.unique(matched.rows, return_inverse=True)
        events = read_rows(kept.take(from_numpy(used)), self.query.schema)
        names = [slot.name for slot in self.slots]
        registers = zip(*(column.to_pylist() for column in matched.values[: len(names)]), strict=True)
        if not names:
            registers = iter([()] * len(matched))  # type: ignore[assignment]
        made = []
        for (first, last), register in zip(place.reshape(-1, 2).tolist(), registers, strict=True):
            ends = {FIRST: events[first], LAST: events[last]}
            every = {name: (event,) for name, event in ends.items()}
            made.append(Bindings(every, ends, dict(zip(names, register, strict=True))))
        return made


def _ends(rows: np.ndarray) -> np.ndarray:
    """Numbers that are ordered as matches are by their last rows, then by the first ones."""
    low = int(rows.min())
    ends: np.ndarray = (rows[1::2] - low) * (int(rows.max()) - low + 1) + rows[::2]
    return ends


def _taken(matched: MatchTable, order: np.ndarray) -> MatchTable:
    """Some of the matches with their registers, in an order."""
    assert matched.values is not None
    return pairs(matched.rows.reshape(-1, 2)[order].ravel(), tuple(v.take(from_numpy(order)) for v in matched.values))


def _as_result(column: pa.Array, result: Result) -> pa.Array:
    """A field of the register as a column of RETURN. Times are integers, which `Matches` converts from a list."""
    if result.type.kind in (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.STRING):
        return column if column.type == plain(result.type) else column.cast(plain(result.type))
    return column.to_pylist()


def _identical(value: Value) -> Value:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _ranks(column: pa.Array) -> np.ndarray:
    """Numbers that are ordered and equal as the values are: NULL first, NaN last (S1)."""
    values: Sequence[Value] = column.to_pylist() if pa.types.is_string(column.type) or column.null_count else ()
    if not values:
        plain = column.to_numpy(zero_copy_only=False)
        if plain.dtype != np.float64:
            ranks_array: np.ndarray = plain.astype(np.int64)
            return ranks_array
        _, ranks = np.unique(plain + 0.0, return_inverse=True)  # NaNs are one, and the last
        return ranks
    keys = [sort_key(_plain_zero(value)) for value in values]
    number = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.array([number[key] for key in keys], np.int64)


def _plain_zero(value: Value) -> Value:
    return 0.0 if isinstance(value, float) and value == 0 else value
