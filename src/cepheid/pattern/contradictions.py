"""Conditions that cannot hold together: bounds of one value, or comparisons of two, that leave nothing between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import combinations

from cepheid.errors import CepheidWarning
from cepheid.pattern import expressions as ex
from cepheid.pattern.impossible_orders import impossible_orders
from cepheid.pattern.schema import Roles
from cepheid.pattern.timestamps import read_timestamp
from cepheid.pattern.tree import Pattern, Query
from cepheid.pattern.types import NUMERIC, zone_of
from cepheid.pattern.vacuous import may_be_missing, what_is_left_out
from cepheid.pattern.walk import conjuncts, walk

_REMEDY = "correct one of them, or join them with OR"
_EXACT = 2**53 - 1  # whole numbers up to this are floats that no other number is
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Bound:
    """`value operator constant`, and the condition that says so."""

    value: ex.Expression
    operator: str
    constant: ex.Literal
    condition: ex.Expression


def find_contradictions(query: Query, roles: Roles) -> Iterator[CepheidWarning]:
    """A warning for each value that conditions joined by AND leave no room for."""

    def told_of(conditions: Iterable[ex.Expression]) -> list[ex.Expression]:
        return [one for one in conditions if not may_be_missing(query.pattern, one, roles)]

    where = told_of(query.where)
    others = [condition for condition in (query.sees, query.having) if condition is not None]
    groups = [where, *(told_of(conjuncts(condition)) for condition in others)]
    # An AND inside another condition, such as one side of an OR, has bounds of its own.
    inner = [node for condition in (*query.where, *others) for node in walk(condition) if node is not condition]
    groups += [told_of(conjuncts(node)) for node in inner if isinstance(node, ex.And)]
    told = set()
    found = False
    for conditions in groups:
        pattern = query.pattern if conditions is where else None
        for one, other in _opposed(conditions):
            found = True
            yield _warning([_text(one), _text(other)], [one, other], pattern)
        bounds = [bound for condition in conditions for bound in _bounds(condition)]
        for low, high in combinations(bounds, 2):
            if low.value == high.value and low.value not in told and _exclude(low, high):
                told.add(low.value)
                alone = low.condition is high.condition
                texts = [_shown(low)] if alone else [_shown(low), _shown(high)]
                remedy = "give the smaller value first" if alone else _REMEDY
                yield _warning(texts, [low.condition, high.condition], pattern, remedy)
    if found or told:
        return
    for impossible in impossible_orders(query.pattern, where, _order_of_all):
        remedy = _REMEDY if impossible[1:] else "correct it"
        yield _warning(list(map(_text, impossible)), impossible, query.pattern, remedy)


_SIGNS = {"<": {-1}, "<=": {-1, 0}, "=": {0}, "!=": {-1, 1}, ">=": {0, 1}, ">": {1}}


def _opposed(conditions: Iterable[ex.Expression]) -> Iterator[tuple[ex.Expression, ex.Expression]]:
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
            yield first, found
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
    if left is None or right is None or left != left or right != right:
        return None
    if isinstance(left, str) and isinstance(right, str):
        return _order_of_texts(left, right)
    if {one.type.kind, other.type.kind} <= NUMERIC:
        return _order_of_numbers(left, right)
    # One without a zone is read in that of its column, which is not known here.
    alike = one.type.kind is other.type.kind and zone_of(one.type) == zone_of(other.type)
    return _sign(left, right) if alike and type(left) is type(right) else None


def _order_of_all(one: ex.Literal, other: ex.Literal) -> int | None:
    """The same of constants that are maybe compared with different columns: texts must be alike for that."""
    texts = [literal.value for literal in (one, other) if isinstance(literal.value, str)]
    if len(texts) == 2 and _readings(texts[0]).keys() != _readings(texts[1]).keys():
        return None
    return _order(one, other)


def _order_of_numbers(left: object, right: object) -> int | None:
    if type(left) is type(right):
        return _sign(left, right)
    if max(abs(left), abs(right)) > _EXACT:  # type: ignore[arg-type]
        return None  # as floats, different ones may be equal
    return _sign(float(left), float(right))  # type: ignore[arg-type]


def _order_of_texts(left: str, right: str) -> int | None:
    """Texts are read as what their column has; if it matters what that is, they have no order here."""
    one, other = _readings(left), _readings(right)
    found = {_sign(one[name], other[name]) for name in one if name in other}
    return found.pop() if len(found) == 1 else None


def _readings(text: str) -> dict[str, object]:
    """What a text may stand for."""
    found: dict[str, object] = {"text": text}
    for read in (Decimal, date.fromisoformat, _read_moment):
        with suppress(ValueError, ArithmeticError):
            found[read.__name__] = read(text)
    return found


def _read_moment(text: str) -> object:
    """Nanoseconds; with a zone, what can't be compared with one without."""
    moment, zoned = read_timestamp(text)
    return (moment,) if zoned else moment


def _sign(left: object, right: object) -> int | None:
    try:
        return int(left > right) - int(left < right)  # type: ignore[operator]
    except (TypeError, ArithmeticError):  # a decimal that is no number
        return None


def _warning(
    texts: Sequence[str], conditions: Iterable[ex.Expression], pattern: Pattern | None, remedy: str = _REMEDY
) -> CepheidWarning:
    """pattern: where the conditions are those of WHERE, which asks some of them of no event of a match."""
    said = f"{', '.join(texts[:-1])} and {texts[-1]} are" if texts[1:] else f"{texts[0]} is"
    together = "never TRUE together" if texts[1:] else "never TRUE"
    left_out = "" if pattern is None else what_is_left_out(pattern, conditions)
    return CepheidWarning("CEP004", f"{said} {together}{left_out}", remedy)


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
