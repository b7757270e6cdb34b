"""Binding: a query and a schema become one typed value that every engine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from cepheid.pattern.algebra.bind import bind_term
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.algebra.linear import longest
from cepheid.pattern.algebra.result import BoundAlgebra, result_columns, result_schema, result_values
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.automata.bound import BoundAutomaton, bind_automaton, register_types, until
from cepheid.pattern.binding.analysis import Analysed, Functions, columns_read
from cepheid.pattern.binding.keys import bind_keys
from cepheid.pattern.binding.placement import Placement, place
from cepheid.pattern.binding.schema import END, START, Schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.expressions.types import Kind, Type, is_untyped
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Layout, absences
from cepheid.pattern.tree.nodes import AutomatonPattern, Output, PatternTree, Strategy, Ties
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.pattern.tree.scope import VisibleEvents


@dataclass(frozen=True, slots=True)
class Within:
    """A window: nanoseconds of time, or a number of events."""

    nanoseconds: int | None = None
    events: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A column of RETURN."""

    name: str
    expression: ex.Expression
    type: Type


@dataclass(frozen=True)
class Bound:
    """A query that can be run on a table of its schema. What follows from its parts is derived once.

    same, partition_by: keys by name, of a column or of a part of one that the schema has (`Schema.parts`).
    """

    schema: Schema
    pattern: PatternTree
    components: Mapping[str, Component]
    layout: Layout
    strategies: Mapping[str, Strategy]
    same: tuple[ex.SameValue, ...]
    placement: Placement
    partition_by: tuple[str, ...]
    within: Within | None
    having: ex.Expression | None
    returns: tuple[Result, ...]
    into: str | None
    output: Output
    cooldown: int  # nanoseconds
    ties: Ties
    functions: Mapping[str, Callable[..., object]]
    typer: Typer
    scope: VisibleEvents | None
    reads: tuple[str, ...]  # the columns that it reads
    automaton: BoundAutomaton | None = None  # of the user's own: then all else is about its first and last events
    algebra: BoundAlgebra | None = None  # a CESAR expression: then all else is about the events of its results
    made: bool = False  # of such results: a match is one row, whose columns are those of RETURN
    copies: Mapping[str, str] = field(default_factory=dict)  # of a derived stream: its columns that have a key
    origins: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)  # and where its columns come from

    @cached_property
    def result(self) -> Bound:
        """The query as its matches know it: those of a CESAR expression are rows of a schema of their own."""
        if self.algebra is None:
            return self
        schema = result_schema(self.algebra, self.schema)
        returns = tuple(Result(*one) for one in result_values(self.algebra))
        typer = replace(self.typer, schema=schema)
        found = replace(self, schema=schema, returns=returns, algebra=None, typer=typer, made=True)
        if not self.algebra.linear or not is_hidden(self.into):
            return found
        columns = dict(zip(self.algebra.term.types, self.algebra.names, strict=True))
        origins = {columns[name]: origin for name, origin in self.algebra.origins.items()}
        return replace(found, copies=self.algebra.copies, origins=origins)

    @property
    def positive(self) -> tuple[Component, ...]:
        """The components that a match binds, in the order of the text."""
        return tuple(c for c in self.components.values() if not c.negated)

    @cached_property
    def partitions(self) -> Partitioning:
        """How its events are split."""
        if self.algebra is not None:
            keys = self.algebra.keys
            return Partitioning(keys, (), True) if self.algebra.single else Partitioning((), keys, True)
        agreed = tuple(test.attribute for test in self.same)
        declared = self.schema.roles.types is not None and self.automaton is None
        if Strategy.STRICT in self.strategies.values() or declared:
            agreed = ()
        return Partitioning(self.partition_by, agreed, len(agreed) == len(self.same))

    @cached_property
    def window(self) -> int | None:
        """The window in ticks of the time column, or in events."""
        if self.within is None or self.within.nanoseconds is None:
            return None if self.within is None else self.within.events
        return -(-self.within.nanoseconds // self.schema.tick)

    @property
    def untyped(self) -> bool:
        """Whether a column that it reads has no type yet."""
        return any(is_untyped(self.schema.columns[name].arrow) for name in self.reads)

    @property
    def timed(self) -> bool:
        """Whether the window is of time."""
        return self.within is not None and self.within.events is None

    @property
    def counted(self) -> bool:
        """Whether the window is of events."""
        return self.within is not None and self.within.events is not None

    @cached_property
    def types_read(self) -> frozenset[str] | None:
        """The types of the events that its matches depend on; None where they may depend on every event."""
        if self.algebra is not None:
            named = {edge.type for edge in self.algebra.automaton.edges}
            return None if None in named else frozenset(str(name) for name in named)
        contiguous = {Strategy.STRICT, Strategy.PARTITION}.intersection(self.strategies.values())
        anything = any(not component.types for component in self.components.values())
        if self.schema.roles.type is None or self.counted or contiguous or anything:
            return frozenset(self.scope.types) if self.scope is not None and self.scope.types else None
        return frozenset(name for component in self.components.values() for name in component.types)

    @cached_property
    def waits(self) -> bool:
        """Whether an event must be absent after the last one: then a match is certain when its window is over."""
        return bool(self.trailing) or (self.automaton is not None and self.automaton.waits)

    @cached_property
    def looks_back(self) -> bool:
        """Whether an event must be absent before the first one."""
        return bool(self.leading)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The negations before the first event, by number."""
        return tuple(dict.fromkeys(absences(self.layout.starts)))

    @cached_property
    def trailing(self) -> tuple[int, ...]:
        """The negations after the last event, by number."""
        at_end = (move for moves in self.layout.moves for move in moves if move.target is None)
        return tuple(dict.fromkeys(absences(at_end)))

    @cached_property
    def periods(self) -> tuple[int | None, ...]:
        """Of each negation: how many nanoseconds the event must be absent, where the query says it (S26)."""
        unit = self.schema.roles.unit
        return tuple(
            None if absent.period is None else window_nanoseconds(absent.period, unit)
            for absent in self.layout.negations
        )

    @cached_property
    def span(self) -> int | None:
        """Within how many ticks the events of a match are; None where only the events tell."""
        if self.algebra is not None:
            ticks = longest(self.algebra.automaton, points=self.schema.start is None)
            return None if ticks is None else max(ticks, 0) + 1
        if self.within is not None:
            return self.window if self.timed else None
        single = all(move.target is None for moves in self.layout.moves for move in moves)
        return 1 if single else None

    @cached_property
    def ahead(self) -> int:
        """For how many ticks after its last event an event can undo a match, whatever the window is (S26)."""
        return max((self.ticks(self.periods[n]) for n in self.trailing), default=0)

    @cached_property
    def behind(self) -> int:
        """For how many ticks before its first event an event can undo a match, whatever the window is (S26)."""
        return max((self.ticks(self.periods[n]) for n in self.leading), default=0)

    @cached_property
    def reach(self) -> int | None:
        """For how many ticks an event can matter to matches; None where only the events tell."""
        return None if self.span is None else self.span + max(self.ahead, self.behind)

    def ticks(self, nanoseconds: int | None) -> int:
        """A duration in ticks of the time column; 0 for none."""
        return 0 if nanoseconds is None else -(-nanoseconds // self.schema.tick)

    @cached_property
    def conditions(self) -> tuple[ex.Expression, ...]:
        """Every conjunct over variables, once."""
        placed = self.placement
        found = [c for conditions in placed.at_place.values() for _, c in conditions]
        found += [c for conditions in (*placed.at_exit.values(), *placed.of_witness.values()) for c in conditions]
        return tuple(dict.fromkeys(found))

    def match_schema(self) -> pa.Schema:
        """The columns of a match (S11). A user function's type is known only from its values."""
        time = self.schema.columns[self.schema.roles.time].arrow
        fields = [pa.field(START, time), pa.field(END, time)]
        if self.algebra is not None:
            return self.result.match_schema()
        if self.returns or self.made:
            return pa.schema([*fields, *(pa.field(r.name, r.type.arrow) for r in self.returns)])
        event = pa.struct(list(self.schema.arrow))
        fields += [pa.field(c.variable, pa.list_(event) if c.array else event) for c in self.positive]
        return pa.schema(fields)


def bind(analysed: Analysed, schema: Schema, functions: Functions) -> Bound:
    """Check a query against a schema."""
    query = analysed.query
    own = query.pattern if isinstance(query.pattern, AutomatonPattern) else None
    registers = register_types(own, schema.columns[schema.roles.time]) if own is not None else {}
    typer = Typer(schema, analysed.components, functions, registers)
    conditions = tuple(typer.condition(c) for c in analysed.conditions)
    if isinstance(query.pattern, Algebra):
        return _bind_algebra(analysed, query.pattern, typer)
    keys = bind_keys(analysed, typer)
    within = None
    if query.within is not None:
        if query.within.unit == "events":
            assert isinstance(query.within.amount, ex.Literal)
            assert isinstance(query.within.amount.value, int)
            within = Within(events=query.within.amount.value)
        else:
            within = Within(nanoseconds=window_nanoseconds(query.within, schema.roles.unit))
    expressions = [r.expression for r in query.returns]
    if own is not None:
        expressions[0] = until(typer, None if within is None else within.nanoseconds)
    returns = [(r.name, *typer.result(e)) for r, e in zip(query.returns, expressions, strict=True)]
    return Bound(
        schema=replace(schema, parts=keys.parts),
        pattern=query.pattern,
        components=analysed.components,
        layout=analysed.layout,
        strategies=analysed.strategies,
        same=keys.same,
        placement=place(conditions, analysed.layout, analysed.components),
        partition_by=keys.partition_by,
        within=within,
        having=query.having and typer.condition(query.having),
        returns=tuple(Result(*r) for r in returns),
        into=query.into,
        output=query.output,
        cooldown=window_nanoseconds(query.cooldown, schema.roles.unit) if query.cooldown is not None else 0,
        ties=query.ties,
        functions=functions,
        typer=typer,
        scope=_scope(typer, analysed),
        reads=tuple(name for name in columns_read(analysed, schema.columns) if name in schema.columns),
        automaton=None if own is None else bind_automaton(own, typer),
    )


def _bind_algebra(analysed: Analysed, algebra: Algebra, typer: Typer) -> Bound:
    """The same for a CESAR expression."""
    query, schema = analysed.query, typer.schema
    term, origins = bind_term(algebra.term, schema, typer)
    names = result_columns(term.types, query.into, schema.roles, algebra.term.span)
    return Bound(
        schema=schema,
        pattern=query.pattern,
        components=analysed.components,
        layout=analysed.layout,
        strategies=analysed.strategies,
        same=(),
        placement=place((), analysed.layout, analysed.components),
        partition_by=(),
        within=None,
        having=None,
        returns=(),
        into=query.into,
        output=query.output,
        cooldown=0,
        ties=query.ties,
        functions=typer.functions,
        typer=typer,
        scope=None,
        reads=tuple(schema.columns),
        algebra=BoundAlgebra(term, names, _key_columns(schema), schema.copies, origins),
    )


def _key_columns(schema: Schema) -> tuple[str, ...]:
    """The columns that may split a stream."""
    roles = schema.roles
    others = (roles.time, roles.type, schema.start, roles.start)
    return tuple(n for n, t in schema.columns.items() if n not in others and t.kind not in (Kind.OPAQUE, Kind.NULL))


def _scope(typer: Typer, analysed: Analysed) -> VisibleEvents | None:
    condition = analysed.query.sees
    if condition is None and not analysed.types_seen:
        return None
    return VisibleEvents(analysed.types_seen, None if condition is None else typer.condition(condition))
