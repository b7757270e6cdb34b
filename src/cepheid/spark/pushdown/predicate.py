"""Predicates on one row, independent of whether Spark or pyarrow evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cepheid.pattern.expressions.comparisons import limits_above
from cepheid.pattern.expressions.types import Kind, Type
from cepheid.spark.pushdown.computed import Computed, Operand

Constant = bool | int | float | Decimal | str


class NotPushable(Exception):  # noqa: N818  a signal, not an error
    """Says why a condition has no predicate."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one row. Only leaves can be negated, so it does not matter whether one is NULL or FALSE."""


@dataclass(frozen=True, slots=True)
class CompareConstant(Predicate):
    """Compares a value with a constant of the same kind; a timestamp is an integer in the unit of the column."""

    tested: Operand
    operator: str
    value: Constant
    type: Type

    @property
    def admits_nan(self) -> bool:
        """Whether NaN satisfies it: to the engine NaN is greater than any other number."""
        return self.type.kind is Kind.FLOAT and not limits_above(self.operator)


@dataclass(frozen=True, slots=True)
class CompareColumns(Predicate):
    """Compares two values of the same kind."""

    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True, slots=True)
class OneOf(Predicate):
    """Tests whether a string or an integer is one of some values."""

    tested: Operand
    values: tuple[Constant, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class NullTest(Predicate):
    """Tests `x IS NULL`, or `x IS NOT NULL` if negated."""

    tested: Operand
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


def is_narrower(predicate: Predicate, other: Predicate) -> bool:
    """Tell whether a predicate is another one with further terms added."""
    terms = [set(p.operands) if isinstance(p, AllOf) else {p} for p in (predicate, other)]
    return terms[0] > terms[1]


def operands_of(leaf: Predicate) -> tuple[Operand, ...]:
    """Return what a predicate that is not a connective tests."""
    match leaf:
        case CompareConstant(tested=tested) | OneOf(tested=tested) | NullTest(tested=tested):
            return (tested,)
        case CompareColumns(left=left, right=right):
            return left, right
    raise TypeError(f"no operands of {type(leaf).__name__}")


def computed_in(where: Predicate) -> Iterator[Computed]:
    """Yield the values that a predicate computes."""
    if isinstance(where, AllOf | AnyOf):
        for operand in where.operands:
            yield from computed_in(operand)
    else:
        yield from (tested for tested in operands_of(where) if isinstance(tested, Computed))


def without_computed(where: Predicate) -> Predicate:
    """Return a wider predicate that tests columns only."""
    return _widened(where, lambda leaf: any(isinstance(tested, Computed) for tested in operands_of(leaf)))


def without_floats(where: Predicate) -> Predicate:
    """Return a wider predicate that does not test floating-point columns."""
    return _widened(where, lambda leaf: isinstance(leaf, CompareConstant) and leaf.type.kind is Kind.FLOAT)


def _widened(where: Predicate, left_out: Callable[[Predicate], bool]) -> Predicate:
    """Return a predicate in which some leaves are TRUE; no connective negates, so that it holds for more rows."""
    match where:
        case AllOf(operands=operands):
            return all_of([_widened(operand, left_out) for operand in operands])
        case AnyOf(operands=operands):
            return any_of([_widened(operand, left_out) for operand in operands])
    return TRUE if left_out(where) else where
