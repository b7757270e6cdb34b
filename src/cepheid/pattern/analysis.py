"""Analysis of a parsed query: names, parameters and strategies are resolved. No schema is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cepheid.errors import BindError, CepheidWarning, PatternError, did_you_mean
from cepheid.pattern import expressions as ex
from cepheid.pattern.check import (
    canonical,
    check_composite,
    check_ends,
    check_identifiers,
    check_negations,
    check_output,
    check_periods,
    check_same_values,
    check_strategies,
)
from cepheid.pattern.components import Component, components, name_events
from cepheid.pattern.layout import Layout, lay_out
from cepheid.pattern.parameters import Params, resolve_names
from cepheid.pattern.placement import place
from cepheid.pattern.schema import Roles
from cepheid.pattern.scope import check_scope, resolve_scope
from cepheid.pattern.surprises import find_surprises
from cepheid.pattern.tree import Event, Program, Query, Strategy
from cepheid.pattern.walk import conjuncts, expressions, rewrite_expressions, walk

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class Analysed:
    """A query, checked without a schema. `same`: its `[attr]` tests; `conditions`: its other conjuncts."""

    query: Query
    components: Mapping[str, Component]
    layout: Layout
    strategies: Mapping[str, Strategy]
    same: tuple[ex.SameValue, ...]
    conditions: tuple[ex.Expression, ...]
    roles: Roles
    surprises: tuple[CepheidWarning, ...]  # allowed, but likely to surprise

    @property
    def positive(self) -> tuple[Component, ...]:
        """The components that a match binds, in the order of the text."""
        return tuple(c for c in self.components.values() if not c.negated)


def analyse(query: Query, params: Params, roles: Roles) -> Analysed:
    """Resolve names, parameters and strategies, and check all rules that need no schema."""
    pattern = name_events(query.pattern)
    check_negations(pattern)
    found = {c.variable: c for c in components(pattern)}
    _check_types(found, roles)
    only = next(iter(found.values())) if len(found) == 1 else None
    single = only.variable if only is not None and not only.array else None
    arrays = {c.variable: c.array for c in found.values()}
    query = resolve_names(replace(query, pattern=pattern), params, arrays, single)
    scope = resolve_scope(query, params)
    check_scope(scope, query, roles)
    query = replace(query, scope=scope, where=tuple(c for w in query.where for c in conjuncts(w)))
    check_identifiers(query)
    returns = tuple(replace(r, expression=canonical(r.expression, found, returned=True)) for r in query.returns)
    query = replace(rewrite_expressions(replace(query, returns=()), lambda e: canonical(e, found)), returns=returns)
    for condition in query.where:
        check_same_values(condition, top=True)
    layout = lay_out(query.pattern)
    check_ends(query, layout)
    check_periods(layout)
    strategies = check_strategies(query, found)
    same = tuple(c for c in query.where if isinstance(c, ex.SameValue))
    conditions = tuple(c for c in query.where if not isinstance(c, ex.SameValue))
    place(conditions, layout, found)
    check_output(query, found)
    check_composite(query, roles)
    surprises = find_surprises(query, strategies)
    return Analysed(query, found, layout, strategies, same, conditions, roles, surprises)


def _check_types(found: Mapping[str, Component], roles: Roles) -> None:
    names = dict.fromkeys(name for c in found.values() for name in c.types)
    if roles.type is None and len(names) > 1:
        raise BindError(
            "CEP302",
            f"type=None means that all events have one type, but the query names {', '.join(names)}",
            "use one type name for all components, or name the type column with type=",
            next(c.span for c in found.values() if c.types and (c.types[0] != next(iter(names)) or len(c.types) > 1)),
        )
    if roles.types is not None:
        for component in found.values():
            for name in component.types:
                if name not in roles.types:
                    remedy = did_you_mean(name, roles.types, "types")
                    raise BindError("CEP302", f"unknown type '{name}'", remedy, component.span)


def _check_reads(query: Query, source: str | None, program: Program) -> None:
    """All composite events have the type that INTO names, and only FROM reads them."""
    made = {q.into for q in program.queries if q.into is not None}
    for event in (node for node in walk(query.pattern) if isinstance(node, Event)):
        if source is not None and event.types not in ((), (source,)):
            remedy = f"all events of FROM {source} have the type {source}"
            raise BindError("CEP302", f"unknown type '{', '.join(event.types)}'", remedy, event.span)
        if source is None and made.intersection(event.types):
            name = next(t for t in event.types if t in made)
            remedy = (
                f"read it with FROM {name}" if name != query.into else "give INTO a name that the pattern does not use"
            )
            raise PatternError("CEP214", f"'{name}' is the output of INTO, not an event type", remedy, event.span)


def columns_read(analysed: Analysed) -> tuple[str, ...]:
    """The columns that a query needs, each once."""
    query, roles = analysed.query, analysed.roles
    names = [roles.time, *([roles.type] if roles.type else []), *roles.order_by]
    names += [column.name for column in query.partition_by]
    names += [name for attributes in (roles.types or {}).values() for name in attributes]
    for node in (n for e in expressions(query) for n in walk(e)):
        if isinstance(node, ex.Attribute):
            names.append(node.name)
        elif isinstance(node, ex.SameValue):
            names.append(node.attribute)
    return tuple(dict.fromkeys(names))


def check_flow(program: Program) -> tuple[str | None, ...]:
    """The INTO name that each query reads, or None for the events themselves (S13)."""
    made: dict[str, Query] = {}
    base: str | None = None
    sources: list[str | None] = []
    for number, query in enumerate(program.queries):
        source = query.source
        if source is None or source in made:
            _check_reads(query, source, program)
            sources.append(source)
        else:
            later = [q.into for q in program.queries if q.into is not None]
            close = did_you_mean(source, later, "streams")
            if source in later:
                remedy = f"move the query with INTO {source} before this one"
                raise PatternError("CEP214", f"'{source}' is read before the query that writes it", remedy, query.span)
            # The first query names the events; a later name that no INTO writes is a mistake.
            if source != base and (number > 0 or close.startswith("did")):
                message = f"no query of the program writes INTO {source}"
                remedy = close if later or base is None else f"the input events are named '{base}'"
                raise PatternError("CEP214", message, remedy, query.span)
            base = source
            sources.append(None)
        if query.into is not None:
            if query.into in made:
                remedy = "give each INTO a different name"
                raise PatternError("CEP214", f"two queries write INTO {query.into}", remedy, query.span)
            made[query.into] = query
    return tuple(sources)


def reads_whole_events(query: Query) -> bool:
    """Whether the matches need every column of the events: those of a query without RETURN are whole events."""
    nodes = (node for item in query.returns for node in walk(item.expression))
    return (
        not query.returns
        or any(isinstance(item.expression, ex.Rows) for item in query.returns)
        or any(isinstance(node, ex.MatchId) for node in nodes)
        or any(isinstance(node, ex.MatchId) for node in walk(query.having or ex.And(())))
    )
