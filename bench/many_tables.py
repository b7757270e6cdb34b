"""Cayuga's queries in the shared tables, and the kernel over them. Whatever the bench needs of their inside is here."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_int64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa

from bench.cayuga import ATTRIBUTES, STEPS, Workload
from bench.many_texts import texts
from bench.native.build import address, library
from cepheid import Queries
from cepheid.api.many.running import many_stream
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.many.tables.level import ChainRules, Extra
from cepheid.engine.many.tables.shared import ChainKind, SharedTier, TextRules
from cepheid.engine.many.tables.tables import SharedTables
from cepheid.kernel import shared as k
from cepheid.pattern.binding.schema import Schema, make_schema

SAMPLE = 1_500
"""So many texts are read by frames and conditions."""


@dataclass(frozen=True)
class Pattern:
    """What the queries of a template have in common, as the engine reads it from some of their texts."""

    kind: ChainKind
    constants: pa.Table  # of one rule: what is not a condition
    bounds: dict[tuple[str, str], Any]  # by column and operator
    schema: Schema

    @staticmethod
    def of(template: str, some: Workload, table: pa.Table) -> Pattern:
        """Of a template."""
        queries = Queries(list(texts(some, template)), progress=False)
        schema = make_schema(table.schema, queries.options.roles)
        stream = many_stream(queries.fitting(schema), schema, "auto")
        (tier,) = stream.tiers.values()
        assert isinstance(tier, SharedTier), f"{template}: not in the shared tables"
        (kind,) = tier.kinds
        ((_, part),) = tier._pending
        bounds = {(extra.bounds.key.column, extra.bounds.operator): extra.bounds for extra in part.extras}
        return Pattern(kind, part.constants.slice(0, 1), bounds, schema)

    def rules(self, queries: Workload, *, filtered: bool) -> TextRules:
        """Queries as their texts are read, without the texts. filtered: the primary condition ends a wait."""
        count = len(queries)
        constants = self.constants.take(pa.array(np.zeros(count, np.int64)))
        chain = self.kind.chain
        return TextRules(
            self.kind, ChainRules(chain, np.arange(count), constants, tuple(self._extras(queries, filtered=filtered)))
        )

    def _extras(self, queries: Workload, *, filtered: bool) -> Iterator[Extra]:
        lows, highs = queries.limits()
        for step in range(STEPS):
            yield from self._asks("d", "=", step, queries.primary, queries.value)
            if filtered and step < STEPS - 1:
                yield from self._asks("d", "=", step, queries.primary, queries.value, ending=True)
            yield from self._asks("d", "=", step, queries.others[:, step], queries.other_values[:, step])
            for one in range(2):
                column, number = queries.columns[:, step, one], queries.ranges[:, step, one]
                yield from self._asks("c", ">=", step, column, lows[number])
                yield from self._asks("c", "<", step, column, highs[number])

    def _asks(
        self, letter: str, operator: str, step: int, attributes: Any, values: Any, *, ending: bool = False
    ) -> Iterator[Extra]:
        for attribute in range(ATTRIBUTES):
            rows = np.flatnonzero(attributes == attribute)
            if len(rows):
                bounds = self.bounds[f"{letter}{attribute}", operator]
                yield Extra(step, ending, bounds, rows, pa.table({bounds.constant.column: values[rows]}))


class ManyKernel:
    """Queries in shared tables, over a stream; the state begins empty each time, in the memory of the time before."""

    def __init__(
        self, pattern: Pattern, queries: Workload, table: pa.Table, *, template: str, merge: bool = True
    ) -> None:
        codes = StreamCodes(pattern.schema, once=True)
        simultaneous = pattern.kind.chain.simultaneous
        self.tier = SharedTier(codes, simultaneous=simultaneous, merge=merge)
        rules = pattern.rules(queries, filtered=template == "Filter")
        self.tier.add(rules.rules.numbers, rules.rules.constants, None, rules)
        self.layout = self.tier.layout()  # which puts the rules into the tables
        self.tables: SharedTables = self.tier.tables
        self.batch = Batch(codes, table, ticks(pattern.schema, table), 0)
        self.table = table
        # The columns in the layout of the kernel are made once.
        self.keys, self.quick = self.tables.keys.of(self.batch, self.tables.partitions(self.batch), native=True)
        self.numbers = self.tables.numbers.of(self.batch)
        vars(self.tables.keys)["of"] = lambda *_, **__: (self.keys, self.quick)
        vars(self.tables.numbers)["of"] = lambda *_: self.numbers
        self.run()
        self.counts = {name: int(self.tables.cells[cell]) for name, cell in _COUNTED.items()}

    def run(self) -> int:
        """From columns in the layout of the kernel to matches; how many nodes were reached."""
        cells = self.tables.cells
        cells[[k.FREE, k.USED, k.MATCHES, k.ALIVE, k.FRESH, k.LISTENERS, *_COUNTED.values()]] = 0
        cells[k.FREE] = k.NOBODY
        self.tables.listeners.fill(k.NOBODY)
        self.tables.listeners[0] = -2
        self.tables.feed(self.batch)
        return int(cells[k.MATCHES])

    def matches(self) -> Any:
        """The leaf, the start and the events of each match, sorted."""
        self.run()
        rows, _ = self.tables.take_matches()
        return _sorted(rows[:, [0, k.START, *range(k.HELD, k.HELD + STEPS)]])

    def found(self) -> int:
        """How many matches of queries there are: several may have the same leaf."""
        return int(self._members(self.matches()[:, 0])[1].sum())

    def by_query(self) -> Any:
        """The query and the events of each match, sorted."""
        matches = self.matches()
        begin, count = self._members(matches[:, 0])
        each = np.repeat(np.arange(len(matches)), count)
        at = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        queries = self.tables.members.array[begin[each] + at]
        return _sorted(np.column_stack([queries, matches[each, 2:]]))

    def _members(self, leaves: Any) -> tuple[Any, Any]:
        """Where the queries of leaves begin, and how many they are."""
        where = self.tables.nodes.array[leaves * k.NODE + k.CHILDREN]
        return where & k.LOW, where >> 32


_COUNTED = {"touched": k.TOUCHED, "candidates": k.CANDIDATES, "made": k.MADE}


class Native:
    """The same in C++, on the same tables. Without `indexed` an event goes over all runs."""

    def __init__(self, ours: ManyKernel, *, dynamic: bool = False, indexed: bool = True) -> None:
        self.ours = ours
        tables = ours.tables
        assert tables.level_count == 1
        level = tables.levels
        self._own = [np.ascontiguousarray(ours.table.column(f"c{j}").to_numpy()) for j in range(4)]
        self._columns = np.array(sorted(tables.listening) or [0], np.int64)
        self._times = np.ascontiguousarray(ours.batch.times, np.int64)
        self._push = library("many").many_push_dyn if dynamic else library("many").many_push
        if not indexed:
            self._push = library("many").many_push_all
        arrays = (
            tables.edges, tables.nodes, tables.kinds, tables.lists, tables.rules, tables.hashes,
            tables.sets, tables.ranges,
        )  # fmt: skip
        self.state = c_void_p(
            library("many").many_new(
                *(c_void_p(one.array.ctypes.data) for one in arrays),
                c_int64(int(level[k.HASH_MASK])),
                c_int64(int(level[k.ROOT_SETS])),
                c_int64(int(tables.simultaneous)),
            )
        )
        finalize(self, library("many").many_free, self.state)

    def run(self) -> int:
        """Likewise."""
        library("many").many_reset(self.state)
        arrays = self._times, self.ours.keys, self.ours.quick
        self._push(
            self.state, c_int64(len(self._times)), c_int64(len(self.ours.tables.keys)), *map(address, arrays),
            self._prices, address(self._columns), c_int64(len(self.ours.tables.listening)),
        )  # fmt: skip
        return int(library("many").many_matches(self.state))

    def matches(self) -> Any:
        """Likewise."""
        count = self.run()
        rows = np.empty((count, 2 + STEPS), np.int64)
        library("many").many_enumerate(self.state, address(rows))
        return _sorted(rows)

    @cached_property
    def _prices(self) -> Any:
        return (c_void_p * 4)(*(column.ctypes.data for column in self._own))


def _sorted(rows: Any) -> Any:
    return rows[np.lexsort(rows.T[::-1])]
