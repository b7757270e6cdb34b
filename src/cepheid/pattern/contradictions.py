"""Conditions that cannot hold together: bounds of one value, or comparisons of two, that leave nothing between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from cepheid.errors import CepheidWarning
from cepheid.pattern import expressions as ex
from cepheid.pattern.impossible_orders import impossible_orders
from cepheid.pattern.tree import Query
from cepheid.pattern.types import NUMERIC
from cepheid.pattern.walk import conjuncts, walk

_REMEDY = "correct one of them, or join them with OR"
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Bound:
    """`value operator constant`, and the condition that says so."""

    value: ex.Expression
    operator: str
    constant: ex.Literal
    condition: ex.Expression


def find_contradictions(query: Query) -> Iterator[CepheidWarning]:
    """A warning for each value that conditions joined by AND leave no room for."""
    others = [condition for condition in (query.sees, query.having) if condition is not None]
    groups: list[Iterable[ex.Expression]] = [query.where, *map(conjuncts, others)]
    # An AND inside another condition, such as one side of an OR, has bounds of its own.
    inner = [node for condition in (*query.where, *others) for node in walk(condition) if node is not condition]
    groups += [conjuncts(node) for node in inner if isinstance(node, ex.And)]
    told = set()
    found = False
    for group in groups:
        conditions = list(group)
        for warning in _opposed(conditions):
            found = True
            yield warning
        bounds = [bound for condition in conditions for bound in _bounds(condition)]
        for one, other in combinations(bounds, 2):
            if one.value == other.value and one.value not in told and _exclude(one, other):
                told.add(one.value)
                yield _warning(one, other)
    if found or told:
        return
    for impossible in impossible_orders(query.pattern, query.where, _order):
        texts = list(map(_text, impossible))
        said = (
            f"{', '.join(texts[:-1])} and {texts[-1]} are never TRUE together"
            if texts[1:]
            else f"{texts[0]} is never TRUE"
        )
        yield CepheidWarning("CEP004", said, _REMEDY if texts[1:] else "correct it")


_SIGNS = {"<": {-1}, "<=": {-1, 0}, "=": {0}, "!=": {-1, 1}, ">=": {0, 1}, ">": {1}}


def _opposed(conditions: Iterable[ex.Expression]) -> Iterator[CepheidWarning]:
    """Comparisons of the same two values, neither of them constant, that exclude each other."""
    left: dict[tuple[ex.Expression, ex.Expression], tuple[ex.Compare, set[int]]] = {}
    for found in conditions:
        if not isinstance(found, ex.Compare) or ex.Literal in (type(found.left), type(found.right)):
            continue
        if any(isinstance(node, ex.Call) for node in walk(found)):
            continue  # a function of the user may give another value each time
        mirrored = (found.right, found.left) in left
        key = (found.right, found.left) if mirrored else (found.left, found.right)
        signs = {-sign if mirrored else sign for sign in _SIGNS[found.operator]}
        first, room = left.get(key, (found, signs))
        if room and not room & signs:
            yield CepheidWarning("CEP004", f"{_text(first)} and {_text(found)} are never TRUE together", _REMEDY)
        left[key] = first, room & signs


def _bounds(condition: ex.Expression) -> Iterator[Bound]:
    match condition:
        case ex.Compare(operator, value, ex.Literal() as constant) if operator in _MIRRORED:
            yield Bound(value, operator, constant, condition)
        case ex.Compare(operator, ex.Literal() as constant, value) if operator in _MIRRORED:
            yield Bound(value, _MIRRORED[operator], constant, condition)
        case ex.Between(value, ex.Literal() as low, ex.Literal() as high, False):
            yield Bound(value, ">=", low, condition)
            yield Bound(value, "<=", high, condition)
        case ex.SameValue(attribute, ex.Literal() as constant, fields):
            yield Bound(ex.SameValue(attribute, fields=fields), "=", constant, condition)


def _exclude(one: Bound, other: Bound) -> bool:
    """Whether no value is within both bounds."""
    if any(isinstance(node, ex.Call) for node in walk(one.value)):
        return False  # a function of the user may give another value each time
    sign = _order(one.constant, other.constant)
    if sign is None:
        return False
    touch = {one.operator, other.operator} & {"<", ">"} == set()
    return (_is_above(one, other) and (sign > 0 or (sign == 0 and not touch))) or (
        _is_above(other, one) and (sign < 0 or (sign == 0 and not touch))
    )


def _is_above(one: Bound, other: Bound) -> bool:
    """Whether one is a lower bound and the other an upper bound; an equation is both."""
    return one.operator in (">", ">=", "=") and other.operator in ("<", "<=", "=")


def _order(one: ex.Literal, other: ex.Literal) -> int | None:
    """-1, 0 or 1; None if the two cannot be compared here."""
    left, right = one.value, other.value
    numbers = {one.type.kind, other.type.kind} <= NUMERIC
    if left is None or right is None or left != left or right != right:
        return None
    if numbers and type(left) is not type(right):
        left, right = float(left), float(right)  # type: ignore[arg-type]
    if type(left) is not type(right) or (one.type.kind is not other.type.kind and not numbers):
        return None
    try:
        return int(left > right) - int(left < right)  # type: ignore[operator]
    except TypeError:
        return None


def _warning(one: Bound, other: Bound) -> CepheidWarning:
    if one.condition is other.condition:
        return CepheidWarning("CEP004", f"{_shown(one)} is never TRUE", "give the smaller value first")
    message = f"{_shown(one)} and {_shown(other)} are never TRUE together"
    return CepheidWarning("CEP004", message, _REMEDY)


def _shown(bound: Bound) -> str:
    if bound.condition.span is not None:
        return _text(bound.condition)
    value = bound.value
    if isinstance(value, ex.Attribute):
        return f"{value.variable}{value.index.value}.{value.name} {bound.operator} {bound.constant.value!r}"
    return f"a condition with {bound.operator} {bound.constant.value!r}"


def _text(condition: ex.Expression) -> str:
    if isinstance(condition, ex.SameValue):
        return f"[{condition.attribute}]"
    return "a comparison" if condition.span is None else " ".join(condition.span.excerpt.split())
