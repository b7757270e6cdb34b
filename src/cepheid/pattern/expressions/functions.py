"""The built-in scalar functions: names, argument kinds and result types. Meanings are in the engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.pattern.expressions.types import BOOL, DATE, FLOAT, INT, NUMERIC, STRING, Kind, Type, decimal

Accepts = frozenset[Kind]
_TEXT = frozenset({Kind.STRING})
_WHOLE = frozenset({Kind.INT})
_MOMENT = frozenset({Kind.DATE, Kind.TIMESTAMP})
_CLOCK = frozenset({Kind.TIMESTAMP})
SAME: Accepts = frozenset()  # all such arguments must unify, and the result may be their type


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature. The last parameter repeats where `variadic` is set; `least` arguments are required."""

    parameters: tuple[Accepts, ...]
    result: Type | Callable[[Sequence[Type]], Type] | None  # None: the unified type of the SAME arguments
    least: int
    variadic: bool = False


def _like_first(arguments: Sequence[Type]) -> Type:
    return arguments[0] if arguments[0].kind in (Kind.FLOAT, Kind.DECIMAL) else INT


def _rounded(arguments: Sequence[Type]) -> Type:
    return decimal(0) if arguments[0].kind is Kind.DECIMAL else INT


def _text(result: Type, *more: Accepts, least: int | None = None) -> Signature:
    return Signature((_TEXT, *more), result, least if least is not None else 1 + len(more))


def _like_second(arguments: Sequence[Type]) -> Type:
    return arguments[1]


_OF_A_DAY = (*("year", "quarter", "month", "day", "dayofmonth", "dayofyear", "dayofweek", "weekday", "weekofyear"),)
_ONE_NUMBER = ("sqrt", "exp", "ln", "log10")

BUILT_IN: dict[str, Signature] = {
    "upper": _text(STRING),
    "lower": _text(STRING),
    "trim": _text(STRING),
    "ltrim": _text(STRING),
    "rtrim": _text(STRING),
    "reverse": _text(STRING),
    "length": _text(INT),
    "substring": _text(STRING, _WHOLE, _WHOLE, least=2),
    "replace": _text(STRING, _TEXT, _TEXT),
    "concat": Signature((_TEXT,), STRING, 1, variadic=True),
    "contains": _text(BOOL, _TEXT),
    "startswith": _text(BOOL, _TEXT),
    "endswith": _text(BOOL, _TEXT),
    "instr": _text(INT, _TEXT),
    "abs": Signature((NUMERIC,), _like_first, 1),
    "sign": Signature((NUMERIC,), FLOAT, 1),
    "floor": Signature((NUMERIC,), _rounded, 1),
    "ceil": Signature((NUMERIC,), _rounded, 1),
    "round": Signature((NUMERIC, _WHOLE), _like_first, 1),
    "power": Signature((NUMERIC, NUMERIC), FLOAT, 2),
    **{name: Signature((NUMERIC,), FLOAT, 1) for name in _ONE_NUMBER},
    "coalesce": Signature((SAME,), None, 1, variadic=True),
    "nullif": Signature((SAME, SAME), None, 2),
    "least": Signature((SAME,), None, 2, variadic=True),
    "greatest": Signature((SAME,), None, 2, variadic=True),
    **{name: Signature((_MOMENT,), INT, 1) for name in _OF_A_DAY},
    **{name: Signature((_CLOCK,), INT, 1) for name in ("hour", "minute", "second")},
    **{name: Signature((_TEXT, _MOMENT), INT, 2) for name in ("date_part", "datepart")},
    "date_trunc": Signature((_TEXT, _CLOCK), _like_second, 2),
    "trunc": Signature((frozenset({Kind.DATE}), _TEXT), DATE, 2),
}

_PARTS = {
    "year": ("YEAR", "Y", "YEARS", "YR", "YRS"),
    "yearofweek": ("YEAROFWEEK",),
    "quarter": ("QUARTER", "QTR"),
    "month": ("MONTH", "MON", "MONS", "MONTHS"),
    "weekofyear": ("WEEK", "W", "WEEKS"),
    "day": ("DAY", "D", "DAYS"),
    "dayofweek": ("DAYOFWEEK", "DOW"),
    "dayofweek_iso": ("DAYOFWEEK_ISO", "DOW_ISO"),
    "dayofyear": ("DOY",),
    "hour": ("HOUR", "H", "HOURS", "HR", "HRS"),
    "minute": ("MINUTE", "M", "MIN", "MINS", "MINUTES"),
    "second": ("SECOND", "S", "SEC", "SECONDS", "SECS"),
}
_DAYS = {"YEAR": ("YYYY", "YY"), "QUARTER": (), "MONTH": ("MM", "MON"), "WEEK": ()}
_CLOCK_UNITS = {"DAY": ("DD",), "HOUR": (), "MINUTE": (), "SECOND": (), "MILLISECOND": (), "MICROSECOND": ()}
_DAY_UNITS = {word: unit for unit, others in _DAYS.items() for word in (unit, *others)}

PARTS = {words[0]: name for name, words in _PARTS.items()}
"""The fields of `extract` and `date_part`, and the functions that return them."""

UNITS_OF: dict[str, tuple[int, dict[str, str]]] = {
    "date_part": (0, {word: words[0] for words in _PARTS.values() for word in words}),
    "datepart": (0, {word: words[0] for words in _PARTS.values() for word in words}),
    "date_trunc": (
        0,
        {**_DAY_UNITS, **{word: unit for unit, others in _CLOCK_UNITS.items() for word in (unit, *others)}},
    ),
    "trunc": (1, _DAY_UNITS),
}
"""Functions with a unit of time: which argument it is, and what each word stands for."""
