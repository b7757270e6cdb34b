"""The order of two constants, where it is the same for every column that they may be compared with."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from decimal import Decimal

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.timestamps import read_timestamp
from cepheid.pattern.expressions.types import NUMERIC, zone_of

_EXACT = 2**53 - 1  # whole numbers up to this are floats that no other number is


def order(constant: ex.Literal, other: ex.Literal) -> int | None:
    """-1, 0 or 1; None if the two cannot be compared here."""
    left, right = constant.value, other.value
    if left is None or right is None or left != left or right != right:
        return None
    if isinstance(left, str) and isinstance(right, str):
        return _order_of_texts(left, right)
    if {constant.type.kind, other.type.kind} <= NUMERIC:
        return _order_of_numbers(left, right)
    # One without a zone is read in that of its column, which is not known here.
    alike = constant.type.kind is other.type.kind and zone_of(constant.type) == zone_of(other.type)
    return _sign(left, right) if alike and type(left) is type(right) else None


def order_of_all(constant: ex.Literal, other: ex.Literal) -> int | None:
    """The same of constants that are maybe compared with different columns: texts must be alike for that."""
    texts = [literal.value for literal in (constant, other) if isinstance(literal.value, str)]
    if len(texts) == 2 and _readings(texts[0]).keys() != _readings(texts[1]).keys():
        return None
    return order(constant, other)


def _order_of_numbers(left: object, right: object) -> int | None:
    if type(left) is type(right):
        return _sign(left, right)
    if max(abs(left), abs(right)) > _EXACT:  # type: ignore[arg-type]
        return None  # as floats, different ones may be equal
    return _sign(float(left), float(right))  # type: ignore[arg-type]


def _order_of_texts(left: str, right: str) -> int | None:
    """Texts are read as what their column has; if it matters what that is, they have no order here."""
    readings, other = _readings(left), _readings(right)
    signs = {_sign(readings[name], other[name]) for name in readings if name in other}
    return signs.pop() if len(signs) == 1 else None


def _readings(text: str) -> dict[str, object]:
    """What a text may stand for."""
    readings: dict[str, object] = {"text": text}
    for read in (Decimal, date.fromisoformat, _read_moment):
        with suppress(ValueError, ArithmeticError):
            readings[read.__name__] = read(text)
    return readings


def _read_moment(text: str) -> object:
    """Nanoseconds; with a zone, what can't be compared with one without."""
    moment, zoned = read_timestamp(text)
    return (moment,) if zoned else moment


def _sign(left: object, right: object) -> int | None:
    try:
        return int(left > right) - int(left < right)  # type: ignore[operator]
    except (TypeError, ArithmeticError):  # a decimal that is no number
        return None
