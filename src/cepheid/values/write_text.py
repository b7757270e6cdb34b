"""Values as text, as Spark's CAST to STRING writes them."""

from __future__ import annotations

import math

import numpy as np

from cepheid.values.calendar import DAY, SECOND, civil


def write_double(value: float) -> str:
    """A double in the fewest digits that no other double has, as Java writes it.

    >>> write_double(1.0), write_double(1e7), write_double(0.00012), write_double(-0.0)
    ('1.0', '1.0E7', '1.2E-4', '-0.0')
    """
    return _write(value, np.format_float_scientific(value, trim="0"))


def write_float(value: float) -> str:
    """The same of 32 bits.

    >>> write_float(0.10000000149011612)
    '0.1'
    """
    return _write(value, np.format_float_scientific(np.float32(value), trim="0"))


def _write(value: float, scientific: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if len(scientific.lstrip("-").split("e")[0].replace(".", "").rstrip("0")) == 1:
        scientific = f"{value:.1e}"  # of two digits at least, the nearest ones: 4.9E-324
    digits, exponent = scientific.split("e")
    power = int(exponent)
    if value != 0 and not 1e-3 <= abs(value) < 1e7:
        return f"{digits}E{power}"
    sign, body = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    all_digits = body.replace(".", "")
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{all_digits.rstrip('0') or '0'}"
    whole, rest = all_digits[: power + 1].ljust(power + 1, "0"), all_digits[power + 1 :].rstrip("0")
    return f"{sign}{whole}.{rest or '0'}"


def write_date(day: int) -> str:
    """`2024-02-29`; a year of more than four digits has a sign.

    >>> write_date(0), write_date(10_000_000)
    ('1970-01-01', '+29349-01-26')
    """
    year, month, number = civil(day)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{number:02}"


def write_moment(local: int) -> str:
    """`2024-02-29 13:45:10.25`: a fraction without zeros at its end."""
    day, rest = divmod(local, DAY)
    second, fraction = divmod(rest, SECOND)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    fine = f".{fraction:09}".rstrip("0") if fraction else ""
    return f"{write_date(day)} {clock}{fine}"
