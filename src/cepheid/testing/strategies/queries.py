"""Valid queries over the whole language for events of a schema, with their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.api import Query
from cepheid.language import print_program
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import (
    EventPattern,
    FromStream,
    KeyColumn,
    Negation,
    Output,
    PatternTree,
    Program,
    QueryTree,
    Repeat,
    ReturnItem,
    Selection,
    Strategy,
    Window,
)
from cepheid.pattern.tree.walk import walk
from cepheid.testing.strategies.conjuncts import conjuncts, same_values
from cepheid.testing.strategies.expressions import conditions, expressions
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.patterns import patterns
from cepheid.testing.strategies.schemas import KEY, TIME, TYPE, tick
from cepheid.testing.strategies.scope import FUNCTIONS, PARAMETERS, SETS, Scope, columns_of, complete, parts_of
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.streams import EVENT_TYPES, LONGEST
from cepheid.testing.strategies.variables import DrawnVariable, variables

RESULTS: Mapping[Sort, pa.DataType] = {
    Sort.INT: pa.int64(),
    Sort.FLOAT: pa.float64(),
    Sort.STRING: pa.string(),
    Sort.BOOL: pa.bool_(),
}

FROM = (False, False, True)
"""How often a query says which events it sees."""


@dataclass(frozen=True, slots=True, repr=False)
class GeneratedQuery:
    """A program and its options: `cepheid.Query(program, **options)`."""

    program: Program
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<GeneratedQuery\n{self.text}\n{'' if self.options == OPTIONS else self.options}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis shows for a failing test: the text."""
        printer.text(repr(self))

    @property
    def tree(self) -> QueryTree:
        """The only query of the program."""
        (query,) = self.program.queries
        return query

    @property
    def text(self) -> str:
        """The query as a user would write it."""
        return print_program(self.program)

    def make(self) -> Query:
        """The query that can be run."""
        return Query(self.program, **self.options)

    def but(self, **changes: Any) -> GeneratedQuery:
        """The same with other clauses."""
        return replace(self, program=Program((replace(self.tree, **changes),)))


OPTIONS: Mapping[str, object] = {
    "params": {name: value for name, (_, value) in {**PARAMETERS, **SETS}.items()},
    "functions": FUNCTIONS,
}


@st.composite
def queries(
    draw: st.DrawFn,
    schema: pa.Schema,
    features: Features = EVERYTHING,
    *,
    event_types: Sequence[str] = EVENT_TYPES,
) -> GeneratedQuery:
    """Queries that bind to a schema without an error."""
    typed = TYPE in schema.names
    pattern = draw(patterns(event_types if typed else event_types[:1], features, tick(schema)))
    tree = draw(_clauses(pattern, schema, features))
    options = dict(OPTIONS if features.parameters else {})
    if not typed:
        options["type"] = None
    elif features.declared_types and draw(st.integers(0, 5)) == 5:
        options["types"] = {name: draw(_attributes(schema)) for name in event_types}
    if features.order_by and draw(st.integers(0, 3)) == 3:
        options["order_by"] = draw(st.sampled_from(schema.names))
    return GeneratedQuery(Program((tree,)), options)


def _attributes(schema: pa.Schema) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(schema.names), unique=True)


@st.composite
def _clauses(draw: st.DrawFn, pattern: PatternTree, schema: pa.Schema, features: Features) -> QueryTree:
    drawn = variables(name_events(pattern))
    columns = columns_of(schema, reads_time=features.reads_time)
    bare = len(drawn) == 1 and not drawn[0].array
    scope = Scope(columns, bare=bare, parameters=features.parameters, parts=parts_of(schema))
    partition = draw(st.sampled_from(features.partitions))
    strategies = draw(_strategies(drawn, features, contiguous=partition is not None))
    many = draw(st.sampled_from((0, 0, 1, 1, 2))) if features.conditions else 0
    where = [draw(conjuncts(drawn, scope)) for _ in range(many)]
    if partition == "[attr]":
        key = KEY if draw(st.integers(0, 2)) else None
        where.insert(draw(st.integers(0, len(where))), draw(same_values(scope, key)))
    output = draw(st.sampled_from((*features.outputs[:1] * 3, *features.outputs)))
    streams, sees = draw(_sources(pattern, schema, features)) if draw(st.sampled_from(FROM)) else ((), None)
    return QueryTree(
        pattern,
        streams=streams,
        sees=sees,
        strategies=strategies,
        where=tuple(where),
        partition_by=draw(_columns(schema, scope)) if partition == "PARTITION BY" else (),
        within=draw(_windows(pattern, schema, features)),
        having=draw(conditions(complete(drawn, scope))) if features.having and draw(st.integers(0, 3)) == 3 else None,
        returns=draw(_returns(drawn, scope)) if features.returns and draw(st.integers(0, 3)) == 3 else (),
        output=output,
        cooldown=draw(_cooldowns(schema)) if features.cooldown and output is not Output.ALL else None,
        ties=draw(st.sampled_from((*features.ties[:1] * 3, *features.ties))),
    )


@st.composite
def _sources(
    draw: st.DrawFn, pattern: PatternTree, schema: pa.Schema, features: Features
) -> tuple[tuple[FromStream, ...], ex.Expression | None]:
    """What FROM says of the events that are seen: the types of the pattern at least."""
    named = [name for node in walk(pattern) if isinstance(node, EventPattern) for name in node.types]
    types: tuple[str, ...] = ()
    if features.scopes and TYPE in schema.names and named and draw(st.booleans()):
        types = tuple(dict.fromkeys([*named, *draw(st.sampled_from(((), ("B",))))]))
    single = Scope(columns_of(schema, reads_time=features.reads_time), bare=True, parameters=features.parameters)
    condition = draw(conditions(single)) if features.scopes and draw(st.booleans()) else None
    return (FromStream("readings", types),), condition


@st.composite
def _strategies(
    draw: st.DrawFn, drawn: Sequence[DrawnVariable], features: Features, contiguous: bool
) -> tuple[Selection, ...]:
    """Partition contiguity needs a partition."""
    possible = [s for s in features.strategies if contiguous or s is not Strategy.PARTITION]
    chosen = draw(st.sampled_from(possible))
    if chosen is None:
        return ()
    if not features.per_component or draw(st.booleans()):
        return (Selection(chosen),)
    of_each: dict[Strategy, list[str]] = {}
    for variable in drawn:
        strategy = draw(st.sampled_from(possible))
        if strategy is not None:
            of_each.setdefault(strategy, []).append(variable.name)
    return tuple(Selection(strategy, tuple(names)) for strategy, names in of_each.items())


@st.composite
def _columns(draw: st.DrawFn, schema: pa.Schema, scope: Scope) -> tuple[KeyColumn, ...]:
    if draw(st.integers(0, 4)) < 4:
        return (KeyColumn(KEY),)
    simple = {(field.name,) for field in schema if not pa.types.is_nested(field.type)}
    paths = st.lists(st.sampled_from(sorted(simple | scope.keys().keys())), min_size=1, max_size=2, unique=True)
    return draw(paths.map(lambda names: tuple(KeyColumn(name, tuple(fields)) for name, *fields in names)))


@st.composite
def _windows(draw: st.DrawFn, pattern: PatternTree, schema: pa.Schema, features: Features) -> Window | None:
    """A negation needs a window: it may be at the start or end of the pattern, without FOR."""
    absent = any(isinstance(node, Negation) and node.period is None for node in walk(pattern))
    kind = draw(st.sampled_from([w for w in features.windows if w is not None or not absent]))
    if kind is None:
        return None
    most = LONGEST if kind == "time" else 6
    amount: ex.Literal | ex.Name = literal(draw(st.integers(1, most) | st.integers(most // 2, most)))
    if features.parameters and draw(st.integers(0, 5)) == 5:
        amount = ex.Name("Limit")
    return Window(amount, tick(schema) if kind == "time" else "events")


def _cooldowns(schema: pa.Schema) -> st.SearchStrategy[Window | None]:
    amounts = st.integers(1, LONGEST // 2).map(literal)
    return st.none() | st.builds(Window, amounts, st.just(tick(schema)))


@st.composite
def _returns(draw: st.DrawFn, drawn: Sequence[DrawnVariable], scope: Scope) -> tuple[ReturnItem, ...]:
    sorts = draw(st.lists(st.sampled_from(list(Sort)), min_size=1, max_size=2))
    whole = complete(drawn, scope)
    returns = tuple(ReturnItem(draw(expressions(whole, sort)), f"r{k}") for k, sort in enumerate(sorts))
    extra = draw(st.sampled_from(("", "", "match_id", "events")))
    if extra == "match_id":
        return (*returns, ReturnItem(ex.MatchId(), "id"))
    return (*returns, *draw(_events(drawn))) if extra else returns


@st.composite
def _events(draw: st.DrawFn, drawn: Sequence[DrawnVariable]) -> tuple[ReturnItem, ...]:
    """`RETURN a, b[] AS bs, b[2] AS second`."""
    variable = draw(st.sampled_from([v for v in drawn if not v.negated]))
    if not variable.array:
        return (ReturnItem(ex.Name(variable.name), "event"),)
    indexes: tuple[ex.AnyIndex, ...] = (ex.Index.EACH, ex.Index.FIRST, ex.Nth(2), ex.Index.LAST)
    index = draw(st.sampled_from(indexes))
    return (ReturnItem(ex.Rows(variable.name, index), "event"),)


@st.composite
def programs(
    draw: st.DrawFn, schema: pa.Schema, features: Features = EVERYTHING, then: Features = EVERYTHING
) -> GeneratedQuery:
    """Two queries: the second reads the composite events of the first (S13)."""
    return draw(_programs(schema, features, then, ("Made",), raw=False))


@st.composite
def merges(
    draw: st.DrawFn, schema: pa.Schema, features: Features = EVERYTHING, then: Features = EVERYTHING
) -> GeneratedQuery:
    """Programs whose last query reads several streams: composite events of one or two queries, and the events (S25)."""
    names, raw = draw(st.sampled_from(((("Made",), True), (("Made",), True), (("Made", "Other"), False))))
    return draw(_programs(schema, features, then, names, raw=raw))


@st.composite
def _programs(
    draw: st.DrawFn, schema: pa.Schema, features: Features, then: Features, names: tuple[str, ...], *, raw: bool
) -> GeneratedQuery:
    columns = {TIME: schema.field(TIME).type, TYPE: pa.string(), KEY: pa.int64()}
    if raw:
        columns |= {field.name: field.type for field in schema}
    made: list[QueryTree] = []
    options = dict(OPTIONS)
    for k, into in enumerate(names):
        first = draw(queries(schema, replace(features, returns=False, composition=False)))
        options |= {name: value for name, value in first.options.items() if name == "order_by" and raw}
        drawn = variables(name_events(first.tree.pattern))
        scope = complete(drawn, Scope(columns_of(schema)))
        sorts = draw(st.lists(st.sampled_from(list(RESULTS)), min_size=1, max_size=2))
        returns = tuple(ReturnItem(draw(expressions(scope, sort, 1)), f"r{k}{n}") for n, sort in enumerate(sorts))
        columns |= {item.name: RESULTS[sort] for item, sort in zip(returns, sorts, strict=True)}
        tree = replace(first.tree, returns=(ReturnItem(_key(drawn), KEY), *returns), into=into)
        # The first query names the events, if any does.
        made.append(tree if not made or made[0].streams else replace(tree, streams=(), sees=None))
    last = draw(queries(pa.schema(columns.items()), then, event_types=(*names, *(EVENT_TYPES if raw else ()))))
    tree, listed = last.tree, (*names, *(("readings",) if raw else ()))
    streams = [FromStream(name) for name in draw(st.permutations(listed))]
    if raw and tree.streams:
        seen = {**dict.fromkeys(tree.streams[0].types)}
        streams = [
            s if s.name in names else FromStream(s.name, tuple(t for t in seen if t not in names)) for s in streams
        ]
    return GeneratedQuery(Program((*made, replace(tree, streams=tuple(streams)))), options)


def _key(drawn: Sequence[DrawnVariable]) -> ex.Expression:
    variable = next(v for v in drawn if not v.negated)
    return ex.Attribute(variable.name, ex.Index.FIRST if variable.array else ex.Index.ONE, KEY)


def is_demanding(query: QueryTree) -> bool:
    """Whether the query may have a match for every subset of the events, so that streams for it should be short."""
    return any(isinstance(node, Repeat) for node in walk(query.pattern))
