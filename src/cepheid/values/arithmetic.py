"""S3a: arithmetic as in Spark SQL with ANSI off."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal

from cepheid.values.value import Value, is_number, mismatch, numbers

DECIMALS = Context(prec=120)
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


def add(left: Value, right: Value) -> Value:
    """`+`."""
    return _arithmetic(left, right, lambda x, y: x + y, DECIMALS.add)


def subtract(left: Value, right: Value) -> Value:
    """`-`."""
    return _arithmetic(left, right, lambda x, y: x - y, DECIMALS.subtract)


def multiply(left: Value, right: Value) -> Value:
    """`*`."""
    return _arithmetic(left, right, lambda x, y: x * y, DECIMALS.multiply)


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
    """`/` returns a double, and NULL on zero."""
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
        return DECIMALS.remainder(left, right)
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
    if not is_number(value):
        raise mismatch(0, value)
    return wrap(-value) if isinstance(value, int) else -value
