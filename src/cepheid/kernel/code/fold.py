"""Conditions put together, with constants folded away."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.kernel.code.nodes import FALSE, TRUE, AllTrue, AnyTrue, Choose, Expr, Immediate, Negate


def all_of(conditions: Iterable[Expr]) -> Expr:
    """AND; a part that stands twice is tested once.

    >>> all_of([TRUE, all_of([])]) is TRUE
    True
    """
    parts: dict[Expr, None] = {}
    for condition in conditions:
        if condition == FALSE:
            return FALSE
        parts |= dict.fromkeys(condition.parts if isinstance(condition, AllTrue) else [condition])
    parts.pop(TRUE, None)
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else AllTrue(kept) if kept else TRUE


def all_at_once(conditions: Iterable[Expr]) -> Expr:
    """AND, of which machine code evaluates all parts."""
    condition = all_of(conditions)
    return AllTrue(condition.parts, at_once=True) if isinstance(condition, AllTrue) else condition


def any_of(conditions: Iterable[Expr]) -> Expr:
    """OR; a part that stands twice is tested once."""
    parts: dict[Expr, None] = {}
    for condition in conditions:
        if condition == TRUE:
            return TRUE
        parts |= dict.fromkeys(condition.parts if isinstance(condition, AnyTrue) else [condition])
    parts.pop(FALSE, None)
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else AnyTrue(kept) if kept else FALSE


def negate(condition: Expr) -> Expr:
    """NOT of a condition; of a constant or of NOT, without a node."""
    if isinstance(condition, Immediate):
        return FALSE if condition.value else TRUE
    return condition.operand if isinstance(condition, Negate) else Negate(condition)


def choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """One of two values; without a node where the condition is constant, or both are equal."""
    if isinstance(condition, Immediate):
        return then if condition.value else otherwise
    if then == otherwise:
        return then
    if TRUE in (then, otherwise) or FALSE in (then, otherwise):
        return any_of([all_of([condition, then]), all_of([negate(condition), otherwise])])
    return Choose(condition, then, otherwise)
