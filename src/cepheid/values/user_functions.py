"""Values on their way to user functions and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from cepheid.errors import BindError, EvaluationError
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.types import Kind, Type, from_arrow, zone_of
from cepheid.values.value import Value


def as_python(type_: Type) -> Callable[[Value], Value]:
    """User functions see datetimes, dates and timedeltas, as they are in the events."""
    if type_.kind is Kind.DATE:
        return lambda value: None if value is None else pa.scalar(value, pa.int32()).cast(pa.date32()).as_py()
    if type_.kind is Kind.TIMESTAMP:
        arrow = pa.timestamp("us", tz=zone_of(type_))
        return lambda value: None if value is None else pa.scalar(value // 1000, arrow).as_py()
    if type_.kind is Kind.DURATION:
        return lambda value: None if value is None else pa.scalar(value // 1000, pa.duration("us")).as_py()
    if type_.kind is Kind.OPAQUE and pa.types.is_list(type_.arrow):
        # What `collect` returns; a column has Python's own values.
        item_as_python = as_python(from_arrow(type_.arrow.value_type))
        return lambda value: value and [item_as_python(item) if isinstance(item, int) else item for item in value]
    return lambda value: value


class UserTime(int):
    """A time from a user function: nanoseconds or days to compute with, and the value itself for the output."""

    original: Value


def from_python(value: Value, node: ex.Expression) -> Value:
    """What a user function returned, as a value to compute with."""
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)  # decimals of a column are finite, doubles need not be
    try:
        constant = literal(value)
    except BindError:
        if isinstance(value, int):
            raise unusable(f"{value} does not fit into 64 bits", node) from None
        return value
    if constant.type.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.DURATION):
        assert isinstance(constant.value, int)
        time = UserTime(constant.value)
        time.original = value
        return time
    return constant.value


def called(node: ex.Call | ex.AggregateCall, function: Callable[..., object], arguments: Sequence[Value]) -> Value:
    """Call a user function; whatever its code raises is reported with the call."""
    try:
        value = function(*arguments)
    except Exception as error:
        shown = ", ".join(map(repr, arguments))
        raise EvaluationError(
            "CEP501",
            f"{node.function}({shown[:200]}) raised {type(error).__name__}: {error}",
            "mend the function, or keep such values from it with another condition",
            node.span,
        ) from error
    return from_python(value, node)


def unusable(reason: str, node: ex.Expression) -> EvaluationError:
    """What is raised where such a value can't stand."""
    remedy = "let the user function return a value that can stand here"
    return EvaluationError("CEP503", f"a user function gave what can't be used: {reason}", remedy, node.span)
