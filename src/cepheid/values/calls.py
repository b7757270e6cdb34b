"""The value of a call: of a built-in function, one of times, one of the user's own, or an aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.functions import PARTS
from cepheid.pattern.expressions.types import Kind, zone_of
from cepheid.values import calendar, functions
from cepheid.values.bindings import Bindings, Evaluator
from cepheid.values.user_functions import UserTime, as_python, called
from cepheid.values.value import Value


def call(node: ex.Call, arguments: Sequence[Evaluator], query: Runnable) -> Evaluator:
    """The function of a call, from those of its arguments."""
    name = node.function
    if name in query.functions:
        return _user_call(node, arguments, query)
    if name in functions.NULLABLE:
        nullable = functions.NULLABLE[name]
        return lambda bindings: nullable(*[argument(bindings) for argument in arguments])
    if name in functions.CALENDAR:
        return _calendar_call(functions.CALENDAR[name], node.arguments[0], arguments[0], query)
    if name in functions.FIELDS_OF:
        return _calendar_call(calendar.FIELDS[calendar_field(node)], node.arguments[1], arguments[1], query)
    if name in functions.TRUNCATED:
        return _truncation(node, arguments, query)
    function = functions.SCALAR[name]

    def evaluate(bindings: Bindings) -> Value:
        values = [argument(bindings) for argument in arguments]
        return None if None in values else function(*values)

    return evaluate


def aggregation(node: ex.AggregateCall, query: Runnable) -> Callable[[Sequence[Value]], Value]:
    """What is made of the values that are not NULL, in order."""
    aggregate = functions.AGGREGATES.get(node.function) or _user_aggregate(node, query)
    if node.function == "collect":
        aggregate = _originals
    if node.share is not None:
        assert isinstance(node.share, ex.Literal)
        aggregate = functions.percentile(float(str(node.share.value)))
    if not node.distinct:
        return aggregate
    return lambda items: aggregate(functions.distinct(items))


def _user_aggregate(node: ex.AggregateCall, query: Runnable) -> Callable[[Sequence[Value]], Value]:
    function, out = query.functions[node.function], as_python(query.typer.check(node.argument)[1])
    return lambda items: called(node, function, [[out(item) for item in items]])


def _originals(items: Sequence[Value]) -> list[Value]:
    """Values for a list of the output: of times from user functions, what they returned."""
    return [item.original if isinstance(item, UserTime) else item for item in items]


def _user_call(node: ex.Call, arguments: Sequence[Evaluator], query: Runnable) -> Evaluator:
    function = query.functions[node.function]
    outward = [as_python(query.typer.check(argument)[1]) for argument in node.arguments]

    def evaluate(bindings: Bindings) -> Value:
        values = [out(argument(bindings)) for out, argument in zip(outward, arguments, strict=True)]
        return called(node, function, values)

    return evaluate


def _calendar_call(
    function: Callable[[int], Value], node: ex.Expression, argument: Evaluator, query: Runnable
) -> Evaluator:
    type_ = query.typer.check(node)[1]
    scale = calendar.DAY if type_.kind is Kind.DATE else 1
    zone = zone_of(type_)

    def evaluate(bindings: Bindings) -> Value:
        value = argument(bindings)
        return None if value is None else function(calendar.in_zone(value * scale, zone))

    return evaluate


def calendar_field(node: ex.Call) -> str:
    """Which field of a moment `date_part` returns; of the seconds with their fraction."""
    unit = node.arguments[0]
    assert isinstance(unit, ex.Literal)
    return {"second": "seconds"}.get(name := PARTS[str(unit.value)], name)


def _truncation(node: ex.Call, arguments: Sequence[Evaluator], query: Runnable) -> Evaluator:
    of_day = node.function == "trunc"
    (unit, moment) = reversed(node.arguments) if of_day else node.arguments
    word, zone = str(getattr(unit, "value", None)), zone_of(query.typer.check(moment)[1])
    argument = arguments[0 if of_day else 1]

    def evaluate(bindings: Bindings) -> Value:
        value = argument(bindings)
        if value is None:
            return None
        return calendar.truncate_day(word, value) if of_day else calendar.truncate(word, value, zone)

    return evaluate
