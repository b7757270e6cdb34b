"""CAST as in Spark SQL with ANSI off: what can't be read is NULL, what is too large wraps or ends at the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal

import pyarrow as pa

from cepheid.errors import EvaluationError
from cepheid.pattern.expressions.casts import can_cast
from cepheid.pattern.expressions.types import BOOL, FLOAT, INT, STRING, Kind, Type, decimal, plain, scale_of, zone_of
from cepheid.values.arithmetic import DECIMALS
from cepheid.values.calendar import DAY, SECOND, from_zone, in_zone
from cepheid.values.read_text import read_boolean, read_date, read_decimal, read_double, read_integer, read_moment
from cepheid.values.value import Value
from cepheid.values.write_text import write_date, write_double, write_float, write_moment

Cast = Callable[[Value], Value]
_MOST = 2**63 - 1


def caster(source: Type, target: Type) -> Cast:
    """What turns a value of a type into one of another; the value is not NULL."""
    if source.kind is Kind.ANY:
        return lambda value: _by_value(value, target)
    if source.kind is Kind.NULL:
        return lambda value: None
    return _MAKERS[target.kind](source, target)


def _by_value(value: Value, target: Type) -> Value:
    """What a user function returned has no type before it is there."""
    source = {bool: BOOL, int: INT, float: FLOAT, str: STRING}.get(type(value))
    if isinstance(value, Decimal):
        source = decimal(min(38, max(0, -int(value.as_tuple().exponent))))
    if source is not None and can_cast(source.kind, target.kind):
        return caster(source, target)(value)
    raise EvaluationError(
        "CEP503", f"{value!r} can't be cast", "let the user function return a number, a string or a boolean"
    )


# Numbers.


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _limited(value: float, bits: int) -> int:
    """As Java makes an integer of a double: towards zero, NaN is 0, and it ends at the limits."""
    if math.isnan(value):
        return 0
    most = (1 << (bits - 1)) - 1
    if math.isinf(value):
        return most if value > 0 else -most - 1
    return max(-most - 1, min(most, int(value)))


def _to_integer(source: Type, target: Type) -> Cast:
    bits = plain(target).bit_width
    match source.kind:
        case Kind.STRING:
            return lambda text: read_integer(text, bits)
        case Kind.FLOAT:
            # There is no conversion from a double to fewer than 32 bits: it goes over 32.
            return lambda value: _wrapped(_limited(value, max(bits, 32)), bits)
        case Kind.TIMESTAMP:
            return lambda value: second if _wrapped(second := value // SECOND, bits) == second else None
    return lambda value: _wrapped(int(value), bits)


def to_single(exact: float, compare: Callable[[float], int]) -> float:
    """The 32-bit number nearest to what a double stands for; `compare` says on which side of a double that lies."""
    nearest = _single(exact)
    if not math.isfinite(exact) or compare(exact) == 0 or nearest == exact:
        return nearest
    # Rounded twice, a number beside the middle between two others may end on the wrong side.
    beside = math.nextafter(exact, math.inf if compare(exact) > 0 else -math.inf)
    other = _single(beside)
    halfway = math.isinf(nearest) or abs(exact - nearest) == abs(exact - other)
    return other if other != nearest and halfway else nearest


def _single(value: float) -> float:
    if math.isnan(value) or math.isinf(value):
        return value
    single: float = pa.scalar(value, pa.float64()).cast(pa.float32()).as_py()
    return single


def _side(value: int | Decimal) -> Callable[[float], int]:
    exact = Decimal(value)
    return lambda double: (exact > Decimal(double)) - (exact < Decimal(double))


def _to_double(source: Type, target: Type) -> Cast:
    single = plain(target) == pa.float32()
    match source.kind:
        case Kind.STRING if single:
            return lambda text: read_double(text, lambda value, digits: to_single(value, _side(Decimal(digits))))
        case Kind.STRING:
            return read_double
        case Kind.FLOAT:
            return _single if single else lambda value: value
        case Kind.TIMESTAMP:
            return (lambda value: _single(_in_seconds(value))) if single else _in_seconds
    return (lambda value: to_single(_double(value), _side(value))) if single else _double


def _double(value: Value) -> float:
    return float(value)


def _in_seconds(nanoseconds: int) -> float:
    """Spark counts microseconds; a finer time keeps what it has."""
    return nanoseconds // 1000 / 1e6 if nanoseconds % 1000 == 0 else nanoseconds / 1e9


def _to_decimal(source: Type, target: Type) -> Cast:
    arrow = plain(target)
    limit, quantum = Decimal(10) ** (arrow.precision - arrow.scale), Decimal(1).scaleb(-arrow.scale)

    def fit(exact: Decimal | None) -> Decimal | None:
        if exact is None or abs(exact) >= limit:
            return None
        rounded = exact.quantize(quantum, ROUND_HALF_UP, DECIMALS) if exact else Decimal(0).quantize(quantum)
        return None if abs(rounded) >= limit else rounded

    match source.kind:
        case Kind.STRING:
            return lambda text: fit(read_decimal(text))
        case Kind.FLOAT:
            return lambda value: fit(Decimal(repr(value)) if math.isfinite(value) else None)
        case Kind.TIMESTAMP:
            return lambda value: fit(Decimal(repr(_in_seconds(value))))
    return lambda value: fit(Decimal(value))


def _to_boolean(source: Type, target: Type) -> Cast:
    return read_boolean if source.kind is Kind.STRING else lambda value: value != 0


# Times and texts.


def _to_moment(source: Type, target: Type) -> Cast:
    zone = zone_of(target)
    match source.kind:
        case Kind.STRING:
            return lambda text: read_moment(text, zone)
        case Kind.DATE:
            return lambda day: from_zone(day * DAY, zone)
        case Kind.TIMESTAMP:
            known_zone = zone_of(source)
            if (known_zone is None) == (zone is None):
                return lambda value: value
            # What has no zone is what the clock on the wall shows.
            if zone is None:
                return lambda value: in_zone(value, known_zone)
            return lambda value: from_zone(value, zone)
        case Kind.FLOAT:
            return lambda value: None if not math.isfinite(value) else _limited(value * 1e6, 64) * 1000
        case Kind.DECIMAL:
            return lambda value: _wrapped(int(DECIMALS.multiply(value, 10**6)), 64) * 1000
        case Kind.BOOL:
            return lambda value: int(value) * 1000
    return lambda value: max(-_MOST - 1, min(_MOST, value * 10**6)) * 1000


def _to_date(source: Type, target: Type) -> Cast:
    zone = zone_of(source)
    match source.kind:
        case Kind.STRING:
            return read_date
        case Kind.TIMESTAMP:
            return lambda value: in_zone(value, zone) // DAY
    return lambda value: value


def _to_text(source: Type, target: Type) -> Cast:
    zone = zone_of(source)
    match source.kind:
        case Kind.BOOL:
            return lambda value: "true" if value else "false"
        case Kind.FLOAT:
            return write_float if plain(source) == pa.float32() else write_double
        case Kind.DECIMAL:
            quantum = Decimal(1).scaleb(-scale_of(source))
            return lambda value: str(value.quantize(quantum, ROUND_HALF_UP, DECIMALS))
        case Kind.DATE:
            return write_date
        case Kind.TIMESTAMP:
            return lambda value: write_moment(in_zone(value, zone))
    return str


_MAKERS: Mapping[Kind, Callable[[Type, Type], Cast]] = {
    Kind.BOOL: _to_boolean,
    Kind.INT: _to_integer,
    Kind.FLOAT: _to_double,
    Kind.DECIMAL: _to_decimal,
    Kind.STRING: _to_text,
    Kind.DATE: _to_date,
    Kind.TIMESTAMP: _to_moment,
}
