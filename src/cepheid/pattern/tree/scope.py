"""Which events of its streams a query sees: `FROM stream(A, B) WHERE price > 10` (S25)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cepheid.errors import BindError, PatternError, did_you_mean
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import Params, resolve_condition
from cepheid.pattern.expressions.paths import read_path
from cepheid.pattern.tree.flow import StreamSource
from cepheid.pattern.tree.nodes import ArcClause, EventPattern, QueryTree
from cepheid.pattern.tree.walk import arcs_in, rewrite, walk

EVENT = ""
"""The variable of the event at hand in the condition: no variable of a pattern has this name."""


@dataclass(frozen=True, slots=True)
class VisibleEvents:
    """The events that a query sees: those of some types, all if there are none, for which the condition is TRUE."""

    types: tuple[str, ...] = ()
    condition: ex.Expression | None = None


def types_seen(query: QueryTree, source: StreamSource) -> tuple[str, ...]:
    """The types that FROM lists; none if it sees every event of its streams."""
    streams = list(zip(query.streams, source, strict=False))
    if not any(stream.types for stream, _ in streams) or any(not s.types and name is None for s, name in streams):
        return ()
    return tuple(dict.fromkeys(name for stream, _ in streams for name in stream.types or (stream.name,)))


def resolve_scope(query: QueryTree, params: Params, variables: Collection[str]) -> ex.Expression | None:
    """The condition of FROM, with parameters put in and names as attributes of the event at hand."""
    if query.sees is None:
        return None

    def is_field(node: ex.Expression) -> bool:
        """No variable is bound, so that `payload.amount` is a field; but one of the pattern is most likely a slip."""
        return isinstance(node, ex.Attribute) and node.index is ex.Index.ONE and node.variable not in variables

    for node in walk(query.sees):
        of_match = isinstance(node, ex.Attribute | ex.Rows | ex.Length | ex.AggregateCall | ex.SameValue)
        if of_match and not is_field(node):
            raise PatternError(
                "CEP222",
                "the condition of FROM is on single events, before any variable is bound",
                "write the attribute alone, FROM stream WHERE price > 10, or use the WHERE of the pattern",
                node.span or query.sees.span,
            )

    streams = {stream.name for stream in query.streams}

    def with_field(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Attribute):
            # `FROM orders WHERE orders.price > 10`, as in SQL.
            path = (node.name,) if node.variable in streams else (node.variable, node.name)
            return read_path(path, EVENT, node.span)
        return node

    return resolve_condition(rewrite(query.sees, with_field), params, EVENT)


def check_scope(types: tuple[str, ...], query: QueryTree, roles: Roles) -> None:
    """Types that a query sees exist, and it names no others."""
    if not types:
        return
    span = next(stream.span for stream in query.streams if stream.types)
    if roles.type is None:
        remedy = "name the type column with type=, or leave the types of FROM out"
        raise BindError("CEP302", "type=None means that events have no types, but FROM names some", remedy, span)
    for name in types:
        if roles.types is not None and name not in roles.types:
            raise BindError("CEP302", f"unknown type '{name}'", did_you_mean(name, roles.types, "types"), span)
    named: list[EventPattern | ArcClause] = [node for node in walk(query.pattern) if isinstance(node, EventPattern)]
    named += arcs_in(query)
    for event in named:
        for name in event.types:
            if name not in types:
                remedy = f"add it to the types of FROM, which are {', '.join(types)}"
                raise BindError("CEP302", f"the query does not see events of the type '{name}'", remedy, event.span)
