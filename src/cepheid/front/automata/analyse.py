"""Analysis of an automaton with its clauses (S18)."""

from __future__ import annotations

from dataclasses import replace

from cepheid.front.analysed import Analysed, check_types
from cepheid.front.automata.check import (
    NAMES,
    check_clauses,
    checked_automaton,
    with_fixed_keys,
    with_register,
    with_results,
)
from cepheid.front.automata.lost_states import lost_states
from cepheid.front.automata.registers import FIRST, LAST, REGISTER
from cepheid.front.sase.check import canonical, check_composite, check_output
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import Params, resolve_names
from cepheid.pattern.tree.components import Component, components
from cepheid.pattern.tree.flow import StreamSource
from cepheid.pattern.tree.layout import lay_out
from cepheid.pattern.tree.nodes import EventPattern, QueryTree, Seq, Strategy
from cepheid.pattern.tree.scope import check_scope, resolve_scope, types_seen
from cepheid.pattern.tree.walk import conjuncts

_ENDS = Seq((EventPattern((), FIRST), EventPattern((), LAST)))
"""What is known of a match of an automaton: two events, between which nothing is left out."""


def analyse_automaton(query: QueryTree, params: Params, roles: Roles, source: StreamSource) -> Analysed:
    """Resolve names and parameters, and check all rules that need no schema."""
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
    ends = {c.variable: c for c in components(_ENDS)}
    check_types({str(k): Component(str(k), arc.types, span=arc.span) for k, arc in enumerate(automaton.arcs)}, roles)
    register = (REGISTER,) if automaton.register else ()
    returns = tuple(
        replace(r, expression=canonical(r.expression, ends, returned=True, besides=register)) for r in query.returns
    )
    query = replace(query, returns=returns, having=query.having and canonical(query.having, ends, besides=register))
    check_output(query, ends)
    check_composite(query, roles)
    strategies = dict.fromkeys(ends, Strategy.PARTITION)
    surprises = tuple(lost_states(automaton))
    return Analysed(query, ends, lay_out(_ENDS), strategies, same, (), roles, types, surprises)
