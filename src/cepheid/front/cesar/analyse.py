"""Analysis of a CESAR expression (S19 to S22), whose names are resolved by `pattern.algebra.flow`."""

from __future__ import annotations

from cepheid.front.analysed import Analysed, check_types
from cepheid.front.cesar.result import EVENT
from cepheid.pattern.algebra.flow import MERGED_TYPE, attributes_named, types_of
from cepheid.pattern.algebra.tree import SourceTerm, algebra_of
from cepheid.pattern.algebra.walk import walk_terms
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions.parameters import Params
from cepheid.pattern.tree.components import Component, components
from cepheid.pattern.tree.flow import StreamSource
from cepheid.pattern.tree.layout import lay_out
from cepheid.pattern.tree.nodes import EventPattern, QueryTree, Strategy

_RESULT = EventPattern((), EVENT)
"""What is known of a result: it is one row."""


def analyse_cesar(query: QueryTree, params: Params, roles: Roles, source: StreamSource) -> Analysed:
    """Check the types that an expression names. Its parameters are in place."""
    algebra = algebra_of(query)
    sources = [t for t in walk_terms(algebra.term) if isinstance(t, SourceTerm) and t.stream is None]
    named = {str(k): Component(str(k), (term.name,), span=term.span) for k, term in enumerate(sources)}
    if roles.type != MERGED_TYPE:
        check_types(named, roles)
    result = {c.variable: c for c in components(_RESULT)}
    strategies = dict.fromkeys(result, Strategy.ANY)
    return Analysed(
        query, result, lay_out(_RESULT), strategies, (), (), roles, (), (), attributes_named(algebra), types_of(algebra)
    )
