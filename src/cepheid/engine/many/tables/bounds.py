"""Conditions as comparisons of a column with a constant, and as choices of these: what can be looked up."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.automaton.model import Now
from cepheid.engine.many.protocol import RULE
from cepheid.engine.many.tables.chain import Bounds, ComparisonForm, Constant, Key, RuleConstant
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import is_range, swap
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.walk import walk

_ORDERED = {Kind.INT, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION}
MOST_WAYS, MOST_VALUES = 16, 1024
"""Ways of a choice that are looked up each on its own; values of IN, where that is all that there is to look up."""


def parts_of(node: ex.Expression) -> Iterator[ex.Expression]:
    """The conditions that all must hold."""
    if isinstance(node, ex.And):
        for operand in node.operands:
            yield from parts_of(operand)
    elif isinstance(node, ex.Between) and not node.negated:
        yield ex.Compare(">=", node.operand, node.low)
        yield ex.Compare("<=", node.operand, node.high)
    else:
        yield node


def ways_of(node: ex.Expression) -> list[list[ex.Expression]]:
    """A condition as a choice of lists of conditions; one alone, or none: it is no choice, or one of too many."""
    match node:
        case ex.In(negated=False, operand=operand, choices=choices) if 1 < len(choices) <= MOST_VALUES:
            return [[ex.Compare("=", operand, choice)] for choice in choices]
        case ex.Or(operands=operands):
            alternatives = [way for operand in operands for way in ways_of(operand)]
            return (
                alternatives if all(ways_of(operand) for operand in operands) and len(alternatives) <= MOST_WAYS else []
            )
        case ex.And() | ex.Between(negated=False):
            product: list[list[ex.Expression]] = [[]]
            for part in parts_of(node):
                product = [[*chosen, *way] for chosen in product for way in ways_of(part)]
                if len(product) > MOST_WAYS:
                    return []
            return product
    return [[node]]


def is_bounds(node: ex.Expression) -> bool:
    """Whether a condition is such a comparison."""
    return any(True for _ in bounds_of(node))


def is_of_rule(bounds: Bounds) -> bool:
    """Whether bounds are one constant of the rule."""
    return bounds.operator == "=" and isinstance(bounds.constant, RuleConstant)


def is_equality(node: ex.Expression) -> bool:
    """Whether a condition says that a column is equal to a constant of the rule."""
    return any(map(is_of_rule, bounds_of(node)))


def needs_python(node: ex.Expression) -> bool:
    """Whether a condition that is no comparison with a constant has texts or calls."""
    return reads_text(node) or any(isinstance(part, ex.Call | ex.Cast | ex.Like | ex.RLike) for part in walk(node))


def reads_text(node: ex.Expression) -> bool:
    """Whether a condition reads a column of texts."""
    return any(isinstance(part, Now) and part.type.kind is Kind.STRING for part in walk(node))


def bounds_of(node: ex.Expression) -> Iterator[Bounds]:
    """A comparison of a column with a constant."""
    if isinstance(node, ex.In) and not node.negated and len(node.choices) == 1:
        node = ex.Compare("=", node.operand, node.choices[0])
    if isinstance(node, Now) and node.type.kind is Kind.BOOL and not is_constant(node.column):
        node = ex.Compare("=", node, ex.Literal(True, node.type))
    if not isinstance(node, ex.Compare) or not is_range(node.operator):
        return
    column, constant, operator = _column(node.left), _constant(node.right), node.operator
    if column is None or constant is None:
        column, constant, operator = _column(node.right), _constant(node.left), swap(operator)
    if column is None or constant is None:
        return
    key = _key(column, constant.type.kind, operator)
    if key is not None:
        yield Bounds(key, operator, constant)


def _key(column: Now, constant: Kind, operator: str) -> Key | None:
    kind = column.type.kind
    if constant is Kind.NULL and kind is not Kind.DECIMAL:  # whose values are no keys
        return Key(ComparisonForm.VALUE, column.column, kind)  # which is never so
    if kind is Kind.STRING and constant is Kind.STRING and operator == "=":
        return Key(ComparisonForm.TEXT, column.column, kind)
    if kind is Kind.BOOL and constant is Kind.BOOL and operator == "=":
        return Key(ComparisonForm.VALUE, column.column, kind)
    if kind in (Kind.INT, Kind.FLOAT) and constant in (Kind.INT, Kind.FLOAT):
        real = Kind.FLOAT in (kind, constant)
        return Key(ComparisonForm.REAL if real else ComparisonForm.VALUE, column.column, kind)
    return Key(ComparisonForm.VALUE, column.column, kind) if kind is constant and kind in _ORDERED else None


def is_constant(column: str) -> bool:
    """Whether it is a column of the rules."""
    return column.startswith("$")


def _column(node: ex.Expression) -> Now | None:
    return node if isinstance(node, Now) and not is_constant(node.column) else None


def _constant(node: ex.Expression) -> Constant | None:
    if isinstance(node, ex.Literal):
        return node
    if isinstance(node, ex.Minus) and isinstance(node.operand, ex.Literal):
        value = node.operand.value
        return ex.Literal(-value, node.operand.type) if isinstance(value, int | float) else None
    if isinstance(node, Now) and is_constant(node.column) and node.column != RULE:
        return RuleConstant(node.column, node.type)
    return None
