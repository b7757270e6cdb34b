"""Conditions that cannot hold together: bounds of one value, or comparisons of two, that leave nothing between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cepheid.errors import CepheidWarning
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import SIGNS, excludes, is_range, swap
from cepheid.pattern.lints.constant_order import order
from cepheid.pattern.lints.impossible_orders import impossible_orders
from cepheid.pattern.lints.vacuous import may_be_missing, what_is_left_out
from cepheid.pattern.tree.nodes import PatternTree, QueryTree
from cepheid.pattern.tree.walk import conjuncts, walk

_REMEDY = "correct one of them, or join them with OR"


@dataclass(frozen=True, slots=True)
class ConstantBound:
    """`value operator constant`, and the condition that says so."""

    value: ex.Expression
    operator: str
    constant: ex.Literal
    condition: ex.Expression


def find_contradictions(query: QueryTree, roles: Roles) -> Iterator[CepheidWarning]:
    """A warning for each value that conditions joined by AND leave no room for."""

    def tested(conditions: Iterable[ex.Expression]) -> list[ex.Expression]:
        return [condition for condition in conditions if not may_be_missing(query.pattern, condition, roles)]

    where = tested(query.where)
    others = [condition for condition in (query.sees, query.having) if condition is not None]
    groups = [where, *(tested(conjuncts(condition)) for condition in others)]
    # An AND inside another condition, such as one side of an OR, has bounds of its own.
    inner = [node for condition in (*query.where, *others) for node in walk(condition) if node is not condition]
    groups += [tested(conjuncts(node)) for node in inner if isinstance(node, ex.And)]
    excluded = set()
    opposed = False
    for conditions in groups:
        pattern = query.pattern if conditions is where else None
        for pair in _opposed(conditions):
            opposed = True
            yield _warning(list(map(_text, pair)), pair, pattern)
        bounds = [bound for condition in conditions for bound in _bounds(condition)]
        for low, high in combinations(bounds, 2):
            if low.value == high.value and low.value not in excluded and _exclude(low, high):
                excluded.add(low.value)
                alone = low.condition is high.condition
                texts = [_shown(low)] if alone else [_shown(low), _shown(high)]
                remedy = "give the smaller value first" if alone else _REMEDY
                yield _warning(texts, [low.condition, high.condition], pattern, remedy)
    if opposed or excluded:
        return
    for impossible in impossible_orders(query.pattern, where):
        remedy = _REMEDY if impossible[1:] else "correct it"
        yield _warning(list(map(_text, impossible)), impossible, query.pattern, remedy)


def _opposed(conditions: Iterable[ex.Expression]) -> Iterator[tuple[ex.Expression, ex.Expression]]:
    """Comparisons of the same two values, neither of them constant, that exclude each other."""
    earlier: dict[tuple[ex.Expression, ex.Expression], tuple[ex.Compare, frozenset[int]]] = {}
    for condition in conditions:
        if not isinstance(condition, ex.Compare) or ex.Literal in (type(condition.left), type(condition.right)):
            continue
        if any(isinstance(node, ex.Call) for node in walk(condition)):
            continue  # a function of the user may return another value each time
        values, operator = (condition.left, condition.right), condition.operator
        if (condition.right, condition.left) in earlier:
            values, operator = (condition.right, condition.left), swap(operator)
        first, signs = earlier.get(values, (condition, SIGNS[operator]))
        if signs and not signs & SIGNS[operator]:
            yield first, condition
        earlier[values] = first, signs & SIGNS[operator]


def _bounds(condition: ex.Expression) -> Iterator[ConstantBound]:
    match condition:
        case ex.Compare(operator, value, ex.Literal() as constant) if is_range(operator):
            yield ConstantBound(value, operator, constant, condition)
        case ex.Compare(operator, ex.Literal() as constant, value) if is_range(operator):
            yield ConstantBound(value, swap(operator), constant, condition)
        case ex.Between(value, ex.Literal() as low, ex.Literal() as high, False):
            yield ConstantBound(value, ">=", low, condition)
            yield ConstantBound(value, "<=", high, condition)
        case ex.SameValue(attribute, ex.Literal() as constant, fields):
            yield ConstantBound(ex.SameValue(attribute, fields=fields), "=", constant, condition)


def _exclude(bound: ConstantBound, other: ConstantBound) -> bool:
    """Whether no value is within both bounds."""
    if any(isinstance(node, ex.Call) for node in walk(bound.value)):
        return False  # a function of the user may return another value each time
    sign = order(bound.constant, other.constant)
    return sign is not None and excludes(bound.operator, other.operator, sign)


def _warning(
    texts: Sequence[str], conditions: Iterable[ex.Expression], pattern: PatternTree | None, remedy: str = _REMEDY
) -> CepheidWarning:
    """pattern: where the conditions are those of WHERE, which asks some of them of no event of a match."""
    said = f"{', '.join(texts[:-1])} and {texts[-1]} are" if texts[1:] else f"{texts[0]} is"
    together = "never TRUE together" if texts[1:] else "never TRUE"
    left_out = "" if pattern is None else what_is_left_out(pattern, conditions)
    return CepheidWarning("CEP004", f"{said} {together}{left_out}", remedy)


def _shown(bound: ConstantBound) -> str:
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
