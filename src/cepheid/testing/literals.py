"""Python literals in case files, including times and decimals for parameters."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

_CALLS: Mapping[str, Callable[..., object]] = {
    "timedelta": timedelta,
    "datetime": datetime,
    "date": date,
    "time": time,
    "Decimal": Decimal,
    "set": set,
    "frozenset": frozenset,
}
_NAMES: Mapping[str, object] = {"UTC": UTC, "timezone.utc": UTC, "nan": math.nan, "inf": math.inf}


def evaluate(text: str) -> object:
    """The value of a literal; no other code is run. The repr of such a value is a literal too.

    >>> evaluate("{'T': timedelta(hours=1), 'Finance': ['IBM', 'ORCL']}")
    {'T': datetime.timedelta(seconds=3600), 'Finance': ['IBM', 'ORCL']}
    >>> evaluate("open('/etc/passwd')")
    Traceback (most recent call last):
    ValueError: open('/etc/passwd') is not a literal
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{text.strip()} is not a literal") from None
    return _value(tree.body)


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return value
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Set(elts=items):
            return {_value(item) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(k): _value(v) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = _value(operand)
            if isinstance(positive, int | float | Decimal | timedelta):
                return -positive
        case ast.Call(func=function, args=args, keywords=keywords) if _name(function) in _CALLS:
            named = {k.arg: _value(k.value) for k in keywords if k.arg is not None}
            if len(named) == len(keywords):
                return _CALLS[_name(function)](*map(_value, args), **named)
        case ast.Name() | ast.Attribute() if _name(node) in _NAMES:
            return _NAMES[_name(node)]
    raise ValueError(f"{ast.unparse(node)} is not a literal")


def _name(node: ast.expr) -> str:
    return ast.unparse(node).removeprefix("datetime.")
