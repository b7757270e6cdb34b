"""Analysis of a parsed query: names, parameters and strategies are resolved. No schema is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from cepheid.errors import BindError, CepheidWarning, did_you_mean
from cepheid.pattern.algebra.flow import MERGED_TYPE, attributes_named
from cepheid.pattern.algebra.result import EVENT
from cepheid.pattern.algebra.tree import Algebra, SourceTerm
from cepheid.pattern.algebra.walk import walk_terms
from cepheid.pattern.automata.check import (
    NAMES,
    check_clauses,
    checked_automaton,
    with_fixed_keys,
    with_register,
    with_results,
)
from cepheid.pattern.automata.registers import FIRST, LAST, REGISTER
from cepheid.pattern.binding.check import (
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
from cepheid.pattern.binding.placement import place
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import Params, resolve_names
from cepheid.pattern.expressions.paths import Path, resolve_path
from cepheid.pattern.lints.lost_states import lost_states
from cepheid.pattern.lints.surprises import find_surprises
from cepheid.pattern.tree.components import Component, components, name_events
from cepheid.pattern.tree.flow import EVENTS, StreamSource
from cepheid.pattern.tree.layout import Layout, lay_out
from cepheid.pattern.tree.nodes import AutomatonPattern, EventPattern, QueryTree, Seq, Strategy
from cepheid.pattern.tree.scope import check_scope, resolve_scope, types_seen
from cepheid.pattern.tree.walk import children, conjuncts, expressions, rewrite_expressions, walk

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class Analysed:
    """A query, checked without a schema. `same`: its `[attr]` tests; `conditions`: its other conjuncts."""

    query: QueryTree
    components: Mapping[str, Component]
    layout: Layout
    strategies: Mapping[str, Strategy]
    same: tuple[ex.SameValue, ...]
    conditions: tuple[ex.Expression, ...]
    roles: Roles
    types_seen: tuple[str, ...]  # those that FROM lists; none: all
    surprises: tuple[CepheidWarning, ...]  # allowed, but likely to surprise

    @property
    def positive(self) -> tuple[Component, ...]:
        """The components that a match binds, in the order of the text."""
        return tuple(c for c in self.components.values() if not c.negated)


def analyse(query: QueryTree, params: Params, roles: Roles, source: StreamSource = EVENTS) -> Analysed:
    """Resolve names, parameters and strategies, and check all rules that need no schema."""
    if isinstance(query.pattern, AutomatonPattern):
        return _analyse_automaton(query, params, roles, source)
    if isinstance(query.pattern, Algebra):
        return _analyse_algebra(query, query.pattern, roles)
    pattern = name_events(query.pattern)
    check_negations(pattern)
    found = {c.variable: c for c in components(pattern)}
    _check_types(found, roles)
    only = next(iter(found.values())) if len(found) == 1 else None
    single = only.variable if only is not None and not only.array else None
    arrays = {c.variable: c.array for c in found.values()}
    query = resolve_names(replace(query, pattern=pattern), params, arrays, single)
    types = types_seen(query, source)
    check_scope(types, query, roles)
    sees = resolve_scope(query, params, found)
    query = replace(query, sees=sees, where=tuple(c for w in query.where for c in conjuncts(w)))
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
    surprises = find_surprises(query, strategies, roles)
    return Analysed(query, found, layout, strategies, same, conditions, roles, types, surprises)


_ENDS = Seq((EventPattern((), FIRST), EventPattern((), LAST)))
"""What is known of a match of an automaton: two events, between which nothing is left out."""


def _analyse_automaton(query: QueryTree, params: Params, roles: Roles, source: StreamSource) -> Analysed:
    """The same for an automaton of the user's own (S18)."""
    query = resolve_names(
        replace(query, where=tuple(c for w in query.where for c in conjuncts(w))), params, NAMES, None
    )
    check_clauses(query)
    types = types_seen(query, source)
    check_scope(types, query, roles)
    query = with_register(replace(query, sees=resolve_scope(query, params, NAMES)))
    automaton = checked_automaton(query)
    same = tuple(c for c in query.where if isinstance(c, ex.SameValue))
    query = with_results(replace(query, pattern=with_fixed_keys(automaton, same)), roles.time)
    found = {c.variable: c for c in components(_ENDS)}
    _check_types({str(k): Component(str(k), arc.types, span=arc.span) for k, arc in enumerate(automaton.arcs)}, roles)
    register = (REGISTER,) if automaton.register else ()
    returns = tuple(
        replace(r, expression=canonical(r.expression, found, returned=True, besides=register)) for r in query.returns
    )
    query = replace(query, returns=returns, having=query.having and canonical(query.having, found, besides=register))
    check_output(query, found)
    check_composite(query, roles)
    strategies = dict.fromkeys(found, Strategy.PARTITION)
    surprises = tuple(lost_states(automaton))
    return Analysed(query, found, lay_out(_ENDS), strategies, same, (), roles, types, surprises)


_RESULT = EventPattern((), EVENT)
"""What is known of a result of a CESAR expression: it is one row."""


def _analyse_algebra(query: QueryTree, algebra: Algebra, roles: Roles) -> Analysed:
    """The same for a CESAR expression (S19 to S22), whose names are resolved."""
    sources = [t for t in walk_terms(algebra.term) if isinstance(t, SourceTerm) and t.stream is None]
    named = {str(k): Component(str(k), (term.name,), span=term.span) for k, term in enumerate(sources)}
    if roles.type != MERGED_TYPE:
        _check_types(named, roles)
    found = {c.variable: c for c in components(_RESULT)}
    strategies = dict.fromkeys(found, Strategy.ANY)
    return Analysed(query, found, lay_out(_RESULT), strategies, (), (), roles, (), ())


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


def columns_read(analysed: Analysed, columns: Collection[str] = ()) -> tuple[str, ...]:
    """The columns that a query needs, each once. `columns`: those of the events, if they are known."""
    return tuple(dict.fromkeys(path[0] for path in paths_read(analysed, columns)))


def paths_read(analysed: Analysed, columns: Collection[str] = ()) -> tuple[Path, ...]:
    """The columns that a query needs, each with the fields of structs, or keys of maps, that lead to what is read."""
    query, roles = analysed.query, analysed.roles
    names = [roles.time, *([roles.type] if roles.type else []), *roles.order_by]
    names += [name for attributes in (roles.types or {}).values() for name in attributes]
    names += [roles.start] if roles.start else []
    if isinstance(query.pattern, Algebra):
        return tuple((name,) for name in dict.fromkeys([*names, *(columns or attributes_named(query.pattern))]))
    keys = (resolve_path(column.path, columns) for column in query.partition_by)
    read = (path for e in expressions(query) for path in _paths(e, columns))
    return tuple(dict.fromkeys(chain(((name,) for name in names), keys, read)))


def _paths(node: ex.Expression, columns: Collection[str], after: Path = ()) -> Iterator[Path]:
    match node:
        case ex.Attribute(name=name):
            yield name, *after
        case ex.SameValue():
            yield resolve_path(node.path, columns)
        case ex.Field(operand=operand, name=name) | ex.Element(operand=operand, index=ex.Literal(value=str(name))):
            yield from _paths(operand, columns, (name, *after))
            return
    for child in children(node):
        yield from _paths(child, columns)


def reads_whole_events(query: QueryTree) -> bool:
    """Whether the matches need every column of the events: those of a query without RETURN are whole events."""
    nodes = (node for item in query.returns for node in walk(item.expression))
    return (
        not query.returns
        or any(isinstance(item.expression, ex.Rows) for item in query.returns)
        or any(isinstance(node, ex.MatchId) for node in nodes)
        or any(isinstance(node, ex.MatchId) for node in walk(query.having or ex.And(())))
    )
