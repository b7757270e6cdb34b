"""Parameters: bare names and sets get the values that the query is made with."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil, inf

from cepheid.errors import BindError, PatternError, Span, nearest
from cepheid.pattern import types
from cepheid.pattern.durations import NANOSECONDS, UNITS
from cepheid.pattern.expressions import Attribute, Expression, In, Index, InSet, Literal, Name
from cepheid.pattern.tree import Query, Window
from cepheid.pattern.walk import rewrite

Params = Mapping[str, object]


def literal(value: object, span: Span | None = None, name: str = "value") -> Literal:
    """A Python value as a constant of a query.

    >>> literal(timedelta(minutes=1)).value
    60000000000
    """
    try:
        found = _literal(_plain(value), span)
    except OverflowError:
        found = None
    if found is None:
        raise BindError(
            "CEP307",
            f"the parameter '{name}' is {_shown(value)}, which no expression can hold",
            "pass a number of at most 64 bits, a string, a boolean, a date, a datetime, a timedelta, a Decimal or None",
            span,
        )
    return found


def _plain(value: object) -> object:
    """Members of enumerations and numpy's scalars as Python's own values; pandas' NaT is NULL."""
    if isinstance(value, Enum):
        value = value.value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        value = value.astype(f"{kind}8[us]").item() if kind in ("M", "m") else value.item()  # type: ignore[attr-defined]
    if isinstance(value, datetime | timedelta) and value != value:
        return None
    return value


def _is_text(value: str) -> bool:
    """Half of a surrogate pair is no text, and Arrow can't hold it."""
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
            utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
            zone = "UTC" if value.tzinfo else None
            return Literal(_nanoseconds(utc - _EPOCH), types.timestamp(zone), span=span)
        case date():
            return Literal((value - _EPOCH.date()).days, types.DATE, span=span)
        case timedelta() if abs(nanoseconds := _nanoseconds(value)) < 2**63:
            return Literal(nanoseconds, types.duration(), span=span)
    return None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _nanoseconds(delta: timedelta) -> int:
    return (delta.days * 86_400 + delta.seconds) * 10**9 + delta.microseconds * 1_000


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '…'}"


def resolve_names(query: Query, params: Params, variables: Collection[str], single: str | None) -> Query:
    """Put in the parameters. `single`: the variable whose attributes may stand without it."""

    def change(node: Expression) -> Expression:
        if isinstance(node, InSet):
            return In(node.operand, _members(node, params), node.negated, span=node.span)
        if not isinstance(node, Name):
            return node
        if node.name in params:
            return literal(_one_value(node, params), node.span, node.name)
        if node.name in variables:
            remedy = f"name one of its attributes: {node.name}.x"
            raise PatternError("CEP218", f"'{node.name}' is an event, not a value", remedy, node.span)
        if single is not None:
            return Attribute(single, Index.ONE, node.name, span=node.span)
        raise _unknown(node.name, node.span, params, f", or write the variable in front of an attribute: a.{node.name}")

    return replace(
        query,
        where=tuple(rewrite(c, change) for c in query.where),
        having=query.having and rewrite(query.having, change),
        returns=tuple(replace(r, expression=rewrite(r.expression, change)) for r in query.returns),
        within=query.within and _window(query.within, params),
    )


def _unknown(name: str, span: Span | None, params: Params, other: str = "") -> BindError:
    close = nearest(name, params)
    remedy = f"did you mean '{close}'?" if close is not None else f"pass params={{'{name}': …}}{other}"
    return BindError("CEP304", f"unknown parameter '{name}'", remedy, span)


def _one_value(node: Name, params: Params) -> object:
    value = params[node.name]
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        remedy = f"write IN {node.name}, or pass one value"
        raise BindError("CEP307", f"the parameter '{node.name}' is a set of values", remedy, node.span)
    return value


def _members(node: InSet, params: Params) -> tuple[Literal, ...]:
    if node.set not in params:
        raise _unknown(node.set, node.span, params)
    members = params[node.set]
    if not isinstance(members, Collection) or isinstance(members, str | bytes):
        raise BindError(
            "CEP307",
            f"the parameter '{node.set}' is {_shown(members)}, not a set of values",
            "pass a list, a tuple or a set",
            node.span,
        )
    # A set has no order of its own, and a query must print the same everywhere.
    ordered = sorted(members, key=repr) if isinstance(members, set | frozenset) else members
    return tuple(literal(member, node.span, node.set) for member in ordered)


def _window(window: Window, params: Params) -> Window:
    """A window whose amount is a number and whose unit is known, or None for the unit of the time column."""
    if isinstance(window.amount, Name):
        name = window.amount.name
        if name not in params:
            raise _unknown(name, window.amount.span, params)
        value = params[name]
        if isinstance(value, str) and window.unit is None:
            window = read_window(value, name, window.span)
        elif isinstance(value, timedelta) and window.unit is None:
            window = Window(Literal(_nanoseconds(value), types.INT), "nanoseconds", span=window.span)
        else:
            window = replace(window, amount=literal(value, window.amount.span, name))
    assert isinstance(window.amount, Literal)
    amount = window.amount.value
    if not isinstance(amount, int | float | Decimal) or isinstance(amount, bool) or not 0 < amount < inf:
        remedy = "a window is a number greater than zero and a unit: 12 hours, 500 events"
        raise PatternError("CEP216", f"{amount!r} is no length of a window", remedy, window.span)
    if window.unit == "events" and window.amount.type is not types.INT:
        raise PatternError("CEP216", f"{amount!r} events is no whole number", "write 500 events", window.span)
    return window


def read_window(text: str, name: str, span: Span | None) -> Window:
    """`params={"T": "12 hours"}`, and the builder's `within("12 hours")`.

    >>> read_window("1.5 h", "T", None).unit
    'hours'
    """
    found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]+)\s*", text)
    unit = found and ("events" if found[2].lower() in ("event", "events") else UNITS.get(found[2].lower()))
    if not found or unit is None:
        remedy = "write a number and a unit: '12 hours', '500 events'"
        raise BindError("CEP307", f"the parameter '{name}' is {text!r}, which is no window", remedy, span)
    amount = float(found[1]) if "." in found[1] else int(found[1])
    return Window(literal(amount), unit, span=span)


def window_nanoseconds(window: Window, unit: str) -> int:
    """How long a window of time is; a bare number counts in `unit`."""
    assert isinstance(window.amount, Literal)
    exact = Fraction(str(window.amount.value)) * NANOSECONDS[window.unit or unit]
    return ceil(exact)
