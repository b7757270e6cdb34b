"""CESAR expressions on a joined stream: instances wait for events of their rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheid.front.automata.registers import EVENT
from cepheid.front.cesar.linear import LinearEdge, limit_of
from cepheid.front.cesar.result import BoundAlgebra, algebra_in
from cepheid.front.runnable import Runnable
from cepheid.front.templates.rule_columns import RULE, attribute, power_above, put
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.sampled import SampledLiteral
from cepheid.pattern.expressions.types import INT


def limits_of(algebra: BoundAlgebra) -> dict[str, int]:
    """The columns that say how long instances may last, each with what no rule of the variant exceeds."""
    limits = (limit_of(c, edge.start) for edge in algebra.automaton.edges for c in edge.fence)
    return {
        c.column: power_above(c.value) for c in limits if isinstance(c, SampledLiteral) and isinstance(c.value, int)
    }


class JoinedAlgebra:
    """A CESAR expression on a joined stream. limits: of the columns, what no rule of the variant exceeds."""

    def __init__(self, query: Runnable, *, windowed: bool) -> None:
        self.query = query
        self.algebra = algebra_in(query)
        self.limits = limits_of(self.algebra)

    def bound(self, schema: Schema) -> Runnable:
        """The query on events that have the columns of a rule."""
        return self.query.with_parts(
            body=joined_algebra(self.algebra, self.limits),
            schema=schema,
            typer=replace(self.query.typer, schema=schema),
            reads=tuple(schema.columns),
        )


def joined_algebra(algebra: BoundAlgebra, limits: Mapping[str, int]) -> BoundAlgebra:
    """A CESAR expression whose instances wait for events of their rule, which is the last attribute of its results."""
    rule_of_event, held = ex.Attribute(EVENT, ex.Index.ONE, RULE), ex.RegisterField(RULE, INT)

    def change(node: ex.Expression) -> ex.Expression:
        return put(node, attribute(EVENT, ex.Index.ONE))

    alone = algebra.automaton
    rewritten = replace(alone, edges=tuple(_limited(edge, limits) for edge in alone.edges)).rewritten(change, change)
    edges = (
        replace(
            edge,
            decides=edge.decides if edge.source is None else (ex.Compare("=", rule_of_event, held), *edge.decides),
            values={**edge.values, RULE: rule_of_event},
        )
        for edge in rewritten.edges
    )
    states = (replace(state, types={**state.types, RULE: INT}) for state in rewritten.states)
    flat = replace(rewritten, states=tuple(states), edges=tuple(edges), types={**rewritten.types, RULE: INT})
    term = replace(algebra.term, types={**algebra.term.types, RULE: INT})
    named = replace(algebra, term=term, names=(*algebra.names, RULE))
    return named.with_automaton(flat, columns=(RULE,))


def _limited(edge: LinearEdge, limits: Mapping[str, int]) -> LinearEdge:
    """An edge that also asks for the greatest of the limits of the rules, so that instances are known to end."""

    def with_limit(condition: ex.Expression) -> tuple[ex.Expression, ...]:
        limit = limit_of(condition, edge.start)
        if not isinstance(limit, SampledLiteral):
            return (condition,)
        most = ex.Literal(limits[limit.column], INT)
        compared = condition.operand if isinstance(condition, ex.Not) else condition
        assert isinstance(compared, ex.Compare)
        wider = replace(compared, operator="<=" if compared.operator == "=" else compared.operator, right=most)
        return condition, ex.Not(wider) if isinstance(condition, ex.Not) else wider

    decides = tuple(part for condition in edge.decides for part in with_limit(condition))
    asks = tuple(part for condition in edge.asks for part in with_limit(condition))
    return replace(edge, decides=decides, asks=asks)
