"""Predicates on one row, independent of whether Spark or pyarrow evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from cepheid.pattern.types import Kind, Type

Constant = bool | int | float | Decimal | str


class NotPushable(Exception):  # noqa: N818  a signal, not an error
    """Says why a condition has no predicate."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one row. Only leaves can be negated, so it does not matter whether one is NULL or FALSE."""


@dataclass(frozen=True, slots=True)
class CompareConstant(Predicate):
    """Compares a column with a constant of the same kind; a timestamp is an integer in the unit of the column."""

    column: str
    operator: str
    value: Constant
    type: Type

    @property
    def admits_nan(self) -> bool:
        """Whether NaN satisfies it: to the engine NaN is greater than any other number."""
        return self.type.kind is Kind.FLOAT and self.operator in (">", ">=", "!=")


@dataclass(frozen=True, slots=True)
class CompareColumns(Predicate):
    """Compares two columns of the same kind."""

    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True)
class OneOf(Predicate):
    """Tests whether a column of strings or integers has one of some values."""

    column: str
    values: tuple[Constant, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    """Tests `x IS NULL`, or `x IS NOT NULL` if negated."""

    column: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AllOf(Predicate):
    """A conjunction; without operands it is TRUE."""

    operands: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf(Predicate):
    """A disjunction; without operands it is FALSE."""

    operands: tuple[Predicate, ...] = ()


TRUE, FALSE = AllOf(), AnyOf()


def all_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the conjunction in its shortest form: without nesting, duplicates or constants."""
    if FALSE in predicates:
        return FALSE
    flat = tuple(dict.fromkeys(q for p in predicates for q in (p.operands if isinstance(p, AllOf) else (p,))))
    return flat[0] if len(flat) == 1 else AllOf(flat)


def any_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the disjunction in its shortest form: without nesting, duplicates or constants."""
    if TRUE in predicates:
        return TRUE
    flat = tuple(dict.fromkeys(q for p in predicates for q in (p.operands if isinstance(p, AnyOf) else (p,))))
    return flat[0] if len(flat) == 1 else AnyOf(flat)


def is_narrower(one: Predicate, other: Predicate) -> bool:
    """Tell whether a predicate is another one with further terms added."""
    terms = [set(p.operands) if isinstance(p, AllOf) else {p} for p in (one, other)]
    return terms[0] > terms[1]


def without_floats(where: Predicate) -> Predicate:
    """Return a wider predicate that does not test floating-point columns."""
    match where:
        case AllOf(operands=operands):
            return all_of([without_floats(operand) for operand in operands])
        case AnyOf(operands=operands):
            return any_of([without_floats(operand) for operand in operands])
        case CompareConstant(type=type_) if type_.kind is Kind.FLOAT:
            return TRUE
    return where
