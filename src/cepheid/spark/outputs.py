"""Which query of a program the matches come from, and which columns and types a match has on Spark."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from cepheid.api import Query
from cepheid.engine.matches.long_form import long_schema
from cepheid.errors import BindError, UsageError, did_you_mean
from cepheid.pattern import expressions as ex
from cepheid.pattern.aggregates import Aggregate
from cepheid.pattern.bind import Bound
from cepheid.pattern.types import Kind


def output_number(query: Query, output: str | None) -> int:
    """Return the number of the query of a program whose INTO has this name; None stands for the last query."""
    names = [analysed.query.into for analysed, _ in query.compiled.flow]
    if output is None:
        return len(names) - 1
    if output not in names:
        known = [name for name in names if name is not None]
        remedy = did_you_mean(output, known, "outputs")
        raise UsageError("CEP603", f"no query of the program has INTO {output}", remedy)
    return names.index(output)


def match_schema(query: Query, events: pa.Schema, output: str | None = None, *, long: bool = False) -> pa.Schema:
    """Return the columns of a match in those types of Arrow that Spark has: times in microseconds, plain strings.

    long: the columns of an event of a match.
    """
    bound = query.compiled.bind(query.compiled.schema(events))[output_number(query, output)]
    fields = []
    if long:
        return pa.schema([field.with_type(_spark_type(field.type)) for field in long_schema(bound.schema)])
    declared = {r.name: _declared_type(bound, r.expression) for r in bound.returns if r.type.kind is Kind.ANY}
    for field in bound.match_schema():
        fields.append(pa.field(field.name, declared.get(field.name) or _spark_type(field.type)))
    return pa.schema(fields)


def _spark_type(arrow: pa.DataType) -> pa.DataType:
    if isinstance(arrow, pa.DictionaryType):
        return _spark_type(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", tz=arrow.tz)
    if pa.types.is_duration(arrow):
        return pa.duration("us")
    if pa.types.is_large_string(arrow):
        return pa.string()
    return arrow


_ANNOTATED: Mapping[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _declared_type(bound: Bound, expression: ex.Expression) -> pa.DataType:
    """Return the annotated type of a user-defined function, because Spark needs types before there are values."""
    if isinstance(expression, ex.Call) and expression.function in bound.functions:
        name, returned = expression.function, _return_annotation(bound.functions[expression.function])
        if returned in _ANNOTATED:
            return _ANNOTATED[returned]
        message = f"Spark must know the return type of {name}(…) before it runs"
        raise BindError("CEP908", message, f"annotate it: def {name}(…) -> float", expression.span)
    if isinstance(expression, ex.Aggregate) and isinstance(own := bound.functions.get(expression.function), Aggregate):
        if isinstance(own.returns, pa.DataType):
            return _spark_type(own.returns)
        if own.returns in _ANNOTATED:
            return _ANNOTATED[own.returns]
        message = f"Spark must know the type that {expression.function}(…) returns before it runs"
        raise BindError("CEP908", message, "say it: cep.Aggregate(…, returns=float)", expression.span)
    message = "Spark must know the type of a column before it runs, and this one is computed from a user function"
    remedy = "return the value of the function itself, and annotate it: def f(…) -> float"
    raise BindError("CEP908", message, remedy, expression.span)


def _return_annotation(function: Callable[..., object]) -> object:
    """Return the annotation of a function's result, without `| None`."""
    try:
        annotation: object = inspect.get_annotations(function, eval_str=True).get("return")
    except (NameError, TypeError, ValueError):
        return None
    alternatives = [a for a in getattr(annotation, "__args__", ()) if a is not type(None)]
    return alternatives[0] if len(alternatives) == 1 else annotation
