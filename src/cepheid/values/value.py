"""A value as Python has it: None is NULL, a date is days, a timestamp or a duration nanoseconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cepheid.errors import EvaluationError

Value = Any


def is_number(value: Value) -> bool:
    """Whether it can be computed with; true and false can't."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def numbers(left: Value, right: Value) -> tuple[Value, Value]:
    """Two numbers of one kind: floats win over decimals, decimals over integers."""
    if not is_number(left) or not is_number(right):
        raise mismatch(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return Decimal(left), Decimal(right)
    return left, right


def mismatch(left: Value, right: Value) -> EvaluationError:
    """What is raised where two values are of no common kind: only a user function can return such."""
    return EvaluationError(
        "CEP503",
        f"{left!r} and {right!r} can't be computed with or compared",
        "let the user function return one kind of value",
    )
