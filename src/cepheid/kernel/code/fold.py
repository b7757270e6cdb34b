"""Conditions put together, with constants folded away."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.kernel.code.nodes import FALSE, TRUE, And, Choose, Constant, Expression, Not, Or


def all_of(conditions: Iterable[Expression]) -> Expression:
    """AND; a part that stands twice is tested once.

    >>> all_of([TRUE, all_of([])]) is TRUE
    True
    """
    parts: dict[Expression, None] = {}
    for condition in conditions:
        if condition == FALSE:
            return FALSE
        parts |= dict.fromkeys(condition.parts if isinstance(condition, And) else [condition])
    parts.pop(TRUE, None)
    found = tuple(parts)
    return found[0] if len(found) == 1 else And(found) if found else TRUE


def any_of(conditions: Iterable[Expression]) -> Expression:
    """OR; a part that stands twice is tested once."""
    parts: dict[Expression, None] = {}
    for condition in conditions:
        if condition == TRUE:
            return TRUE
        parts |= dict.fromkeys(condition.parts if isinstance(condition, Or) else [condition])
    parts.pop(FALSE, None)
    found = tuple(parts)
    return found[0] if len(found) == 1 else Or(found) if found else FALSE


def negate(condition: Expression) -> Expression:
    """NOT."""
    if isinstance(condition, Constant):
        return FALSE if condition.value else TRUE
    return condition.operand if isinstance(condition, Not) else Not(condition)


def choose(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """One of two values."""
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    if then == otherwise:
        return then
    if TRUE in (then, otherwise) or FALSE in (then, otherwise):
        return any_of([all_of([condition, then]), all_of([negate(condition), otherwise])])
    return Choose(condition, then, otherwise)
