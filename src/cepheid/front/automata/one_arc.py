"""One arc that comes to an automaton which is bound already: the rules of `analyse` and `bind`, for it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from cepheid.front.automata.bound import BoundArc, bind_automaton
from cepheid.front.fronts import analyse
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions.aggregates import with_aggregates
from cepheid.pattern.expressions.calls import check_calls
from cepheid.pattern.expressions.parameters import Params
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.nodes import ArcClause, QueryTree
from cepheid.pattern.tree.walk import automaton_of

BindArc = Callable[[ArcClause, Runnable], BoundArc]
"""An arc as one of a query that is bound."""


def bind_arc(
    arc: ArcClause,
    query: QueryTree,
    params: Params,
    roles: Roles,
    functions: Mapping[str, Callable[..., object]],
    bound: Runnable,
) -> BoundArc:
    """An arc as one of a query. Rules on all arcs together are not checked: others of its shape are there."""
    only = replace(automaton_of(query), start=arc.source, finals=(arc.target,), arcs=(arc,))
    alone = replace(query, pattern=only, returns=(), having=None, into=None)
    check_calls(alone, functions)
    analysed = analyse(with_aggregates(alone, functions), params, roles, EVENTS)
    return bind_automaton(automaton_of(analysed.query), bound.typer).arcs[0]
