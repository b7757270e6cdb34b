"""What a user function returned, as a value of a field of a register (S18): its type is known only now."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.common_types import shown
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.types import Kind, Type
from cepheid.pattern.tree.walk import walk
from cepheid.values.casting import caster
from cepheid.values.user_functions import UserTime, unusable
from cepheid.values.value import Value

_PYTHON = {Kind.INT: int, Kind.STRING: str, Kind.BOOL: bool, Kind.FLOAT: float, Kind.DECIMAL: Decimal}


def as_field(value: Value, type_: Type, node: ex.Expression) -> Value:
    """The value as one of the type, widened as a typed expression would be; an error if it is of another kind."""
    if value is None:
        return None
    if isinstance(value, UserTime):
        if literal(value.original).type.kind is type_.kind:
            return int(value)
        raise unusable(f"{value.original!r} is not {shown(type_)}", node)
    kind = type_.kind
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is Kind.FLOAT and (whole or isinstance(value, float)):
        return float(value) + 0.0  # no negative zero
    if kind is Kind.DECIMAL and (whole or isinstance(value, Decimal)):
        return caster(literal(value).type, type_)(value)
    if kind in (Kind.DATE, Kind.TIMESTAMP, Kind.DURATION) and whole:
        return value  # made of times, which are numbers here
    if not isinstance(value, _PYTHON.get(kind, ())) or (kind is Kind.INT and not whole):
        raise unusable(f"{value!r} is not {shown(type_)}", node)
    return value


def calls_own(node: ex.Expression, functions: Mapping[str, object]) -> bool:
    """Whether an expression calls a function of the user's own."""
    return bool(functions) and any(isinstance(part, ex.Call) and part.function in functions for part in walk(node))
