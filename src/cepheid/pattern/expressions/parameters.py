"""Parameters: bare names and sets are replaced by the values passed with the query."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil, inf
from typing import Any
from uuid import UUID

from cepheid.errors import BindError, PatternError, Span, nearest
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS
from cepheid.pattern.expressions.nodes import Attribute, Expression, Field, In, Index, InSet, Literal, Name, Rows
from cepheid.pattern.expressions.sampled import SampledValue, sampled
from cepheid.pattern.expressions.timestamps import EPOCH, nanoseconds_of, nanoseconds_since_epoch
from cepheid.pattern.tree.nodes import Negation, PatternTree, QueryTree, ReturnItem, Window
from cepheid.pattern.tree.walk import fields_in, rewrite, rewrite_expressions

Params = Mapping[str, object]


def literal(value: object, span: Span | None = None, name: str = "value") -> Literal:
    """A Python value as a constant of a query.

    >>> literal(timedelta(minutes=1)).value
    60000000000
    """
    if isinstance(value, SampledValue):
        return sampled(literal(value.value, span, name), name)
    try:
        constant = _literal(_plain(value), span)
    except OverflowError:
        constant = None
    if constant is None:
        raise BindError(
            "CEP307",
            f"the parameter '{name}' is {_shown(value)}, which can't be used in a query",
            "pass a number of at most 64 bits, a string, a boolean, a date, a datetime, a timedelta, a Decimal or None",
            span,
        )
    return constant


def _plain(value: object) -> object:
    """Members of enumerations and numpy's scalars as Python's own values, or as pandas' where they are finer.

    A UUID is text, as in a column.
    """
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        value = value.value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        value = _numpy_time(value, kind) if kind in ("M", "m") else value.item()
    if isinstance(value, datetime | timedelta) and value != value:
        return None
    return value


def _numpy_time(value: Any, kind: str) -> object:
    """A datetime64 or timedelta64; one that has nanoseconds comes as an integer, which Python's own can't hold."""
    fine = int(value.astype(f"{kind}8[ns]").astype("int64"))
    return value.astype(f"{kind}8[us]").item() if fine % 1000 == 0 else _Nanoseconds(fine, kind == "M")


@dataclass(frozen=True, slots=True)
class _Nanoseconds:
    count: int
    moment: bool


def _is_text(value: str) -> bool:
    """Arrow can't hold half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _literal(value: object, span: Span | None) -> Literal | None:
    match value:
        case None:
            return Literal(None, types.NULL, span=span)
        case bool():
            return Literal(value, types.BOOL, span=span)
        case int() if -(2**63) <= value < 2**63:
            return Literal(int(value), types.INT, span=span)
        case float():
            return Literal(float(value), types.FLOAT, span=span)
        case str() if _is_text(value):
            return Literal(str.__str__(value), types.STRING, span=span)
        case Decimal() if value.is_finite() and (digits := max(0, -int(value.as_tuple().exponent))) <= 38:
            return Literal(value, types.decimal(digits), span=span)
        case datetime():
            since = nanoseconds_since_epoch(value)
            zone = "UTC" if value.tzinfo else None
            return Literal(since, types.timestamp(zone, types.unit_for(since)), span=span)
        case _Nanoseconds(count=count, moment=moment):
            return Literal(count, types.timestamp(None, "ns") if moment else types.duration("ns"), span=span)
        case date():
            return Literal((value - EPOCH.date()).days, types.DATE, span=span)
        case timedelta() if abs(length := nanoseconds_of(value)) < 2**63:
            return Literal(length, types.duration(types.unit_for(length)), span=span)
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '…'}"


def resolve_names(query: QueryTree, params: Params, arrays: Mapping[str, bool], single: str | None) -> QueryTree:
    """Put in the parameters. `arrays`: whether each variable is one; `single`: the one whose name may be left out."""

    def change(node: Expression) -> Expression:
        if isinstance(node, InSet):
            return In(node.operand, _members(node, params), node.negated, span=node.span)
        if isinstance(node, Attribute) and node.index is Index.ONE and node.variable not in arrays and single:
            # In a pattern of one event, `payload.amount` is a field.
            return Field(Attribute(single, Index.ONE, node.variable, span=node.span), node.name, span=node.span)
        if not isinstance(node, Name):
            return node
        if node.name in params:
            return literal(_one_value(node, params), node.span, node.name)
        if node.name in arrays:
            a, array = node.name, arrays[node.name]
            remedy = (
                f"add an attribute, {a}[i].x, or count the events: count({a}[])"
                if array
                else f"add an attribute: {a}.x"
            )
            what = "a list of events" if array else "an event"
            raise PatternError("CEP218", f"'{a}' is {what}, not a value", remedy, node.span)
        if single is not None:
            return Attribute(single, Index.ONE, node.name, span=node.span)
        if any(slot.name == node.name for slot in fields_in(query)):
            remedy = f"for the field of the register, write r.{node.name}; or pass params={{'{node.name}': …}}"
            raise BindError("CEP304", f"unknown parameter '{node.name}'", remedy, node.span)
        a = next(iter(arrays), "a")
        example = f"{a}[].{node.name}" if arrays.get(a) else f"{a}.{node.name}"
        other = f"; or, for text, write '{node.name}' in quotes; or, for an attribute, write {example}"
        raise _unknown(node.name, node.span, params, other)

    def with_period(node: PatternTree) -> PatternTree:
        if isinstance(node, Negation) and node.period is not None:
            return replace(node, period=resolve_window(node.period, params, "FOR"))
        return node

    def result(item: ReturnItem) -> ReturnItem:
        node = item.expression
        if isinstance(node, Name) and node.name in arrays and node.name not in params:
            return replace(
                item, expression=Rows(node.name, Index.EACH if arrays[node.name] else Index.ONE, span=node.span)
            )
        return item

    query = replace(query, returns=tuple(map(result, query.returns)))
    query = rewrite_expressions(query, lambda expression: rewrite(expression, change))
    within = query.within and resolve_window(query.within, params, "WITHIN")
    cooldown = query.cooldown and resolve_window(query.cooldown, params, "COOLDOWN")
    return replace(query, pattern=rewrite(query.pattern, with_period), within=within, cooldown=cooldown)


def resolve_condition(condition: Expression, params: Params, variable: str) -> Expression:
    """Put the parameters into a condition on one event; all other names are its attributes."""

    def change(node: Expression) -> Expression:
        if isinstance(node, InSet):
            return In(node.operand, _members(node, params), node.negated, span=node.span)
        if not isinstance(node, Name):
            return node
        if node.name in params:
            return literal(_one_value(node, params), node.span, node.name)
        return Attribute(variable, Index.ONE, node.name, span=node.span)

    return rewrite(condition, change)


def resolve_parameters(node: Expression, params: Params) -> Expression:
    """Put the parameters in; all other names stay."""

    def change(part: Expression) -> Expression:
        if isinstance(part, InSet):
            return In(part.operand, _members(part, params), part.negated, span=part.span)
        if isinstance(part, Name) and part.name in params:
            return literal(_one_value(part, params), part.span, part.name)
        return part

    return rewrite(node, change)


def _unknown(name: str, span: Span | None, params: Params, other: str = "") -> BindError:
    close = nearest(name, params)
    if name.lower() in ("none", "nil", "undefined"):
        return BindError("CEP304", f"unknown parameter '{name}'", "write NULL, and test it with IS NULL", span)
    remedy = f"did you mean '{close}'?" if close is not None else f"pass params={{'{name}': …}}{other}"
    return BindError("CEP304", f"unknown parameter '{name}'", remedy, span)


def _one_value(node: Name, params: Params) -> object:
    value = params[node.name]
    listed = value.value if isinstance(value, SampledValue) else value
    if isinstance(listed, Mapping):
        message = f"the parameter '{node.name}' is a struct, not a single value"
        raise BindError("CEP307", message, f"pass one of its fields as '{node.name}'", node.span)
    if isinstance(listed, Collection) and not isinstance(listed, str | bytes):
        remedy = f"write IN {node.name}, or pass a single value"
        raise BindError("CEP307", f"the parameter '{node.name}' is a set, not a single value", remedy, node.span)
    return value


def _members(node: InSet, params: Params) -> tuple[Literal, ...]:
    if node.set not in params:
        raise _unknown(node.set, node.span, params)
    members = params[node.set]
    if not isinstance(members, Collection) or isinstance(members, str | bytes | Mapping):
        raise BindError(
            "CEP307",
            f"the parameter '{node.set}' is {_shown(members)}, not a set of values",
            "pass a list, a tuple or a set",
            node.span,
        )
    # A set has no order of its own, and a query must print the same everywhere.
    ordered = sorted(members, key=repr) if isinstance(members, set | frozenset) else members
    return tuple(literal(member, node.span, node.set) for member in ordered)


def resolve_window(window: Window, params: Params, word: str) -> Window:
    """A window whose amount is a number and whose unit is known, or None for the unit of the time column."""
    if isinstance(window.amount, Name):
        name = window.amount.name
        if name not in params and name.lower() in UNITS:
            remedy = f"write a number before it: {word} 5 {name}"
            raise BindError("CEP304", f"unknown parameter '{name}'", remedy, window.amount.span)
        if name not in params:
            raise _unknown(name, window.amount.span, params)
        value = params[name]
        if isinstance(value, str) and window.unit is None:
            window = read_window(value, name, window.span)
        elif isinstance(value, timedelta) and window.unit is None:
            window = Window(Literal(nanoseconds_of(value), types.INT), "nanoseconds", span=window.span)
        elif isinstance(value, timedelta | str):
            remedy = f"write {word} {name} without a unit, or pass a number"
            raise BindError("CEP307", f"the parameter '{name}' already has a unit", remedy, window.span)
        elif isinstance(value, date):  # also a datetime: inside they are numbers, and no lengths
            message = f"the parameter '{name}' is {value!r}, which is not a window"
            remedy = "pass a timedelta, a number, or text with a unit: '12 hours', '500 events'"
            raise BindError("CEP307", message, remedy, window.span)
        else:
            window = replace(window, amount=literal(value, window.amount.span, name))
    assert isinstance(window.amount, Literal)
    amount = window.amount.value
    if not isinstance(amount, int | float | Decimal) or isinstance(amount, bool) or not 0 < amount < inf:
        remedy = "write a number greater than zero and a unit: 12 hours, 500 events"
        length = "NULL" if amount is None else f"{amount!r} long"
        raise PatternError("CEP216", f"a window can't be {length}", remedy, window.span)
    if window.unit == "events" and window.amount.type != types.INT:  # one that was pickled is another object
        raise PatternError("CEP216", f"{amount!r} events is not a whole number", "write 500 events", window.span)
    return window


def read_window(text: str, name: str, span: Span | None) -> Window:
    """`params={"T": "12 hours"}`, and the builder's `within("12 hours")`.

    >>> read_window("1.5 h", "T", None).unit
    'hours'
    """
    written = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]+)\s*", text)
    unit = written and ("events" if written[2].lower() in ("event", "events") else UNITS.get(written[2].lower()))
    if not written or unit is None:
        remedy = "write a number and a unit: '12 hours', '500 events'"
        raise BindError("CEP307", f"the parameter '{name}' is {text!r}, which is not a window", remedy, span)
    amount = float(written[1]) if "." in written[1] else int(written[1])
    return Window(literal(amount), unit, span=span)


def window_nanoseconds(window: Window, unit: str) -> int:
    """How long a window of time is; a bare number counts in `unit`."""
    assert isinstance(window.amount, Literal)
    exact = Fraction(str(window.amount.value)) * NANOSECONDS[window.unit or unit]
    return ceil(exact)
