"""Which types go together: what can be compared, what two types have in common, what arithmetic returns."""

from __future__ import annotations

from decimal import Decimal

from cepheid.errors import BindError
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import (
    ANY,
    FLOAT,
    INT,
    NUMERIC,
    STRING,
    Kind,
    Type,
    decimal,
    finest_unit,
    is_unknown,
    scale_of,
    timestamp,
    zone_of,
)


def shown(type_: Type) -> str:
    """A type in an error."""
    if type_.kind is Kind.NULL:
        return "NULL"
    return str(type_) if is_unknown(type_) else f"{type_.kind.value} ({type_})"


_EXAMPLES = {
    Kind.DURATION: "it without quotes, such as 5 minutes",
    Kind.TIMESTAMP: "it as '2024-12-31 23:59:59'",
    Kind.DATE: "it as '2024-12-31'",
}


_ALIKE = "compare values of the same kind"


def mismatch(node: ex.Expression, first: Type, second: Type, left: ex.Expression, right: ex.Expression) -> BindError:
    """The error for two values that can't be compared, with what to write."""
    remedy = _ALIKE
    if {first.kind, second.kind} == {Kind.INT, Kind.DURATION}:
        remedy = "integers have no unit: write the duration as a number, or convert the column to a timestamp"
    if {first.kind, second.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        remedy = "write the constant as a TIMESTAMP '2024-12-31 00:00:00', or compare year(…), month(…) and day(…)"
    if first.kind is second.kind is Kind.TIMESTAMP:
        remedy = "only one of them has a time zone: cast one of the columns, or give the constant a zone"
    for constant, type_ in ((left, second), (right, first)):
        if isinstance(constant, ex.Literal) and constant.type.kind is Kind.STRING and type_.kind is not Kind.STRING:
            example = _EXAMPLES.get(type_.kind, "a value of that type")
            remedy = f"'{constant.value}' can't be read as {type_.kind.value}: write {example}"
        elif isinstance(constant, ex.Literal) and type_.kind is Kind.STRING:
            remedy = f"write it in quotes: '{constant.value}'"
            if constant.type.kind in NUMERIC:
                column = _written(right if constant is left else left)
                remedy += f", or compare numbers: CAST({column} AS DOUBLE)"
        elif isinstance(constant, ex.Literal) and constant.type.kind is Kind.INT and type_.kind is Kind.DURATION:
            remedy = f"add a unit: {constant.value} seconds"
    if remedy == _ALIKE and Kind.STRING in (first.kind, second.kind) and {first.kind, second.kind} & NUMERIC:
        remedy = f"to compare numbers, write CAST({_written(left if first.kind is Kind.STRING else right)} AS DOUBLE)"
    return BindError("CEP305", f"{shown(first)} can't be compared with {shown(second)}", remedy, node.span)


def _written(node: ex.Expression) -> str:
    return "…" if node.span is None else " ".join(node.span.excerpt.split())


def comparable(first: Type, second: Type) -> bool:
    """Whether values of two types can be compared."""
    kinds = {first.kind, second.kind}
    if Kind.OPAQUE in kinds:
        return False
    if kinds & {Kind.ANY, Kind.NULL} or kinds <= NUMERIC:
        return True
    if kinds == {Kind.TIMESTAMP}:
        return (zone_of(first) is None) == (zone_of(second) is None)
    return first.kind is second.kind


def converted(value: ex.Expression, type_: Type, common: Type) -> ex.Expression:
    """A number converted to the common type: a column announced as a double must hold doubles."""
    zero = {Kind.FLOAT: ex.Literal(0.0, FLOAT), Kind.DECIMAL: ex.Literal(Decimal(0), decimal(0))}.get(common.kind)
    if zero is None or type_.kind not in NUMERIC or type_.kind is common.kind:
        return value
    return ex.Arithmetic("+", value, zero, span=value.span)


def common_type(first: Type, second: Type) -> Type:
    """The type of a value that may be one of two comparable types."""
    if first.kind is Kind.NULL:
        return second
    if second.kind is Kind.NULL or first == second:
        return first
    if Kind.ANY in (first.kind, second.kind):
        return ANY
    if first.kind in NUMERIC:
        return arithmetic_type("+", first, second)
    if first.kind is Kind.TIMESTAMP:
        return timestamp(zone_of(first), finest_unit(first, second))
    return STRING if first.kind is Kind.STRING else first


def widest(type_: Type) -> Type:
    """The type of a sum of such values."""
    if type_.kind is Kind.DECIMAL:
        return decimal(scale_of(type_))
    return {Kind.INT: INT, Kind.FLOAT: FLOAT}.get(type_.kind, type_)


def arithmetic_type(operator: str, first: Type, second: Type) -> Type:
    """S3a: `/` returns a double; floats win over decimals, decimals over integers and keep their scale."""
    if operator == "/" or Kind.FLOAT in (first.kind, second.kind):
        return FLOAT
    if Kind.DECIMAL in (first.kind, second.kind):
        scales = scale_of(first), scale_of(second)
        return decimal(min(38, sum(scales) if operator == "*" else max(scales)))
    return INT
