"""The comparison operators: swapped, negated, and as intervals.

Each is defined by the signs of `order(left, right)` for which it is TRUE; the rest follows from these.

>>> swap("<="), negate("<=")
('>=', '>')
>>> implies(">", ">=", 0), excludes("<", "=", 0)  # x > 5 implies x >= 5; x < 5 and x = 5 exclude each other
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

SIGNS: Mapping[str, frozenset[int]] = {
    "=": frozenset({0}),
    "!=": frozenset({-1, 1}),
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    ">": frozenset({1}),
    ">=": frozenset({0, 1}),
}
_OPERATORS = {signs: operator for operator, signs in SIGNS.items()}
_SWAPPED = {operator: _OPERATORS[frozenset(-sign for sign in signs)] for operator, signs in SIGNS.items()}
_NEGATED = {operator: _OPERATORS[frozenset({-1, 0, 1}) - signs] for operator, signs in SIGNS.items()}


def swap(operator: str) -> str:
    """The operator with its sides exchanged: `a < b` is `b > a`."""
    return _SWAPPED[operator]


def negate(operator: str) -> str:
    """The operator that is FALSE where this one is TRUE; with NULL both are NULL."""
    return _NEGATED[operator]


def is_range(operator: str) -> bool:
    """Whether the values that satisfy `x operator c` are an interval: all but `!=`."""
    return operator != "!="


def limits_above(operator: str) -> bool:
    """Whether no x greater than c satisfies `x operator c`."""
    return 1 not in SIGNS[operator]


def limits_below(operator: str) -> bool:
    """Whether no x less than c satisfies `x operator c`."""
    return -1 not in SIGNS[operator]


def includes_equal(operator: str) -> bool:
    """Whether equal values satisfy it."""
    return 0 in SIGNS[operator]


def implies(operator: str, other: str, sign: int) -> bool:
    """Whether every x with `x operator c` has `x other d`. sign: that of `order(c, d)`."""
    return all(second in SIGNS[other] for first, second in _places(sign) if first in SIGNS[operator])


def excludes(operator: str, other: str, sign: int) -> bool:
    """Whether no x has both `x operator c` and `x other d`. sign: that of `order(c, d)`."""
    return not any(first in SIGNS[operator] and second in SIGNS[other] for first, second in _places(sign))


def _places(sign: int) -> Iterator[tuple[int, int]]:
    """Where an x may be beside c and d: left of both, on one, between them, right of both."""
    if sign == 0:
        yield from ((-1, -1), (0, 0), (1, 1))
    else:
        yield from ((-1, -1), (0, sign), (-sign, sign), (-sign, 0), (1, 1))
