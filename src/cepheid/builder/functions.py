"""Aggregates over the events of a Kleene variable, functions, and conditional values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheid.builder.columns import Column, condition, operand
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.builder.variables import Events, source_of
from cepheid.pattern.expressions import nodes as ex


def count(argument: Column | Events) -> Column:
    """How many events, or how many values that are not NULL.

    >>> from cepheid import builder as cep
    >>> cep.count(cep.var("a").each) > 3
    <Column count(a[]) > 3>
    """
    return _aggregate("count", argument)


def sum(argument: Column) -> Column:
    """The sum of some values."""
    return _aggregate("sum", argument)


def avg(argument: Column) -> Column:
    """The mean of some values.

    >>> from cepheid import builder as cep
    >>> a = cep.var("a")
    >>> a.current.price > cep.avg(a.before.price)
    <Column a[i].price > avg(a[..i-1].price)>
    """
    return _aggregate("avg", argument)


def min(argument: Column) -> Column:
    """The least of some values."""
    return _aggregate("min", argument)


def max(argument: Column) -> Column:
    """The greatest of some values."""
    return _aggregate("max", argument)


def first(argument: Column) -> Column:
    """The first value that is not NULL."""
    return _aggregate("first", argument)


def last(argument: Column) -> Column:
    """The last value that is not NULL."""
    return _aggregate("last", argument)


def stddev(argument: Column) -> Column:
    """The sample standard deviation of some values."""
    return _aggregate("stddev", argument)


def count_distinct(argument: Column) -> Column:
    """How many different values that are not NULL; `distinct` does the same for any aggregate.

    >>> from cepheid import builder as cep
    >>> cep.count_distinct(cep.var("a").each.user)
    <Column count(DISTINCT a[].user)>
    """
    return distinct(_aggregate("count", argument))


def collect(argument: Column) -> Column:
    """The values that are not NULL, as a list."""
    return _aggregate("collect", argument)


def median(argument: Column) -> Column:
    """The median of some values, interpolated."""
    return _aggregate("median", argument)


def percentile(argument: Column, share: object) -> Column:
    """The value at a share of the sorted values, from 0 to 1, interpolated.

    >>> from cepheid import builder as cep
    >>> cep.percentile(cep.var("a").each.price, 0.9)
    <Column percentile(a[].price, 0.9)>
    """
    return _changed(_aggregate("percentile", argument), "percentile", share=operand(share))


def distinct(aggregate: Column) -> Column:
    """An aggregate over each value once.

    >>> from cepheid import builder as cep
    >>> cep.distinct(cep.sum(cep.var("a").each.price))
    <Column sum(DISTINCT a[].price)>
    """
    return _changed(aggregate, "distinct", distinct=True)


def filtered(aggregate: Column, test: Column) -> Column:
    """An aggregate over the events for which a condition holds.

    >>> from cepheid import builder as cep
    >>> a = cep.var("a")
    >>> cep.filtered(cep.count(a.each), a.each.price > 9)
    <Column count(a[]) FILTER (WHERE a[].price > 9)>
    """
    return _changed(aggregate, "filtered", filter=condition(test))


def _changed(aggregate: object, function: str, **changes: Any) -> Column:
    node = aggregate.expression if isinstance(aggregate, Column) else None
    if isinstance(node, ex.Call) and len(node.arguments) == 1:  # it may be an aggregate of the user's own
        node = ex.AggregateCall(node.function, node.arguments[0])
    if not isinstance(node, ex.AggregateCall):
        remedy = f"write cep.{function}(cep.sum(cep.var('a').each.price){', …' * (function == 'filtered')})"
        raise misuse(f"{function} can't be applied to {shown(aggregate)}, which is no aggregate", remedy)
    return Column(replace(node, **changes))


def all(test: Column) -> Column:
    """Whether a condition holds for all events of a Kleene variable; TRUE if there are none.

    >>> from cepheid import builder as cep
    >>> a, b = cep.var("a"), cep.var("b")
    >>> cep.all(a.each.user != b.user)
    <Column ALL(a[].user != b.user)>
    """
    return Column(ex.Quantified("ALL", condition(test)))


def any(test: Column) -> Column:
    """Whether a condition holds for some event of a Kleene variable; FALSE if there are none.

    >>> from cepheid import builder as cep
    >>> a = cep.var("a")
    >>> cep.any(a.each.price > 100)
    <Column ANY(a[].price > 100)>
    """
    return Column(ex.Quantified("ANY", condition(test)))


def _aggregate(function: str, argument: object) -> Column:
    if isinstance(argument, Events):
        return Column(ex.AggregateCall(function, ex.Rows(*source_of(argument))))
    if isinstance(argument, Column):
        return Column(ex.AggregateCall(function, argument.expression))
    remedy = f"aggregate over the events of a Kleene variable: cep.{function}(cep.var('a').each.price)"
    raise misuse(f"{function} can't be applied to {shown(argument)}", remedy)


def match_id() -> Column:
    """What identifies a match by its events, for `returns` and `having`.

    >>> match_id()
    <Column match_id>
    """
    return Column(ex.MatchId())


def call(function: str, *arguments: object) -> Column:
    """A built-in function, or one of `cep.Query(…, functions={…})`.

    >>> from cepheid import builder as cep
    >>> cep.call("upper", cep.var("a").name) == "BOB"
    <Column upper(a.name) = 'BOB'>
    """
    check_name(function, "a function", "write cep.call('upper', a.name)")
    if function.lower() in ex.AGGREGATES:
        raise misuse(f"{function} is an aggregate", f"write cep.{function.lower()}(…)")
    return Column(ex.Call(function, tuple(map(operand, arguments))))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conditional(Column):
    """A value that depends on conditions: the first that holds decides; if none holds, it is NULL."""

    expression: ex.CaseWhen

    def when(self, test: Column, value: object) -> Conditional:
        """Another condition, and the value if it is the first that holds."""
        arm = ex.When(condition(test), operand(value))
        return Conditional(replace(self.expression, arms=(*self.expression.arms, arm)))

    def otherwise(self, value: object) -> Column:
        """The value if no condition holds."""
        return Column(replace(self.expression, otherwise=operand(value)))


def when(test: Column, value: object) -> Conditional:
    """A value if a condition holds; continue with `.when(…)` and `.otherwise(…)`.

    >>> from cepheid import builder as cep
    >>> cep.when(cep.var("a").price > 100, "high").otherwise("low")
    <Column CASE WHEN a.price > 100 THEN 'high' ELSE 'low' END>
    """
    return Conditional(ex.CaseWhen(None, (), None)).when(test, value)
