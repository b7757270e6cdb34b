"""Arcs that differ only in numbers (S17): of many such, one is analysed, and the others are it with other numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from cepheid.front.automata.bound import BoundArc
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import FLOAT, INT
from cepheid.pattern.tree.nodes import ArcClause
from cepheid.pattern.tree.walk import children, parts_of, rewrite, substitute, walk

_AROUND = (ex.Compare, ex.And, ex.Or, ex.Not, ex.Arithmetic, ex.Minus)
"""Of these nodes, what is checked does not depend on a number in them."""


@dataclass(frozen=True, slots=True)
class ArcForm:
    """An arc but for its numbers."""

    key: Hashable
    numbers: tuple[int | float, ...]  # in the order of the text


def form_of(arc: ArcClause) -> ArcForm:
    """What an arc is, and its numbers."""
    numbers: list[int | float] = []
    condition = None if arc.condition is None else _key(arc.condition, numbers, plain=True)
    assigns = tuple([(assign.name, _key(assign.value, numbers, plain=True)) for assign in arc.assigns])
    return ArcForm((arc.source, arc.target, arc.fires, arc.types, arc.ignores, condition, assigns), tuple(numbers))


_PARTS: dict[type[Any], tuple[str, ...]] = {}


def _is_number(node: ex.Literal) -> bool:
    value, type_ = node.value, node.type
    if type(value) is int:
        return (type_ is INT or type_ == INT) and -(2**63) <= value < 2**63
    return type(value) is float and (type_ is FLOAT or type_ == FLOAT) and isfinite(value)


def _key(node: Any, numbers: list[int | float], *, plain: bool) -> Hashable:
    """A node but for numbers. plain: it is below such nodes only that say nothing about them."""
    kind = type(node)
    if kind is ex.Literal and plain and _is_number(node):
        numbers.append(node.value)
        return type(node.value) is int
    plain = plain and kind in _AROUND
    key: list[object] = [kind]
    if kind not in _PARTS:
        _PARTS[kind] = parts_of(kind)
    for name in _PARTS[kind]:
        value = getattr(node, name)
        if isinstance(value, ex.Expression):
            key.append(_key(value, numbers, plain=plain))
        elif isinstance(value, tuple):
            key.append(tuple([_key(v, numbers, plain=plain) if isinstance(v, ex.Expression) else v for v in value]))
        else:
            key.append(value)
    return tuple(key)


def marked(arc: ArcClause) -> tuple[ArcClause, tuple[int | float, ...]]:
    """An arc of a form with numbers that are found again wherever they go."""
    wanted = form_of(arc).numbers
    marks = tuple(_INT_MARK + 7_919 * k if isinstance(n, int) else _FLOAT_MARK * (k + 1) for k, n in enumerate(wanted))
    left = list(marks)

    def change(node: ex.Expression) -> ex.Expression | None:
        if isinstance(node, ex.Literal) and _is_number(node):
            return replace(node, value=left.pop(0))
        return None if isinstance(node, _AROUND) else node

    condition = arc.condition and substitute(arc.condition, change)
    assigns = tuple(replace(assign, value=substitute(assign.value, change)) for assign in arc.assigns)
    return replace(arc, condition=condition, assigns=assigns), marks


_INT_MARK = 1_000_003_000_017
_FLOAT_MARK = 73_105.857_863_000_49


def numbers_in(
    literals: Sequence[ex.Literal], marks: Sequence[int | float]
) -> Callable[[Sequence[int | float]], tuple[object, ...]] | None:
    """What gives the constants of an arc from its numbers, by where the marks are; None if one is not there."""
    places: list[tuple[int, bool] | None] = []
    for literal in literals:
        value = literal.value
        at = next((k for k, mark in enumerate(marks) if value == mark and isinstance(value, int | float)), None)
        places.append(None if at is None else (at, isinstance(value, float)))
    if {place[0] for place in places if place is not None} != set(range(len(marks))):
        return None
    if all(place is not None and isinstance(marks[place[0]], float) == place[1] for place in places):
        order = [place[0] for place in places if place is not None]
        if order == list(range(len(marks))):
            return tuple
    constants = [literal.value for literal in literals]

    def values(numbers: Sequence[int | float]) -> tuple[object, ...]:
        return tuple(
            constant if place is None else float(numbers[place[0]]) if place[1] else numbers[place[0]]
            for constant, place in zip(constants, places, strict=True)
        )

    return values


def literals_of(arc: BoundArc, movable: Callable[[ex.Literal], bool]) -> list[ex.Literal]:
    """The constants of an arc, those that it asks for first."""
    assigned = [value for _, value in sorted(arc.assigns.items())]
    expressions = [*([] if arc.condition is None else [arc.condition]), *assigned]
    return [node for e in expressions for node in walk(e) if isinstance(node, ex.Literal) and movable(node)]


def is_plain(condition: ex.Expression | None) -> bool:
    """Whether a condition only compares and computes with attributes, fields of the register and constants."""
    leaves = (ex.Attribute, ex.RegisterField, ex.Literal)
    return condition is not None and all(isinstance(node, (*_AROUND, *leaves)) for node in walk(condition))


def plain_numbers(arc: BoundArc) -> list[ex.Literal]:
    """The numbers of an arc that are compared or computed with, as they would be read of a column."""
    todo = [*([] if arc.condition is None else [arc.condition]), *arc.assigns.values()]
    literals: list[ex.Literal] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ex.Literal) and _is_number(node):
            literals.append(node)
        elif isinstance(node, _AROUND) and not (isinstance(node, ex.Arithmetic) and node.operator in "/%"):
            todo += children(node)
    return literals


def with_values(arc: BoundArc, literals: Sequence[ex.Literal], values: Sequence[object]) -> BoundArc:
    """The same arc with other constants."""
    replaced = {id(literal): replace(literal, value=value) for literal, value in zip(literals, values, strict=True)}

    def change(node: ex.Expression) -> ex.Expression:
        return replaced.get(id(node), node)

    assigns = {name: rewrite(value, change) for name, value in arc.assigns.items()}
    return replace(arc, condition=arc.condition and rewrite(arc.condition, change), assigns=assigns)
