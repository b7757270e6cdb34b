"""Walking and rewriting CESAR expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Item,
    Iterate,
    Let,
    Operator,
    Prefix,
    Project,
    Rename,
    Renaming,
    Select,
    Term,
    Then,
    Union,
)
from cepheid.pattern.expressions.nodes import Expression

Rewriting = Callable[[Expression], Expression]


def terms(algebra: Algebra) -> Iterator[Term]:
    """The outermost streams of an expression: those that LET names, then the result."""
    yield from (let.value for let in algebra.lets if isinstance(let.value, Term))
    yield algebra.term


def streams_of(term: Term) -> tuple[Term, ...]:
    """The streams directly below one."""
    match term:
        case Apply(of=of) | Prefix(of=of):
            return (of,)
        case Union(left=left, right=right) | Then(left=left, right=right) | Iterate(left=left, right=right):
            return left, right
    return ()


def walk_terms(term: Term) -> Iterator[Term]:
    """A stream and all below it, parents first."""
    yield term
    for below in streams_of(term):
        yield from walk_terms(below)


def operator_expressions(operator: Operator) -> Iterator[Expression]:
    """The conditions, values and attributes of an operator, in the order of the text."""
    match operator:
        case Select(condition=condition):
            yield condition
        case Project(attributes=attributes):
            yield from attributes
        case Rename(changes=changes):
            yield from (change.old for change in changes)
        case Add(items=items):
            yield from (item.value for item in items)


def term_expressions(term: Term) -> Iterator[Expression]:
    """The expressions of a stream and of those below it."""
    match term:
        case Apply(operator=operator):
            yield from operator_expressions(operator)
        case Then(condition=condition):
            yield condition
        case Iterate(condition=condition, steps=steps):
            for step in steps:
                yield from operator_expressions(step)
            yield condition
    for below in streams_of(term):
        yield from term_expressions(below)


def algebra_expressions(algebra: Algebra) -> Iterator[Expression]:
    """All expressions: those of the LETs, then those of the result."""
    for let in algebra.lets:
        match let.value:
            case Term() as term:
                yield from term_expressions(term)
            case Expression() as expression:
                yield expression
            case listed:
                yield from (entry.old if isinstance(entry, Renaming) else entry.value for entry in listed)
    yield from term_expressions(algebra.term)


def rewrite_operators(term: Term, change: Callable[[Operator], Operator]) -> Term:
    """The stream with `change` applied to each operator."""
    match term:
        case Apply(operator=operator, of=of):
            return replace(term, operator=change(operator), of=rewrite_operators(of, change))
        case Iterate(left=left, right=right, steps=steps):
            left, right = rewrite_operators(left, change), rewrite_operators(right, change)
            return replace(term, left=left, right=right, steps=tuple(map(change, steps)))
        case Union(left=left, right=right) | Then(left=left, right=right):
            return replace(term, left=rewrite_operators(left, change), right=rewrite_operators(right, change))
    return term


def _rewrite_operator(operator: Operator, change: Rewriting) -> Operator:
    match operator:
        case Select(condition=condition):
            return replace(operator, condition=change(condition))
        case Project(attributes=attributes):
            return replace(operator, attributes=tuple(map(change, attributes)))
        case Rename(changes=changes):
            return replace(operator, changes=_rewrite_changes(changes, change))
        case Add(items=items):
            return replace(operator, items=_rewrite_items(items, change))
    return operator


def _rewrite_changes(changes: tuple[Renaming, ...], change: Rewriting) -> tuple[Renaming, ...]:
    return tuple(replace(entry, old=change(entry.old)) for entry in changes)


def _rewrite_items(items: tuple[Item, ...], change: Rewriting) -> tuple[Item, ...]:
    return tuple(replace(entry, value=change(entry.value)) for entry in items)


def rewrite_term(term: Term, change: Rewriting) -> Term:
    """The stream with `change` applied to each expression as a whole."""

    def conditions(term: Term) -> Term:
        match term:
            case (
                Then(left=left, right=right, condition=condition) | Iterate(left=left, right=right, condition=condition)
            ):
                return replace(term, left=conditions(left), right=conditions(right), condition=change(condition))
            case Union(left=left, right=right):
                return replace(term, left=conditions(left), right=conditions(right))
            case Apply(of=of):
                return replace(term, of=conditions(of))
        return term

    return rewrite_operators(conditions(term), lambda operator: _rewrite_operator(operator, change))


def rewrite_algebra(algebra: Algebra, change: Rewriting) -> Algebra:
    """The whole with `change` applied to each of its expressions as a whole."""
    lets = tuple(_rewrite_let(let, change) for let in algebra.lets)
    return replace(algebra, lets=lets, term=rewrite_term(algebra.term, change))


def _rewrite_let(let: Let, change: Rewriting) -> Let:
    match let.value:
        case Term() as term:
            return replace(let, value=rewrite_term(term, change))
        case Expression() as expression:
            return replace(let, value=change(expression))
    changes = tuple(entry for entry in let.value if isinstance(entry, Renaming))
    items = tuple(entry for entry in let.value if isinstance(entry, Item))
    return replace(let, value=_rewrite_changes(changes, change) if changes else _rewrite_items(items, change))


def term_depth(term: Term) -> int:
    """How deep a stream is nested, found without recursion."""
    deepest, stack = 0, [(term, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((below, level + 1) for below in streams_of(current))
    return deepest
