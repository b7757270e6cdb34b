"""Makers of values: arithmetic, functions, aggregates, CASE."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.testing.strategies.literals import NULL
from cepheid.testing.strategies.sorts import MOMENTS, NUMBERS, Sort
from cepheid.testing.strategies.writer import ExpressionWriter


def minus(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """`-x`. The minus of a constant number is a part of the constant."""
    operand = writer.reading(sort)
    return operand if isinstance(operand, ex.Literal) else ex.Minus(operand)


def arithmetic(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """Numbers of the sort: at least one operand has it, and the other has none that would take precedence."""
    others = NUMBERS[: NUMBERS.index(sort) + 1] if sort is not Sort.DECIMAL else (Sort.INT, Sort.DECIMAL)
    left, right = writer.reading(sort), writer.value(writer.one_of(others))
    if writer.chance(2) and not isinstance(left, ex.Literal):
        left, right = right, left
    return ex.Arithmetic(writer.one_of("+-*%"), left, right)


def quotient(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """`/` returns a double, whatever the numbers (S3a)."""
    return ex.Arithmetic("/", writer.reading(writer.one_of(NUMBERS)), writer.value(writer.one_of(NUMBERS)))


def moved(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """A moment and a duration, or two durations."""
    known = writer.certain()
    return ex.Arithmetic(writer.one_of("+-"), known.reading(sort), known.value(Sort.DURATION))


def pause(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """The time between two moments."""
    moment = writer.one_of([m for m in MOMENTS if m in writer.scope.columns] or [Sort.LOCAL])
    known = writer.certain()
    return ex.Arithmetic("-", known.reading(moment), known.value(moment))


_TO_STRING: Mapping[str, tuple[Sort, ...]] = {
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "reverse"), (Sort.STRING,)),
    "substring": (Sort.STRING, Sort.INT, Sort.INT),
    "replace": (Sort.STRING, Sort.STRING, Sort.STRING),
    "concat": (Sort.STRING, Sort.STRING),
}
_TO_INT: Mapping[str, tuple[Sort, ...]] = {
    "length": (Sort.STRING,),
    "instr": (Sort.STRING, Sort.STRING),
    "abs": (Sort.INT,),
    "round": (Sort.INT, Sort.INT),
    "floor": (Sort.FLOAT,),
    "ceil": (Sort.FLOAT,),
    **dict.fromkeys(("year", "month", "day", "dayofmonth", "dayofweek"), (Sort.DATE,)),
    **dict.fromkeys(("quarter", "dayofyear", "weekday", "weekofyear", "hour", "minute", "second"), (Sort.LOCAL,)),
}
_TO_FLOAT: Mapping[str, tuple[Sort, ...]] = {
    "abs": (Sort.FLOAT,),
    "sign": (Sort.INT,),
    "round": (Sort.FLOAT, Sort.INT),
    "power": (Sort.FLOAT, Sort.INT),
    **dict.fromkeys(("sqrt", "exp", "ln", "log10"), (Sort.FLOAT,)),
}
_TO_DECIMAL: Mapping[str, tuple[Sort, ...]] = {
    **dict.fromkeys(("abs", "floor", "ceil"), (Sort.DECIMAL,)),
    "round": (Sort.DECIMAL, Sort.INT),
}
_TO_BOOL: Mapping[str, tuple[Sort, ...]] = dict.fromkeys(
    ("contains", "startswith", "endswith"), (Sort.STRING, Sort.STRING)
)
SIGNATURES = {
    Sort.STRING: _TO_STRING,
    Sort.INT: _TO_INT,
    Sort.FLOAT: _TO_FLOAT,
    Sort.DECIMAL: _TO_DECIMAL,
    Sort.BOOL: _TO_BOOL,
}
SAME = ("coalesce", "nullif", "least", "greatest")


def call(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """A built-in function that returns the sort."""
    name, takes = writer.one_of(list(SIGNATURES[sort].items()))
    if takes == (Sort.LOCAL,) and writer.chance(2):
        takes = (Sort.ZONED,)
    arguments = [writer.reading(takes[0]), *map(writer.value, takes[1:])]
    return ex.Call(name, tuple(arguments))


OF_UNITS: Mapping[str, tuple[Sort, tuple[Sort, ...], tuple[str, ...]]] = {
    "date_part": (Sort.INT, (Sort.DATE, *MOMENTS), ("year", "week", "DOW", "yearofweek", "dow_iso", "doy")),
    "datepart": (Sort.INT, MOMENTS, ("hour", "MIN")),
    "date_trunc": (Sort.LOCAL, (), ("year", "QUARTER", "week", "day", "hour", "minute", "second", "millisecond")),
    "trunc": (Sort.DATE, (Sort.DATE,), ("year", "mm", "week")),
}
"""Functions with a unit of time: their result, their arguments, and some units."""


def of_unit(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """A function of a unit of time and a moment."""
    returned = Sort.LOCAL if sort is Sort.ZONED else sort
    name = writer.one_of([name for name, (result, *_) in OF_UNITS.items() if result is returned])
    _, takes, units = OF_UNITS[name]
    unit, moment = literal(writer.one_of(units)), writer.certain().reading(writer.one_of(takes or (sort,)))
    return ex.Call(name, (moment, unit) if name == "trunc" else (unit, moment))


def fraction(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """`extract(SECOND FROM x)`: a decimal."""
    return ex.Call("date_part", (literal("SECOND"), writer.certain().reading(writer.one_of(MOMENTS))))


_NUMBERS_AND_TEXT = (*NUMBERS, Sort.STRING, Sort.BOOL)
CASTS: Mapping[Sort, tuple[tuple[str, ...], tuple[Sort, ...]]] = {
    Sort.INT: (("BIGINT", "INT", "SMALLINT", "TINYINT"), (*_NUMBERS_AND_TEXT, *MOMENTS)),
    Sort.FLOAT: (("DOUBLE", "FLOAT"), (*_NUMBERS_AND_TEXT, *MOMENTS)),
    Sort.DECIMAL: (("DECIMAL(7, 2)", "DECIMAL(20, 0)"), (*_NUMBERS_AND_TEXT, *MOMENTS)),
    Sort.STRING: (("STRING",), (*_NUMBERS_AND_TEXT, *MOMENTS, Sort.DATE)),
    Sort.BOOL: (("BOOLEAN",), (*_NUMBERS_AND_TEXT, *MOMENTS)),
    Sort.DATE: (("DATE",), (Sort.STRING, Sort.DATE, *MOMENTS)),
    Sort.LOCAL: (("TIMESTAMP_NTZ",), (Sort.STRING, Sort.DATE, *MOMENTS)),
    Sort.ZONED: (("TIMESTAMP_LTZ",), (Sort.STRING, Sort.DATE, *MOMENTS)),
}


def cast(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """CAST to a type of the sort."""
    names, takes = CASTS[sort]
    there = [taken for taken in takes if taken in writer.scope.columns] or list(takes)
    return ex.Cast(writer.certain().reading(writer.one_of(there)), writer.one_of(names))


def choice(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """coalesce and similar functions: arguments of one sort, and sometimes a NULL."""
    arguments = [writer.reading(sort), writer.value(sort)]
    if writer.chance(4):
        arguments[1] = NULL
    return ex.Call(writer.one_of(SAME), tuple(arguments))


def user_call(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """A function of the user."""
    return ex.Call("Same", (writer.reading(sort),)) if writer.scope.parameters else writer.leaf(sort)


def case(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """CASE, with and without a subject."""
    subject = writer.sort() if writer.chance(2) else None
    conditions = [writer.value(subject or Sort.BOOL) for _ in range(writer.one_of((1, 2)))]
    arms = [ex.When(condition, writer.value(sort)) for condition in conditions]
    otherwise = writer.one_of((None, NULL, writer.value(sort)))
    return ex.CaseWhen(writer.reading(subject) if subject else None, tuple(arms), otherwise)


def aggregate(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """An aggregate that returns the sort."""
    functions = ("min", "max", "first", "last", *(("sum",) if sort in NUMBERS else ()))
    return _aggregate(writer, writer.one_of(functions), sort)


def average(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """The aggregates that return a double."""
    return _aggregate(writer, writer.one_of(("avg", "stddev", "median", "percentile")), writer.one_of(NUMBERS))


def count(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """A count of the values of a repeated event: `count(a[].x)`."""
    return _aggregate(writer, "count", writer.sort())


def _aggregate(writer: ExpressionWriter, function: str, sort: Sort) -> ex.Expression:
    if not writer.scope.ranges or sort not in writer.scope.columns:
        return writer.leaf(Sort.INT if function == "count" else sort)
    inside = writer.inside(writer.one_of(writer.scope.ranges))
    argument: ex.Expression = inside.one_of(list(inside.attributes(sort)))
    if sort in NUMBERS and inside.chance(3):
        argument = ex.Arithmetic(inside.one_of("+-*"), argument, inside.value(Sort.INT))
    distinct = inside.chance(4)
    condition = inside.value(Sort.BOOL) if inside.chance(4) else None
    share = literal(inside.one_of((0.5, 0.25, 1, 0.9))) if function == "percentile" else None
    return ex.AggregateCall(function, argument, distinct, condition, share)


def user_aggregate(writer: ExpressionWriter, sort: Sort) -> ex.Expression:
    """An aggregate of the user."""
    if not writer.scope.parameters or not writer.scope.ranges or sort not in writer.scope.columns:
        return writer.leaf(sort)
    inside = writer.inside(writer.one_of(writer.scope.ranges))
    return ex.Call("Latest", (inside.one_of(list(inside.attributes(sort))),))


COMMON: tuple[Callable[[ExpressionWriter, Sort], ex.Expression], ...] = (
    aggregate,
    choice,
    case,
    user_call,
    user_aggregate,
)

VALUES: Mapping[Sort, tuple[Callable[[ExpressionWriter, Sort], ex.Expression], ...]] = {
    Sort.INT: (arithmetic, minus, count, call, cast, of_unit, *COMMON),
    Sort.FLOAT: (arithmetic, quotient, average, minus, call, cast, *COMMON),
    Sort.DECIMAL: (arithmetic, minus, call, cast, fraction, *COMMON),
    Sort.STRING: (call, cast, *COMMON),
    Sort.DATE: (cast, of_unit, *COMMON),
    Sort.LOCAL: (moved, cast, of_unit, *COMMON),
    Sort.ZONED: (moved, cast, of_unit, *COMMON),
    Sort.DURATION: (moved, pause, minus, *COMMON),
}
"""What an expression of a sort can be, besides a leaf."""
