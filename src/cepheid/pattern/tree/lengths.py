"""`a.LEN` is a length where `a` is an array, and an attribute named LEN elsewhere."""

from __future__ import annotations

from cepheid.pattern.expressions.nodes import Attribute, Expression, Index, Length
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import EventPattern, QueryTree, Repeat
from cepheid.pattern.tree.walk import rewrite, rewrite_expressions, walk


def with_lengths(query: QueryTree) -> QueryTree:
    """Tell the two apart; the grammar or an expression alone can't."""
    repeats = [node for node in walk(name_events(query.pattern)) if isinstance(node, Repeat)]
    arrays = {event.variable for repeat in repeats for event in walk(repeat.body) if isinstance(event, EventPattern)}

    def change(node: Expression) -> Expression:
        if isinstance(node, Attribute) and node.index is Index.ONE and node.name.upper() == "LEN":
            return Length(node.variable, span=node.span) if node.variable in arrays else node
        return node

    return rewrite_expressions(query, lambda expression: rewrite(expression, change))
