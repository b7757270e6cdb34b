"""Which query of a program the matches come from, and which columns and types a match has on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cepheid.api import Query
from cepheid.engine.matches.changes import OP
from cepheid.engine.matches.long_form import long_schema
from cepheid.errors import BindError, PatternError, UsageError, did_you_mean
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import MATCH_ID
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.declared import declared_type, how_to_declare
from cepheid.pattern.expressions.types import Kind

QUERY = "query"
"""The column with the name of the query that emitted a match, in a stream whose queries can change."""


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


def match_schema(
    query: Query,
    events: pa.Schema,
    output: str | None = None,
    *,
    long: bool = False,
    changes: bool = False,
    control: bool = False,
) -> pa.Schema:
    """Return the columns of a match in those types of Arrow that Spark has: times in microseconds, plain strings.

    long: the columns of an event of a match.
    changes: the columns of a match that is added or retracted.
    control: with the name of the query that emitted it.
    """
    bound = query.compiled.bind(query.compiled.schema(events))[output_number(query, output)]
    fields = []
    named = (QUERY,) if control else ()
    if long:
        fields = [field.with_type(_spark_type(field.type)) for field in long_schema(bound.schema)]
        return pa.schema([*_besides(fields, named), *fields])
    declared = {r.name: _declared_type(bound, r.expression) for r in bound.returns if r.type.kind is Kind.ANY}
    for field in bound.match_schema():
        fields.append(pa.field(field.name, declared.get(field.name) or _spark_type(field.type)))
    return pa.schema([*_besides(fields, (*named, OP, MATCH_ID) if changes else named), *fields])


def _besides(fields: Sequence[pa.Field], names: Sequence[str]) -> Iterator[pa.Field]:
    """Yield the columns that a row has besides those of its match."""
    taken = {field.name.lower(): field.name for field in fields}
    for name in names:
        if name in taken:
            remedy = f"rename '{taken[name]}': with AS in RETURN, or the variable"
            what = "match of a stream with control=" if name == QUERY else "change"
            raise PatternError("CEP212", f"every {what} already has a column '{name}'", remedy)
        yield pa.field(name, pa.string())


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


def _declared_type(bound: Runnable, expression: ex.Expression) -> pa.DataType:
    """Return the type that a user-defined function declares, because Spark needs types before there are values."""
    name, declared = declared_type(expression, bound.functions)
    if declared is not None:
        return _spark_type(declared)
    message = (
        "Spark must know the type of a column before it runs, and this one is computed from a user function"
        if name is None
        else f"Spark must know what type {name}(…) returns before it runs"
    )
    raise BindError("CEP908", message, how_to_declare(name, bound.functions), expression.span)
