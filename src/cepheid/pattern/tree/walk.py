"""Walking and rewriting trees of frozen nodes, and the limit on their depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from cepheid.pattern.algebra.tree import Term, algebra_of
from cepheid.pattern.algebra.walk import algebra_expressions, rewrite_algebra, term_depth, terms
from cepheid.pattern.expressions.nodes import And, Expression
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Language, PatternTree, QueryTree, RegisterSlot

Change = Callable[[Expression], Expression]
N = TypeVar("N", bound=Expression | PatternTree)


_KNOWN: dict[type[Any], tuple[type[Any], tuple[str, ...]]] = {}


def _known(node: type[Any]) -> tuple[type[Any], tuple[str, ...]]:
    """The kind of tree that a node is of, and its fields."""
    if node not in _KNOWN:
        kinds: tuple[type[Any], ...] = (Expression, PatternTree)
        kind = next(kind for kind in kinds if issubclass(node, kind))
        _KNOWN[node] = kind, parts_of(node)
    return _KNOWN[node]


def parts_of(node: type[Any]) -> tuple[str, ...]:
    """The fields of a class of nodes, but for the place in the text."""
    return tuple(field.name for field in fields(node) if field.name != "span")


def children(node: N) -> Iterator[N]:
    """The nodes directly below a node, in the order of the text."""
    kind, names = _known(type(node))
    for name in names:
        value = getattr(node, name)
        if isinstance(value, kind):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, kind):
                    yield item


def walk(node: N) -> Iterator[N]:
    """A node and all below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: N, change: Callable[[N], N]) -> N:
    """The tree with `change` applied to every node, children first."""
    kind, names = _known(type(node))
    changes: dict[str, Any] = {}
    for name in names:
        value = getattr(node, name)
        if isinstance(value, kind):
            changes[name] = rewrite(value, change)
        elif isinstance(value, tuple) and any(isinstance(v, kind) for v in value):
            changes[name] = tuple(rewrite(v, change) if isinstance(v, kind) else v for v in value)
    return change(replace(node, **changes) if changes else node)


def substitute(node: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """The tree with other nodes in the place of some, parents first: `change` gives None for a node that stays."""
    found = change(node)
    if found is not None:
        return found
    changes: dict[str, Any] = {}
    for name in _known(type(node))[1]:
        value = getattr(node, name)
        if isinstance(value, Expression):
            changes[name] = substitute(value, change)
        elif isinstance(value, tuple):
            changes[name] = tuple(substitute(v, change) if isinstance(v, Expression) else v for v in value)
    return replace(node, **changes) if changes else node


def expressions(query: QueryTree) -> Iterator[Expression]:
    """All expressions of a query: FROM, those of an automaton or of CESAR, WHERE, HAVING, RETURN."""
    if query.sees is not None:
        yield query.sees
    yield from _SYNTAX[query.language].expressions(query)
    yield from query.where
    if query.having is not None:
        yield query.having
    yield from (item.expression for item in query.returns)


def rewrite_expressions(query: QueryTree, change: Change) -> QueryTree:
    """The query with `change` applied to each of its expressions as a whole."""
    return replace(
        query,
        pattern=_SYNTAX[query.language].rewritten(query, change),
        where=tuple(map(change, query.where)),
        having=query.having and change(query.having),
        returns=tuple(replace(item, expression=change(item.expression)) for item in query.returns),
    )


def automaton_of(query: QueryTree) -> AutomatonPattern:
    """The automaton of a query that is known to be one."""
    assert isinstance(query.pattern, AutomatonPattern)
    return query.pattern


def arcs_in(query: QueryTree) -> tuple[ArcClause, ...]:
    """The arcs of an automaton; a query of another language has none."""
    return _SYNTAX[query.language].arcs(query)


def fields_in(query: QueryTree) -> tuple[RegisterSlot, ...]:
    """The fields of the register of an automaton; a query of another language has none."""
    return _SYNTAX[query.language].fields(query)


def automaton_expressions(automaton: AutomatonPattern) -> Iterator[Expression]:
    """The values of the register at the start, then what each arc asks and assigns."""
    yield from (slot.initial for slot in automaton.register)
    for arc in automaton.arcs:
        if arc.condition is not None:
            yield arc.condition
        yield from (assign.value for assign in arc.assigns)


def rewrite_automaton(automaton: AutomatonPattern, change: Change) -> AutomatonPattern:
    """The automaton with `change` applied to each of its expressions as a whole."""
    arcs = (
        replace(
            arc,
            condition=arc.condition and change(arc.condition),
            assigns=tuple(replace(assign, value=change(assign.value)) for assign in arc.assigns),
        )
        for arc in automaton.arcs
    )
    slots = (replace(slot, initial=change(slot.initial)) for slot in automaton.register)
    return replace(automaton, register=tuple(slots), arcs=tuple(arcs))


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The operands of the outermost ANDs, in the order of the text (S5)."""
    if isinstance(condition, And):
        return tuple(c for operand in condition.operands for c in conjuncts(operand))
    return (condition,)


MAX_DEPTH = 100
"""Deeper trees are refused: every later stage walks them recursively."""


def depth(node: Expression | PatternTree) -> int:
    """How deep a tree is, found without recursion."""
    deepest = 0
    stack: list[tuple[Expression | PatternTree, int]] = [(node, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(current))
    return deepest


def too_deep(query: QueryTree) -> Expression | PatternTree | Term | None:
    """The part of a query that is nested too deeply, if there is one."""
    deep = next((term for term in _SYNTAX[query.language].terms(query) if term_depth(term) > MAX_DEPTH), None)
    if deep is not None:
        return deep
    parts: list[Expression | PatternTree] = [query.pattern, *expressions(query)]
    return next((part for part in parts if depth(part) > MAX_DEPTH), None)


@dataclass(frozen=True, slots=True)
class _Syntax:
    """What the body of a query has, in one language. rewritten: with another expression in the place of each."""

    expressions: Callable[[QueryTree], Iterator[Expression]] = lambda _: iter(())
    rewritten: Callable[[QueryTree, Change], PatternTree] = lambda query, _: query.pattern
    arcs: Callable[[QueryTree], tuple[ArcClause, ...]] = lambda _: ()
    fields: Callable[[QueryTree], tuple[RegisterSlot, ...]] = lambda _: ()
    terms: Callable[[QueryTree], Iterator[Term]] = lambda _: iter(())


_SYNTAX: Mapping[Language, _Syntax] = {
    Language.PATTERN: _Syntax(),
    Language.AUTOMATON: _Syntax(
        lambda query: automaton_expressions(automaton_of(query)),
        lambda query, change: rewrite_automaton(automaton_of(query), change),
        lambda query: automaton_of(query).arcs,
        lambda query: automaton_of(query).register,
    ),
    Language.CESAR: _Syntax(
        lambda query: algebra_expressions(algebra_of(query)),
        lambda query, change: rewrite_algebra(algebra_of(query), change),
        terms=lambda query: terms(algebra_of(query)),
    ),
}
