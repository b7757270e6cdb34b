"""Analysis of a pattern with its clauses."""

from __future__ import annotations

from dataclasses import replace

from cepheid.front.analysed import Analysed, check_types
from cepheid.front.sase.check import (
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
from cepheid.pattern.lints.surprises import find_surprises
from cepheid.pattern.tree.components import components, name_events
from cepheid.pattern.tree.flow import StreamSource
from cepheid.pattern.tree.layout import lay_out
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.pattern.tree.scope import check_scope, resolve_scope, types_seen
from cepheid.pattern.tree.walk import conjuncts, rewrite_expressions


def analyse_pattern(query: QueryTree, params: Params, roles: Roles, source: StreamSource) -> Analysed:
    """Resolve names, parameters and strategies, and check all rules that need no schema."""
    pattern = name_events(query.pattern)
    check_negations(pattern)
    named = {c.variable: c for c in components(pattern)}
    check_types(named, roles)
    only = next(iter(named.values())) if len(named) == 1 else None
    single = only.variable if only is not None and not only.array else None
    arrays = {c.variable: c.array for c in named.values()}
    query = resolve_names(replace(query, pattern=pattern), params, arrays, single)
    types = types_seen(query, source)
    check_scope(types, query, roles)
    sees = resolve_scope(query, params, named)
    query = replace(query, sees=sees, where=tuple(c for w in query.where for c in conjuncts(w)))
    check_identifiers(query)
    returns = tuple(replace(r, expression=canonical(r.expression, named, returned=True)) for r in query.returns)
    query = replace(rewrite_expressions(replace(query, returns=()), lambda e: canonical(e, named)), returns=returns)
    for condition in query.where:
        check_same_values(condition, top=True)
    layout = lay_out(query.pattern)
    check_ends(query, layout)
    check_periods(layout)
    strategies = check_strategies(query, named)
    same = tuple(c for c in query.where if isinstance(c, ex.SameValue))
    conditions = tuple(c for c in query.where if not isinstance(c, ex.SameValue))
    place(conditions, layout, named)
    check_output(query, named)
    check_composite(query, roles)
    surprises = find_surprises(query, strategies, roles)
    return Analysed(query, named, layout, strategies, same, conditions, roles, types, surprises)
