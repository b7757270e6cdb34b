"""Templates with their rules, run together by the routed tier: what property tests compare with single runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.factory import MachineFactory
from cepheid.engine.many.routed import RoutedTier
from cepheid.engine.many.variants import Template
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.rows import arrival_of
from cepheid.pattern import expressions as ex
from cepheid.pattern.schema import Schema, make_schema
from cepheid.pattern.tree import Automaton, Program, Query, Window
from cepheid.pattern.types import Kind
from cepheid.pattern.walk import rewrite, rewrite_expressions
from cepheid.plan.spec import AUTO
from cepheid.testing.strategies import GeneratedQuery
from cepheid.testing.strategies.values import DAY, MOMENT

Row = tuple[int, dict[str, Any]]
Rule = Mapping[str, Any]

VALUES: Mapping[Kind, Sequence[Any]] = {
    Kind.INT: (-2, -1, 0, 1, 2, 3),
    Kind.FLOAT: (0.0, -0.0, 0.5, 1.25, 2.0, -1.5, float("nan")),
    Kind.STRING: ("a", "b", "", "ab", "1", "0.5", "2024-01-01"),
    Kind.BOOL: (True, False),
    Kind.DATE: tuple(DAY + timedelta(days=n) for n in range(-1, 3)),
    Kind.DURATION: tuple(timedelta(seconds=n) for n in range(4)),
    Kind.DECIMAL: (Decimal("1.25"), Decimal("0.50"), Decimal("2.00")),
}
LOCAL = tuple(MOMENT + timedelta(seconds=n) for n in range(-1, 3))
ZONED = tuple(moment.replace(tzinfo=UTC) for moment in LOCAL)


@dataclass(frozen=True)
class RuleSet:
    """A template, its options, and a table of rules for it."""

    query: GeneratedQuery
    rules: pa.Table

    def __repr__(self) -> str:
        return f"{self.query!r}\n{self.rules.to_pylist()}"

    def make(self, rule: Rule) -> cep.Query:
        """The query of one rule."""
        options = dict(self.query.options)
        return cep.Query(self.query.program, **{**options, "params": {**options.get("params", {}), **rule}})

    def single(self, events: pa.Table, *, engine: str = "plain") -> list[Row]:
        """What each rule gives alone; nothing if it is wrong."""
        found: list[Row] = []
        for number, rule in enumerate(self.rules.to_pylist()):
            try:
                query = self.make(rule)
                query.schema(events.schema)
            except cep.CepheidError:
                continue
            found += ((number, row) for row in query.match(events, engine=engine).to_pylist())
        return found


def _values(node: ex.Literal) -> Sequence[Any] | None:
    """Values that may stand where a literal does."""
    kind = node.type.kind
    if kind is Kind.TIMESTAMP:
        return ZONED if pa.types.is_timestamp(node.type.arrow) and node.type.arrow.tz else LOCAL
    return VALUES.get(kind)


@st.composite
def rule_sets(draw: st.DrawFn, query: GeneratedQuery, *, most: int = 4) -> RuleSet:
    """A query, some of whose literals and windows become parameters, and rules."""
    columns: dict[str, Sequence[Any]] = {}
    often = draw(st.sampled_from((1, 2, 3)))

    def change(node: ex.Expression) -> ex.Expression:
        if not isinstance(node, ex.Literal) or draw(st.integers(0, often)) == 0:
            return node
        values = _values(node)
        if values is None:
            return node
        name = f"q{len(columns)}"
        columns[name] = values
        return ex.Name(name)

    def parametrised(tree: Query) -> Query:
        sees = None if tree.sees is None else rewrite(tree.sees, change)
        tree = replace(rewrite_expressions(tree, lambda e: rewrite(e, change)), sees=sees)
        within = tree.within
        if within is not None and isinstance(within.amount, ex.Literal) and draw(st.integers(0, 2)):
            columns["span"] = (1, 2, 3, 5, 8, 12)
            tree = replace(tree, within=Window(ex.Name("span"), within.unit))
        return tree

    program = Program(tuple(parametrised(tree) for tree in query.program.queries))
    count = draw(st.integers(1, most))
    rules: dict[str, list[Any]] = {}
    for name, values in columns.items():
        options = values if name == "span" else (*values, *values, None)
        rules[name] = [draw(st.sampled_from(options)) for _ in range(count)]
    rules["unused"] = list(range(count))
    return RuleSet(replace(query, program=program), pa.table(rules))


class Together:
    """Rules of one template over one stream, as a session would run them."""

    def __init__(self, query: GeneratedQuery, events: pa.Schema, engine: str = "plain") -> None:
        options = dict(query.options)
        params = options.pop("params", {})
        roles = cep.Query("PATTERN A a", **{**options, "types": None}).compiled.roles
        declared = options.get("types")
        types = declared and {name: tuple(given) for name, given in declared.items()}
        roles = replace(roles, types=types or None)
        self.schema: Schema = make_schema(events, roles)
        self.template = Template(query.program, roles, options.get("functions") or {}, self.schema, params)
        self.factory = MachineFactory(engine, AUTO, None)
        self.stream = InputStream(self.schema, once=False)
        self.tiers: dict[int, RoutedTier] = {}
        self.where: dict[int, RoutedTier] = {}

    def add(self, numbers: Sequence[int], rules: pa.Table, at: int | None = None) -> list[int]:
        """Add rules; the numbers of those that can't be run."""
        shares, wrong = self.template.split(rules)
        own = np.asarray(numbers, np.int64)
        for share in shares:
            key = id(share.variant)
            if key not in self.tiers:
                self.tiers[key] = RoutedTier(0, share.variant.joined, self.factory)
            self.tiers[key].add(own[share.rows], share.constants, at)
            self.where |= dict.fromkeys(own[share.rows].tolist(), self.tiers[key])
        return [int(own[row]) for one in wrong for row in one.rows]

    def remove(self, number: int, at: int) -> None:
        """Remove a rule."""
        if number in self.where:
            self.where[number].remove(np.array([number]), at)

    def push(self, events: pa.Table, now: int | None, restart: Callable[[RoutedTier], RoutedTier] | None = None) -> list[Row]:
        """More events, all those before a time being in."""
        if events.num_rows:
            self.stream.arrivals.add(arrival_of(self.schema, events, ticks(self.schema, events)))
        batch = self.stream.release(now)
        found: list[Row] = []
        for tier in self.tiers.values():
            if batch is not None:
                tier.feed(batch)
            for one in tier.settle(now, self.stream):
                rows = one.matches.to_pylist()
                assert len(rows) == len(one.numbers)
                ends = [row["match_end"] for row in rows]
                assert ends == sorted(ends)
                found += zip(one.numbers.tolist(), rows, strict=True)
        if now is not None:
            needed = [tier.compact(now) for tier in self.tiers.values()]
            self.stream.cut(min((one for one in needed if one is not None), default=self.stream.events))
        return found


def by_rule(rows: Sequence[Row]) -> list[Row]:
    """Those of each rule together, in the order in which it gives them."""
    return sorted(rows, key=lambda row: row[0])


def is_own(program: Program) -> bool:
    """Whether it is an automaton of the user's own."""
    return isinstance(program.queries[0].pattern, Automaton)
