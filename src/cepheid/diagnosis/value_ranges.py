"""What the values are that a condition on one event asks about: the remedy for one that no event passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from cepheid.diagnosis.column_hints import shown_values
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.diagnosis.written import ConditionWriter, text_of, write_value
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind, Type, zone_of
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.walk import walk
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Missing
from cepheid.values.rows import Event

_ORDERED = (Kind.INT, Kind.FLOAT, Kind.DECIMAL, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION)
_NUMBERS = 50  # whole numbers closer together than that are no amounts
_LOOKED_AT = 2_000  # events on which an expression is evaluated
_SCALES = {100: "percent or cents", 1_000: "thousandths, such as milliseconds or grams"}


def range_of(columns: QueryColumns, component: Component, condition: ex.Expression, events: Sequence[Event]) -> str:
    """What the values of the column, or of the expression, of a condition are; empty if that can't be said."""
    match condition:
        case ex.Compare(_, side, ex.Literal() as constant) | ex.Compare(_, ex.Literal() as constant, side):
            constants: tuple[ex.Expression, ...] = (constant,)
        case ex.Between(side, low, high):
            constants = (low, high)
        case ex.In(side, choices, _):
            constants = choices
        case ex.Like(side, ex.Literal(str() as pattern), False) if "%" not in pattern and "_" not in pattern:
            seen = _seen(columns, component, side, events)
            return f"without % it is the whole text that is compared: LIKE '%{pattern}%' searches; {seen}"
        case ex.Like(side, _, _) | ex.RLike(side, _, _):
            constants = ()
        case _:
            reads = {node.name: node for node in walk(condition) if isinstance(node, ex.Attribute)}
            if len(reads) != 1:
                return ""
            side, constants = next(iter(reads.values())), ()
    seen = _seen(columns, component, side, events)
    return f"{seen}{_scale(columns, component, side, constants)}" if seen else ""


def _seen(columns: QueryColumns, component: Component, side: ex.Expression, events: Sequence[Event]) -> str:
    if isinstance(side, ex.Attribute):
        type_ = columns.query.schema.columns.get(side.name)
        if type_ is None or side.name not in columns.table.column_names:
            return ""
        if type_.kind in (Kind.STRING, Kind.BOOL):
            return f"the values of '{side.name}' are: {shown_values(columns.values(component, side.name))}"
        if type_.kind not in _ORDERED:
            return ""
        low, high = _ends(columns, component, side.name)
        return "" if low is None else f"'{side.name}' is between {_shown(low, type_)} and {_shown(high, type_)}"
    values, type_ = _evaluated(columns, component, side, events)
    if not values or type_.kind not in _ORDERED:
        return ""
    bounds = f"{write_value(min(values), type_)} and {write_value(max(values), type_)}"
    zones = [columns.query.schema.columns[n.name] for n in walk(side) if isinstance(n, ex.Attribute)]
    zone = next((zone_of(zoned) for zoned in zones if zoned.kind is Kind.TIMESTAMP and zone_of(zoned)), None)
    return f"{text_of(side)} is between {bounds}" + (f" (times are in {zone})" if zone else "")


def _ends(columns: QueryColumns, component: Component, name: str) -> tuple[Any, Any]:
    extremes = pc.min_max(columns.of(component, name)).as_py()
    return extremes["min"], extremes["max"]


def _shown(value: Any, type_: Type) -> str:
    return str(value) if type_.kind in (Kind.TIMESTAMP, Kind.DATE, Kind.DURATION) else write_value(value, type_)


def _evaluated(
    columns: QueryColumns, component: Component, side: ex.Expression, events: Sequence[Event]
) -> tuple[list[Any], Type]:
    writer = ConditionWriter(columns.query)
    values = []
    for event in events[:: max(1, len(events) // _LOOKED_AT)]:
        if component.types and event.type is not None and event.type not in component.types:
            continue
        bindings = Bindings({component.variable: (event,)}, {component.variable: event})
        try:
            value = writer.evaluate(side, bindings)
        except (Missing, IndexError):
            continue
        if value is not None:
            values.append(value)
    return values, writer.type_of(side)


def _scale(columns: QueryColumns, component: Component, side: ex.Expression, constants: Sequence[ex.Expression]) -> str:
    """Whether a constant would be in the range if it were a hundred times smaller or greater."""
    if not isinstance(side, ex.Attribute) or not constants:
        return ""
    type_ = columns.query.schema.columns[side.name]
    numbers = [c.value for c in constants if isinstance(c, ex.Literal) and isinstance(c.value, int | float)]
    if type_.kind not in (Kind.INT, Kind.FLOAT) or len(numbers) < len(constants):
        return ""
    low, high = _ends(columns, component, side.name)
    if low is None or (type_.kind is Kind.INT and high - low < _NUMBERS):
        return ""
    for factor, units in _SCALES.items():
        for scaled in ([n / factor for n in numbers], [n * factor for n in numbers]):
            if all(low <= number <= high and number for number in scaled):
                return f"; {scaled[0]:.6g} would be in this range: is one of them in {units}?"
    return ""
