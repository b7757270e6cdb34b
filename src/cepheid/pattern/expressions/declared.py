"""The types that user-defined functions and aggregates declare: some must know them before there are values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import date, datetime

import pyarrow as pa

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.aggregates import Aggregate

_ANNOTATED: Mapping[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def declared_type(
    expression: ex.Expression, functions: Mapping[str, Callable[..., object]]
) -> tuple[str | None, pa.DataType | None]:
    """The function or aggregate of the user's own that an expression is, and the type that it declares.

    >>> def half(x) -> float | None: ...
    >>> declared_type(ex.Call("half", ()), {"half": half})
    ('half', DataType(double))
    """
    if not isinstance(expression, ex.Call | ex.AggregateCall) or expression.function not in functions:
        return None, None
    function = functions[expression.function]
    returned = function.returns if isinstance(function, Aggregate) else _return_annotation(function)
    return expression.function, returned if isinstance(returned, pa.DataType) else _ANNOTATED.get(returned)


def how_to_declare(name: str | None, functions: Mapping[str, Callable[..., object]]) -> str:
    """How the user declares the type; `name`: that of the function or aggregate, if the expression is one."""
    if name is None:
        return "return the value of the function itself, and annotate it: def f(…) -> float"
    if isinstance(functions[name], Aggregate):
        return "say it: cep.Aggregate(…, returns=float)"
    return f"annotate it: def {name}(…) -> float"


def _return_annotation(function: Callable[..., object]) -> object:
    """The annotation of a function's result, without `| None`."""
    try:
        annotation: object = inspect.get_annotations(function, eval_str=True).get("return")
    except (NameError, TypeError, ValueError):
        return None
    alternatives = [a for a in getattr(annotation, "__args__", ()) if a is not type(None)]
    return alternatives[0] if len(alternatives) == 1 else annotation
