"""The table of query languages: how each is analysed, and bound to a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cepheid.front.analysed import Analysed, Functions
from cepheid.front.automata.analyse import analyse_automaton
from cepheid.front.automata.bind import bind_own_automaton
from cepheid.front.cesar.analyse import analyse_cesar
from cepheid.front.cesar.bind import bind_cesar
from cepheid.front.runnable import Runnable
from cepheid.front.sase.analyse import analyse_pattern
from cepheid.front.sase.bind import bind_pattern
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions.parameters import Params
from cepheid.pattern.tree.flow import EVENTS, StreamSource
from cepheid.pattern.tree.nodes import Language, QueryTree


@dataclass(frozen=True, slots=True)
class Front:
    """What turns a tree and a schema into a query that can be run."""

    analyse: Callable[[QueryTree, Params, Roles, StreamSource], Analysed]
    bind: Callable[[Analysed, Schema, Functions], Runnable]


FRONTS: Mapping[Language, Front] = {
    Language.PATTERN: Front(analyse_pattern, bind_pattern),
    Language.AUTOMATON: Front(analyse_automaton, bind_own_automaton),
    Language.CESAR: Front(analyse_cesar, bind_cesar),
}


def analyse(query: QueryTree, params: Params, roles: Roles, source: StreamSource = EVENTS) -> Analysed:
    """Resolve names, parameters and strategies, and check all rules that need no schema."""
    return FRONTS[query.language].analyse(query, params, roles, source)


def bind(analysed: Analysed, schema: Schema, functions: Functions) -> Runnable:
    """Check a query against a schema."""
    return FRONTS[analysed.query.language].bind(analysed, schema, functions)
