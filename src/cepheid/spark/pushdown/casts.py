"""CAST in Spark, whatever spark.sql.ansi.enabled says.

Ours is Spark's with ANSI off, which has no expression of its own where ANSI is on. `try_cast` has one meaning: NULL for
what can't be read or does not fit. So it is used where that is ours too, and what differs is sent or left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import functions as F

from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.spark.pushdown.computed import Computed, Doubt
from cepheid.spark.pushdown.predicate import NotPushable
from cepheid.spark.pushdown.regular import outside_ascii

_BOTH_NULL = frozenset(
    {
        *((Kind.STRING, kind) for kind in (Kind.STRING, Kind.BOOL, Kind.FLOAT, Kind.DATE, Kind.DECIMAL)),
        *((Kind.INT, kind) for kind in (Kind.STRING, Kind.BOOL, Kind.FLOAT, Kind.DECIMAL)),
        *((Kind.BOOL, kind) for kind in (Kind.STRING, Kind.BOOL, Kind.FLOAT, Kind.DECIMAL, Kind.INT)),
        *((Kind.DECIMAL, kind) for kind in (Kind.BOOL, Kind.FLOAT, Kind.DECIMAL)),
        *((Kind.FLOAT, kind) for kind in (Kind.BOOL, Kind.FLOAT)),
        *((Kind.DATE, kind) for kind in (Kind.DATE, Kind.STRING)),
    }
)
"""Casts of which `try_cast` is NULL where ours is."""

_DIGITS = "Java 17 writes some numbers in more digits than they need"
OF_TIME_ZONES = "a time in a text, or as a number, depends on the time zone"
_REFUSED: Mapping[tuple[Kind, Kind], str] = {
    (Kind.FLOAT, Kind.STRING): _DIGITS,
    (Kind.FLOAT, Kind.DECIMAL): _DIGITS,
    (Kind.DECIMAL, Kind.STRING): "how Spark writes a decimal depends on spark.sql.ansi.enabled",
}

_YEARS = -719_162, 2_932_896  # the first day of the year 1, and the last of 9999
_FAR_YEAR = r"\A[\x00-\x20\x7f]*[+-]?[0-9]{7}"


def cast(of: Computed, target: Type, name: str, text: str) -> Computed:
    """A value cast to a type, by its name in SQL; neither is a timestamp."""
    kinds = of.type.kind, target.kind
    if kinds == (Kind.STRING, Kind.INT):
        # With ANSI, Spark reads no fraction, where ours cuts it off. A replacement would cost more than the rows.
        fraction = Doubt("a text with a decimal point", lambda: F.contains(of.column(), F.lit(".")))
        return Computed(text, target, lambda: of.column().try_cast(name), (*of.doubts, fraction))
    if kinds in _BOTH_NULL or (kinds == (Kind.INT, Kind.INT) and _is_wider(target, of.type)):
        return Computed(text, target, lambda: of.column().try_cast(name), (*of.doubts, *_doubts(of, target)))
    if target.kind is Kind.INT and of.type.kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
        # What does not fit is NULL here; ours wraps, or ends at the limit.
        too_large = Doubt(
            f"a number that does not fit into {name}",
            lambda: of.column().isNotNull() & of.column().try_cast(name).isNull(),
        )
        return Computed(text, target, lambda: of.column().try_cast(name), (*of.doubts, too_large))
    raise NotPushable(_REFUSED.get(kinds, OF_TIME_ZONES))


def _is_wider(target: Type, other: Type) -> bool:
    return bool(plain(target).bit_width >= plain(other).bit_width)


def _doubts(of: Computed, target: Type) -> tuple[Doubt, ...]:
    match of.type.kind, target.kind:
        case Kind.STRING, Kind.DECIMAL:
            return (outside_ascii(of),)  # digits of other scripts: Java and Python do not know the same ones
        case Kind.STRING, Kind.DATE:
            return (Doubt("a year of seven digits", lambda: of.column().rlike(_FAR_YEAR)),)  # Spark's dates end there
        case Kind.DATE, Kind.STRING:
            return (
                Doubt("a date before the year 1 or after 9999", lambda: ~F.unix_date(of.column()).between(*_YEARS)),
            )
    return ()
