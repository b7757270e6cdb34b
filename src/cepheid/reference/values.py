"""S3 and S3a: three-valued logic, comparisons and arithmetic as in Spark SQL with ANSI off. None is NULL."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from cepheid.errors import EvaluationError

Value = Any
_DECIMALS = Context(prec=120)
_DECIMAL_DIGITS = 38


def wrap(number: int) -> int:
    """Integers wrap at 64 bits.

    >>> wrap(2**63) == -(2**63)
    True
    """
    return (number + 2**63) % 2**64 - 2**63


def _fit(number: Decimal) -> Decimal | None:
    """A decimal of more than 38 digits is NULL."""
    fits = len(number.as_tuple().digits) <= _DECIMAL_DIGITS and number.adjusted() < _DECIMAL_DIGITS
    return number if fits else None


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def numbers(left: Value, right: Value) -> tuple[Value, Value]:
    """Two numbers of one kind: floats win over decimals, decimals over integers."""
    if not _is_number(left) or not _is_number(right):
        raise _mismatch(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return Decimal(left), Decimal(right)
    return left, right


def _mismatch(left: Value, right: Value) -> EvaluationError:
    return EvaluationError(
        "CEP503",
        f"{left!r} and {right!r} can't be computed with or compared",
        "let the user function return one kind of value",
    )


def add(left: Value, right: Value) -> Value:
    """`+`."""
    return _arithmetic(left, right, lambda x, y: x + y, _DECIMALS.add)


def subtract(left: Value, right: Value) -> Value:
    """`-`."""
    return _arithmetic(left, right, lambda x, y: x - y, _DECIMALS.subtract)


def multiply(left: Value, right: Value) -> Value:
    """`*`."""
    return _arithmetic(left, right, lambda x, y: x * y, _DECIMALS.multiply)


def _arithmetic(
    left: Value, right: Value, plain: Callable[[Value, Value], Value], exact: Callable[[Decimal, Decimal], Decimal]
) -> Value:
    if left is None or right is None:
        return None
    left, right = numbers(left, right)
    if isinstance(left, Decimal):
        return _fit(exact(left, right))
    result = plain(left, right)
    return wrap(result) if isinstance(result, int) else result


def divide(left: Value, right: Value) -> Value:
    """`/` gives a double, and NULL on zero."""
    if left is None or right is None:
        return None
    left, right = numbers(left, right)
    return float(left) / float(right) if right != 0 else None


def modulo(left: Value, right: Value) -> Value:
    """`%` takes the sign of the dividend, and is NULL on zero.

    >>> modulo(-7, 3), modulo(7, -3), modulo(7, 0)
    (-1, 1, None)
    """
    if left is None or right is None:
        return None
    left, right = numbers(left, right)
    if right == 0:
        return None
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    if isinstance(left, Decimal):
        return _DECIMALS.remainder(left, right)
    return left - right * (abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1))


ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
}


def _moved(move: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    return lambda left, right: None if left is None or right is None else move(left, right)


# Nanoseconds of a timestamp or a duration are no 64-bit integers: they do not wrap.
TIME_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": _moved(lambda left, right: left + right),
    "-": _moved(lambda left, right: left - right),
}


def negate(value: Value) -> Value:
    """Unary minus."""
    if value is None:
        return None
    if not _is_number(value):
        raise _mismatch(0, value)
    return wrap(-value) if isinstance(value, int) else -value


_PLAIN = (int, str, bool)  # types whose own order is that of S3a


def order(left: Value, right: Value) -> int:
    """-1, 0 or 1 for two values that are not NULL: NaN equals NaN and is the greatest number."""
    kind = type(left)
    if kind is type(right) and (kind in _PLAIN or (kind is float and left == left and right == right)):
        return int(left > right) - int(left < right)
    if _is_number(left) and _is_number(right):
        left, right = numbers(left, right)
        if isinstance(left, float) and (math.isnan(left) or math.isnan(right)):
            left, right = math.isnan(left), math.isnan(right)
    elif type(left) is not type(right):
        raise _mismatch(left, right)
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        raise _mismatch(left, right) from None


COMPARISONS: dict[str, Callable[[int], bool]] = {
    "=": lambda sign: sign == 0,
    "!=": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def compare(operator: str, left: Value, right: Value) -> bool | None:
    """A comparison; NULL if a side is NULL."""
    if left is None or right is None:
        return None
    return COMPARISONS[operator](order(left, right))


def equal(left: Value, right: Value) -> bool:
    """Equality that NULL never has: what `[attr]` asks."""
    return left is not None and right is not None and order(left, right) == 0


def conjunction(values: list[bool | None]) -> bool | None:
    """AND: FALSE wins over NULL, NULL over TRUE."""
    if False in values:
        return False
    return None if None in values else True


def disjunction(values: list[bool | None]) -> bool | None:
    """OR: TRUE wins over NULL, NULL over FALSE."""
    if True in values:
        return True
    return None if None in values else False


def negation(value: bool | None) -> bool | None:
    """NOT."""
    return None if value is None else not value


def sort_key(value: Value) -> tuple[Value, ...]:
    """A total order over the values of one column: NULL first, NaN last (S1)."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value, math.copysign(1, value))  # -0.0 and 0.0 are two contents
    if isinstance(value, dict):
        return (1, tuple(map(sort_key, value.values())))
    if isinstance(value, list | tuple):
        return (1, tuple(map(sort_key, value)))
    return (1, value)


def group_key(value: Value) -> Value:
    """A hashable stand-in that is equal where PARTITION BY groups: NULLs together, NaNs together."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN", None
    return value
