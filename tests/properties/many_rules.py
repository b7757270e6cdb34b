"""Templates with their rules, run together by the routed tier: what property tests compare with single runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import cepheid as cep
from cepheid.automaton.model import Now
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.factory import MachineFactory
from cepheid.engine.many.protocol import RULE
from cepheid.engine.many.routed.concerns import concerns
from cepheid.engine.many.routed.routed import RoutedTier
from cepheid.engine.many.routed.routers import AllPairs
from cepheid.engine.many.routed.variants import VariedTemplate
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.rows import arrival_of
from cepheid.front.templates.template import Joined
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import AutomatonPattern, Program, QueryTree, Window
from cepheid.pattern.tree.walk import rewrite, rewrite_expressions, substitute, walk
from cepheid.plan.spec import AUTO
from cepheid.testing.strategies import GeneratedQuery
from cepheid.testing.strategies.scope import PARAMETERS
from cepheid.testing.strategies.values import DAY, MOMENT
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import read_rows

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

    def wrong(self, events: pa.Table) -> list[int]:
        """The rules that can't be run."""
        found = []
        for number, rule in enumerate(self.rules.to_pylist()):
            try:
                self.make(rule).schema(events.schema)
            except cep.CepheidError:
                found.append(number)
        return found

    def single(self, events: pa.Table, *, engine: str = "plain") -> list[Row]:
        """What each rule gives alone; nothing if it is wrong."""
        found: list[Row] = []
        wrong = self.wrong(events)
        for number, rule in enumerate(self.rules.to_pylist()):
            if number not in wrong:
                matches = self.make(rule).match(events, engine=engine)
                found += ((number, row) for row in matches.to_pylist())
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

    def parametrised(tree: QueryTree) -> QueryTree:
        sees = None if tree.sees is None else rewrite(tree.sees, change)
        tree = replace(rewrite_expressions(tree, lambda e: rewrite(e, change)), sees=sees)
        within = tree.within
        if within is not None and isinstance(within.amount, ex.Literal) and draw(st.integers(0, 2)):
            columns["span"] = (1, 2, 3, 5, 8, 12)
            tree = replace(tree, within=Window(ex.Name("span"), within.unit))
        return tree

    for name, (_, value) in PARAMETERS.items():
        found = _values(literal(value))
        if name in query.options.get("params", {}) and found is not None and draw(st.booleans()):
            columns[name] = (1, 2, 3, 5) if name == "Limit" else found  # which windows may be
    program = Program(tuple(parametrised(tree) for tree in query.program.queries))
    count = draw(st.integers(1, most))
    rules: dict[str, list[Any]] = {}
    for name, values in columns.items():
        options = values if name in ("span", "Limit") else (*values, *values, None)
        rules[name] = [draw(st.sampled_from(options)) for _ in range(count)]
    rules["unused"] = list(range(count))
    return RuleSet(replace(query, program=program), pa.table(rules))


class Concerned(AllPairs):
    """Every rule that an event concerns, asked one by one."""

    def __init__(self, compiled: CompiledQuery) -> None:
        super().__init__()
        self.query = compiled.query
        self.rules = pa.table({})
        self.concerns = concerns(compiled)
        if isinstance(self.concerns, tuple):
            self.tests = [(one.types, [self.test(c) for c in one.conditions]) for one in self.concerns]

    def test(self, condition: ex.Expression) -> Callable[[Bindings], bool]:
        def read(node: ex.Expression) -> ex.Expression | None:
            return ex.Attribute("e", ex.Index.ONE, node.column) if isinstance(node, Now) else None

        found = substitute(condition, read)
        names = {node.name for node in walk(found) if isinstance(node, ex.Attribute)}
        known = names <= set(self.query.schema.columns) and all(type(n).__module__ == ex.__name__ for n in walk(found))
        return Compiler(self.query).condition(found) if known else lambda _: True

    def add(self, numbers: Any, constants: pa.Table) -> None:
        super().add(numbers, constants)
        columns = {name: constants.column(name) for name in constants.column_names}
        more = pa.table({RULE: pa.array(numbers, pa.int64()), **columns})
        self.rules = more if not self.rules.num_columns else pa.concat_tables([self.rules, more])

    def route(self, batch: Batch) -> tuple[Any, Any]:
        events, numbers = super().route(batch)
        if isinstance(self.concerns, str):
            return events, numbers
        at = {number: k for k, number in enumerate(self.rules.column(RULE).to_pylist())}
        own = self.rules.take(pa.array([at[number] for number in numbers.tolist()], pa.int64()))
        table = batch.table.take(pa.array(events))
        for name in own.column_names:
            table = table.append_column(name, own.column(name))
        rows = read_rows(table.select(list(self.query.schema.columns)).cast(self.query.schema.arrow), self.query.schema)
        typed = self.query.schema.roles.type is not None
        wanted = [
            any(
                (not types or not typed or row.type in types) and all(test(Bindings({}, {"e": row})) for test in tests)
                for types, tests in self.tests
            )
            for row in rows
        ]
        return events[np.array(wanted, bool)], numbers[np.array(wanted, bool)]


class Together:
    """Rules of one template over one stream, as a session would run them."""

    def __init__(
        self, query: GeneratedQuery, events: pa.Schema, engine: str = "plain", *, routes: bool = False
    ) -> None:
        self.routes = routes
        options = dict(query.options)
        params = options.pop("params", {})
        roles = cep.Query("PATTERN A a", **{**options, "types": None}).compiled.roles
        declared = options.get("types")
        types = declared and {name: tuple(given) for name, given in declared.items()}
        roles = replace(roles, types=types or None)
        self.schema: Schema = make_schema(events, roles)
        self.template = VariedTemplate(query.program, roles, options.get("functions") or {}, self.schema, params)
        self.template.few_windows = 0
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
                self.tiers[key] = self.tier(share.variant.joined)
            self.tiers[key].add(own[share.rows], share.constants, at)
            self.where |= dict.fromkeys(own[share.rows].tolist(), self.tiers[key])
        return [int(own[row]) for one in wrong for row in one.rows]

    def tier(self, joined: Joined) -> RoutedTier:
        """What runs the rules of a variant."""
        found = RoutedTier(0, joined, self.factory)
        if self.routes:
            found.router = Concerned(found.compiled)
        return found

    def remove(self, number: int, at: int) -> None:
        """Remove a rule."""
        if number in self.where:
            self.where[number].remove(np.array([number]), at)

    def restart(self) -> None:
        """Go on from what was written down."""
        for key, tier in list(self.tiers.items()):
            facts, arrays = tier.dump()
            found = self.tier(tier.joined)
            found.load(json.loads(json.dumps(facts)), [np.array(array) for array in arrays], self.stream)
            self.tiers[key] = found
            self.where = {number: found if own is tier else own for number, own in self.where.items()}

    def push(self, events: pa.Table, now: int | None) -> list[Row]:
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
    return isinstance(program.queries[0].pattern, AutomatonPattern)
