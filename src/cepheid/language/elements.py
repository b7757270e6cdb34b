"""`tags[0]` without a variable: an element of a column of the event at hand, and not an event of a Kleene variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheid.errors import ParseError, Span
from cepheid.front.automata.registers import EVENT, FIRST, LAST, REGISTER
from cepheid.pattern.expressions.nodes import Attribute, Element, Expression, Field, Index, Literal, Name, Nth, Rows
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import EventPattern, Language, QueryTree, Repeat
from cepheid.pattern.tree.walk import rewrite, rewrite_expressions, walk

_VARIABLES: Mapping[Language, frozenset[str]] = {
    Language.PATTERN: frozenset(),
    Language.AUTOMATON: frozenset({EVENT, REGISTER, FIRST, LAST}),
    Language.CESAR: frozenset(),
}
"""The variables that a query has without naming them."""


def with_elements(query: QueryTree) -> QueryTree:
    """Tell the two apart by the variables, as in `with_lengths`: in FROM there are none, and one may be left out."""
    nodes = list(walk(name_events(query.pattern)))
    variables = {str(node.variable) for node in nodes if isinstance(node, EventPattern)} | _VARIABLES[query.language]
    single = len(variables) == 1 and not any(isinstance(node, Repeat) for node in nodes)

    def change(node: Expression) -> Expression:
        return node if isinstance(node, Attribute | Rows) and node.variable in variables else _as_element(node)

    if query.sees is not None:
        query = replace(query, sees=rewrite(query.sees, change))
    if single:
        query = rewrite_expressions(query, lambda expression: rewrite(expression, change))
    rewrite_expressions(query, lambda expression: rewrite(expression, lambda node: _counted_from_one(node, variables)))
    return query


def as_elements(expression: Expression) -> Expression:
    """The same where there are no Kleene variables at all."""
    return rewrite(expression, _as_element)


def _as_element(node: Expression) -> Expression:
    if not isinstance(node, Attribute | Rows):
        return node
    number = node.index.number if isinstance(node.index, Nth) else 1 if node.index is Index.FIRST else None
    if number is None:
        return node
    element = Element(Name(node.variable, span=node.span), Literal(number, INT, span=node.span), span=node.span)
    return element if isinstance(node, Rows) else Field(element, node.name, span=node.span)


def _counted_from_one(node: Expression, variables: set[str]) -> Expression:
    if isinstance(node, Attribute | Rows) and node.index == Nth(0):
        assert node.span is not None
        name, start = node.variable, node.span.start + node.span.excerpt.index("[")
        remedy = (
            f"events are counted from 1: {name}[1], {name}[2], {name}[i], {name}[i-1], {name}[{name}.LEN] or {name}[]"
        )
        if name not in variables:
            remedy = f"for an element of the column {name}, write the variable: {min(variables)}.{name}[0]"
        place = Span(node.span.text, start, node.span.text.index("]", start) + 1)
        raise ParseError("CEP107", "'[0]' is not a valid index", remedy, place)
    return node
