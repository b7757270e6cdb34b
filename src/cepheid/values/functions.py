"""The meaning of the built-in scalar functions and of the aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import cmp_to_key

from cepheid.pattern.expressions.regular import compile_regular
from cepheid.values.arithmetic import DECIMALS, add, wrap
from cepheid.values.calendar import PARTS
from cepheid.values.comparison import equal, order
from cepheid.values.keys import group_key
from cepheid.values.value import Value


def _rounded_to(value: Value, digits: int = 0) -> Value:
    """Half away from zero, as Spark's round; the kind of number stays."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    places = min(max(digits, -400), 400)
    quantum = Decimal(1).scaleb(-places)
    result = DECIMALS.create_decimal(0) if abs(exact) < quantum / 10 else _quantize(exact, quantum)
    if isinstance(value, int):
        return wrap(int(result)) if digits < 0 else value
    return float(result) if isinstance(value, float) else result


def _quantize(exact: Decimal, quantum: Decimal) -> Decimal:
    if exact.as_tuple().exponent >= quantum.as_tuple().exponent:  # type: ignore[operator]
        return exact
    return (exact / quantum).to_integral_value(ROUND_HALF_UP) * quantum


def _integral(value: Value, rounding: str) -> Value:
    if isinstance(value, float):
        if math.isnan(value):
            return 0  # as Java's conversion to a long, which also ends at its limits
        if math.isinf(value):
            return 2**63 - 1 if value > 0 else -(2**63)
        whole = math.floor(value) if rounding == ROUND_FLOOR else math.ceil(value)
        return max(-(2**63), min(2**63 - 1, whole))
    return value.to_integral_value(rounding) if isinstance(value, Decimal) else value


def _positive_only(function: Callable[[float], float], least: float) -> Callable[[Value], Value]:
    """ln(0) is NULL in Spark, sqrt(-1) is NaN."""

    def apply(value: Value) -> Value:
        number = float(value)
        if math.isnan(number):
            return math.nan
        if number < least or (number == 0 and least == 0 and function is not math.sqrt):
            return math.nan if function is math.sqrt else None
        return function(number)

    return apply


def _power(base: float, exponent: float) -> float:
    """As Java's pow, which is Spark's: it differs from Python's at 0 and at 1."""
    if base == 0 and exponent < 0:
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    return math.pow(base, exponent)


def _overflowing(function: Callable[..., float]) -> Callable[..., Value]:
    def apply(*numbers: Value) -> Value:
        try:
            return function(*map(float, numbers))
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return apply


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Positions count from 1, negative ones from the end, 0 is 1 (Spark)."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + max(length, 0)
    return text[max(begin, 0) : max(end, 0)]


def _extreme(sign: int) -> Callable[..., Value]:
    """`least` and `greatest` skip NULLs."""

    def apply(*arguments: Value) -> Value:
        best = None
        for value in arguments:
            if value is not None and (best is None or order(value, best) * sign > 0):
                best = value
        return best

    return apply


def _coalesce(*arguments: Value) -> Value:
    return next((value for value in arguments if value is not None), None)


def _nullif(value: Value, other: Value) -> Value:
    return None if equal(value, other) else value


def like(text: str, pattern: str) -> bool:
    """LIKE: % is any text, _ one character, a backslash takes the next character as it is.

    >>> like("abc", "a%"), like("abc", "_b_"), like("abc", "a\\\\%"), like("a%", "a\\\\%")
    (True, True, False, True)
    """
    pieces: list[list[str | None]] = [[]]  # between the %; None is one character
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            pieces.append([])
        else:
            pieces[-1].append(None if character == "_" else next(characters, "\\") if character == "\\" else character)
    first, *middle = pieces
    if not middle:
        return len(text) == len(first) and _fits(text, 0, first)
    last = middle.pop()
    at, end = len(first), len(text) - len(last)
    if end < at or not _fits(text, 0, first) or not _fits(text, end, last):
        return False
    for piece in middle:  # the leftmost fit leaves most for the rest, so that nothing is tried twice
        at = next((k for k in range(at, end - len(piece) + 1) if _fits(text, k, piece)), -1) + len(piece)
        if at < len(piece):
            return False
    return True


def _fits(text: str, at: int, piece: Sequence[str | None]) -> bool:
    return all(wanted is None or text[at + k] == wanted for k, wanted in enumerate(piece))


def rlike(text: str, pattern: str) -> bool:
    """Whether a regular expression is found somewhere in a text.

    >>> rlike("abc", "b"), rlike("abc", "^b")
    (True, False)
    """
    return compile_regular(pattern).search(text) is not None


# Functions that see NULL; all others are NULL when an argument is.
NULLABLE: dict[str, Callable[..., Value]] = {
    "coalesce": _coalesce,
    "nullif": _nullif,
    "least": _extreme(-1),
    "greatest": _extreme(1),
}

SCALAR: dict[str, Callable[..., Value]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "reverse": lambda text: text[::-1],
    "length": len,
    "substring": _substring,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "concat": lambda *parts: "".join(parts),
    "contains": lambda text, part: part in text,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "instr": lambda text, part: text.find(part) + 1,
    "abs": lambda number: wrap(abs(number)) if isinstance(number, int) else abs(number),
    "sign": lambda number: math.nan if number != number else float((number > 0) - (number < 0)),
    "floor": lambda number: _integral(number, ROUND_FLOOR),
    "ceil": lambda number: _integral(number, ROUND_CEILING),
    "round": _rounded_to,
    "power": _overflowing(_power),
    "sqrt": _positive_only(math.sqrt, 0.0),
    "exp": _overflowing(math.exp),
    "ln": _positive_only(math.log, 0.0),
    "log10": _positive_only(math.log10, 0.0),
}

# Functions of a moment: they get the time that the clock on the wall shows, in nanoseconds.
CALENDAR: Mapping[str, Callable[[int], Value]] = PARTS

# Functions of a unit and a moment.
TRUNCATED = frozenset({"date_trunc", "trunc"})
FIELDS_OF = frozenset({"date_part", "datepart"})


def _sum(items: Sequence[Value]) -> Value:
    total = None
    for item in items:
        total = item if total is None else add(total, item)
    return total


def _average(items: Sequence[Value]) -> Value:
    """A double, also of integers and decimals (S3a: `/` returns a double)."""
    total = 0.0
    for item in items:
        total += float(item)
    return total / len(items) if items else None


def _deviation(items: Sequence[Value]) -> Value:
    """Of a sample, by running mean and sum of squares (Welford), so that every engine rounds alike."""
    count, mean, squares = 0, 0.0, 0.0
    for item in items:
        count += 1
        delta = float(item) - mean
        mean += delta / count
        squares += delta * (float(item) - mean)
    return math.sqrt(squares / (count - 1)) if count > 1 else None


def percentile(share: float) -> Callable[[Sequence[Value]], Value]:
    """The value at a share of the sorted values, interpolated between two of them as Spark does.

    >>> percentile(0.5)([4, 1, 2]), percentile(0.25)([1, 2])
    (2.0, 1.25)
    """

    def apply(items: Sequence[Value]) -> Value:
        if not items:
            return None
        numbers = sorted(items, key=cmp_to_key(order))
        position = share * (len(numbers) - 1)
        low, high = math.floor(position), math.ceil(position)
        below, above = float(numbers[low]), float(numbers[high])
        if low == high or order(below, above) == 0:
            return below
        return (high - position) * below + (position - low) * above

    return apply


def distinct(items: Sequence[Value]) -> list[Value]:
    """Each value once, where it comes first; NaN equals NaN.

    >>> distinct([2, 1, 2, 1.0])
    [2, 1]
    """
    first: dict[Value, Value] = {}
    for item in items:
        first.setdefault(group_key(item), item)
    return list(first.values())


# Aggregates get the values that are not NULL, in order.
AGGREGATES: dict[str, Callable[[Sequence[Value]], Value]] = {
    "count": len,
    "sum": _sum,
    "avg": _average,
    "min": lambda items: _extreme(-1)(*items),
    "max": lambda items: _extreme(1)(*items),
    "first": lambda items: items[0] if items else None,
    "last": lambda items: items[-1] if items else None,
    "stddev": _deviation,
    "median": percentile(0.5),
    "percentile": percentile(0.5),
    "collect": list,
}
