"""Which events of its stream a query sees: `FROM stream(A, B) WHERE price > 10` (S25)."""

from __future__ import annotations

from dataclasses import replace

from cepheid.errors import BindError, PatternError, did_you_mean
from cepheid.pattern import expressions as ex
from cepheid.pattern.parameters import Params, resolve_condition
from cepheid.pattern.schema import Roles
from cepheid.pattern.tree import Event, Query, Scope
from cepheid.pattern.walk import walk

EVENT = ""
"""The variable of the event at hand in the condition: no variable of a pattern has this name."""


def resolve_scope(query: Query, params: Params) -> Scope | None:
    """The scope of a query, with parameters put in and names as attributes of the event at hand."""
    scope = query.scope
    if scope is None or scope.condition is None:
        return scope
    for node in walk(scope.condition):
        if isinstance(node, ex.Attribute | ex.Rows | ex.Length | ex.Aggregate | ex.SameValue):
            raise PatternError(
                "CEP222",
                "the condition of FROM is on single events, before any variable is bound",
                "write the attribute alone, FROM stream WHERE price > 10, or use the WHERE of the pattern",
                node.span or scope.span,
            )
    return replace(scope, condition=resolve_condition(scope.condition, params, EVENT))


def check_scope(scope: Scope | None, query: Query, roles: Roles) -> None:
    """Types that a query sees exist, and it names no others."""
    if scope is None or not scope.types:
        return
    if roles.type is None:
        remedy = "name the type column with type=, or leave the types of FROM out"
        raise BindError("CEP302", "type=None means that events have no types, but FROM names some", remedy, scope.span)
    for name in scope.types:
        if roles.types is not None and name not in roles.types:
            raise BindError("CEP302", f"unknown type '{name}'", did_you_mean(name, roles.types, "types"), scope.span)
    for event in (node for node in walk(query.pattern) if isinstance(node, Event)):
        for name in event.types:
            if name not in scope.types:
                remedy = f"add it to the types of FROM, which are {', '.join(scope.types)}"
                raise BindError("CEP302", f"the query does not see events of the type '{name}'", remedy, event.span)
