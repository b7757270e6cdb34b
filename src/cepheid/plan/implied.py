"""Whether a condition on an event is TRUE for all events that an arc may take: simple, and never wrongly.

`Floor = 3 AND Temp > 95` implies `Floor <= 3`: comparisons of a value with constants. Or a condition is there itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.pattern.expressions import comparisons
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import NUMERIC, STRING, Kind
from cepheid.plan.taken import E, TakenEvents
from cepheid.values.comparison import order

_EXACT = 2**53
"""Whole numbers beyond it may be rounded where they are compared with others that are not."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """`value operator constant`, or `value IN (constants)` where the operator is "in"."""

    value: ex.Expression
    operator: str
    constants: tuple[ex.Literal, ...]


def implies(taken: TakenEvents, condition: ex.Expression, type_column: str | None) -> bool:
    """Whether a condition on `e` is TRUE for every event that an arc may take. type_column: that of the types."""
    facts = [fact for known in taken.conditions for fact in _facts(known)]
    if taken.types is not None and type_column is not None:
        names = tuple(ex.Literal(name, STRING) for name in sorted(taken.types))
        facts.append(_Fact(ex.Attribute(E, ex.Index.ONE, type_column), "in", names))
    if any(fact.operator == "in" and not fact.constants for fact in facts):
        return True  # it takes no event
    return _follows(condition, taken.conditions, facts)


def _follows(condition: ex.Expression, known: Sequence[ex.Expression], facts: Sequence[_Fact]) -> bool:
    if condition in known:
        return True
    match condition:
        case ex.Literal(value=True):
            return True
        case ex.And(operands=operands):
            return all(_follows(part, known, facts) for part in operands)
        case ex.Or(operands=operands):
            return any(_follows(part, known, facts) for part in operands)
        case ex.IsNull(operand=operand, negated=True):
            return any(fact.value == operand for fact in facts)
    wanted = list(_facts(condition))
    return bool(wanted) and all(any(_within(fact, part) for fact in facts) for part in wanted)


def _facts(condition: ex.Expression) -> Iterator[_Fact]:
    """A condition as comparisons of one value with constants, which hold together; none if it is no such one."""
    match condition:
        case ex.Compare(operator, value, ex.Literal() as constant) if _is_usable(constant):
            yield _Fact(value, operator, (constant,))
        case ex.Compare(operator, ex.Literal() as constant, value) if _is_usable(constant):
            yield _Fact(value, comparisons.swap(operator), (constant,))
        case ex.Between(value, ex.Literal() as low, ex.Literal() as high, False) if _is_usable(low, high):
            yield _Fact(value, ">=", (low,))
            yield _Fact(value, "<=", (high,))
        case ex.In(value, choices, False) if choices and all(
            isinstance(choice, ex.Literal) and _is_usable(choice) for choice in choices
        ):
            yield _Fact(value, "in", tuple(choice for choice in choices if isinstance(choice, ex.Literal)))


def _is_usable(*constants: ex.Literal) -> bool:
    return all(constant.value is not None for constant in constants)


def _within(fact: _Fact, wanted: _Fact) -> bool:
    """Whether all values that a fact allows are such as are wanted."""
    if fact.value != wanted.value:
        return False
    if fact.operator in ("in", "="):
        return all(_is_wanted(constant, wanted) for constant in fact.constants)
    if wanted.operator == "in":
        return False
    sign = _order(fact.constants[0], wanted.constants[0])
    return fact == wanted or (sign is not None and comparisons.implies(fact.operator, wanted.operator, sign))


def _is_wanted(constant: ex.Literal, wanted: _Fact) -> bool:
    signs = [_order(constant, choice) for choice in wanted.constants]
    if wanted.operator == "in":
        return any(sign == 0 for sign in signs)
    return signs[0] in comparisons.SIGNS[wanted.operator]


def _order(constant: ex.Literal, other: ex.Literal) -> int | None:
    """-1, 0 or 1; None where the two may be compared with a value in different ways."""
    left, right = constant.value, other.value
    if type(left) is not type(right) or constant.type.kind is not other.type.kind:
        if {constant.type.kind, other.type.kind} != {Kind.INT, Kind.FLOAT} or not {constant.type.kind} <= NUMERIC:
            return None
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            return None
        if not (abs(left) < _EXACT and abs(right) < _EXACT):
            return None
    return order(left, right)
