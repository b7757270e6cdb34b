"""Comparisons of times that are computed: what is added moves to the constant, so that Spark adds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import swap
from cepheid.pattern.expressions.types import INT, Kind, timestamp, zone_of
from cepheid.spark.pushdown.computed import Computed
from cepheid.spark.pushdown.constants import exact_value, why_computed
from cepheid.spark.pushdown.predicate import CompareConstant, NotPushable, Predicate
from cepheid.spark.pushdown.values import Values

_FIRST, _LAST = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9  # the years 1 and 10000


@dataclass(frozen=True, slots=True)
class _Sum:
    """Times that are added and subtracted, and nanoseconds."""

    added: tuple[ex.Expression, ...] = ()
    subtracted: tuple[ex.Expression, ...] = ()
    nanoseconds: int = 0

    def minus(self, other: _Sum) -> _Sum:
        return _Sum(self.added + other.subtracted, self.subtracted + other.added, self.nanoseconds - other.nanoseconds)


def compare_times(values: Values, operator: str, left: ex.Expression, right: ex.Expression) -> Predicate:
    """Translate a comparison of timestamps or durations."""
    total = _sum(values, left).minus(_sum(values, right))
    match total.added, total.subtracted:
        case (one,), ():
            return _with_constant(values, one, operator, -total.nanoseconds)
        case (), (one,):
            return _with_constant(values, one, swap(operator), total.nanoseconds)
        case (one,), (other,):
            first, second = values.micros(one), values.micros(other)
            text = f"{first.text} - {second.text}"
            difference = Computed(text, INT, lambda: first.column() - second.column(), (*first.doubts, *second.doubts))
            return CompareConstant(difference, operator, _micros(-total.nanoseconds), INT)
    raise NotPushable("it computes with more than two times")


def _with_constant(values: Values, time: ex.Expression, operator: str, nanoseconds: int) -> Predicate:
    type_ = values.type_of(time)
    if not isinstance(time, ex.Attribute | ex.Field | ex.Element):
        return CompareConstant(values.micros(time), operator, _micros(nanoseconds), INT)
    if not _FIRST <= nanoseconds < _LAST:
        raise NotPushable("the constant is not between the years 1 and 9999")
    literal = ex.Literal(nanoseconds, timestamp(zone_of(type_), "ns"))
    return CompareConstant(values.of(time), operator, exact_value(literal, type_), type_)


def _micros(nanoseconds: int) -> int:
    count, finer = divmod(nanoseconds, 1000)
    if finer or abs(count) >= 2**63:
        raise NotPushable("the constant is not a number of microseconds")
    return count


def _sum(values: Values, node: ex.Expression) -> _Sum:
    match node:
        case ex.Literal(value=int(nanoseconds)):
            return _Sum(nanoseconds=nanoseconds)
        case ex.Arithmetic(operator="+", left=left, right=right):
            return _sum(values, left).minus(_Sum().minus(_sum(values, right)))
        case ex.Arithmetic(operator="-", left=left, right=right):
            return _sum(values, left).minus(_sum(values, right))
        case ex.Minus(operand=operand):
            return _Sum().minus(_sum(values, operand))
    if values.type_of(node).kind is not Kind.TIMESTAMP:
        raise NotPushable(why_computed(node))
    return _Sum((node,))
