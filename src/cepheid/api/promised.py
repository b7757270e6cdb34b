"""What `punctuate` is told of events to come: the values of columns, or a condition on an event."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.builder.columns import Column
from cepheid.errors import BindError, UsageError, did_you_mean
from cepheid.language import parse_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.walk import walk
from cepheid.plan.taken import E

_OF_MATCHES = (
    ex.RegisterField,
    ex.Rows,
    ex.Length,
    ex.AggregateCall,
    ex.Quantified,
    ex.SameValue,
    ex.MatchId,
    ex.InSet,
)
_EXAMPLES = """write {"symbol": "A"}, or a condition on the event e such as "e.type = 'Exit'\""""


def read_promise(where: object, columns: Mapping[str, Type]) -> tuple[ex.Expression, bool]:
    """What is promised, as a condition on `e`, and whether it is given as the values of columns."""
    if isinstance(where, Mapping):
        return _read_key(where, columns), True
    if isinstance(where, Column):
        condition = where.expression
    elif isinstance(where, str):
        condition = parse_expression(where)
    else:
        raise UsageError("CEP603", f"{where!r} does not say which events are promised not to come", _EXAMPLES)
    for node in walk(condition):
        if isinstance(node, ex.Name):
            remedy = f"write e.{node.name} for a column"
            raise BindError("CEP304", f"unknown name '{node.name}' in the condition of punctuate", remedy, node.span)
        other = isinstance(node, ex.Attribute) and (node.variable != E or node.index is not ex.Index.ONE)
        if other or isinstance(node, _OF_MATCHES):
            remedy = "read nothing but columns of the event e: e.price > 10"
            raise BindError("CEP603", "the condition of punctuate is on one event to come", remedy, node.span)
    if not any(isinstance(node, ex.Attribute) for node in walk(condition)):
        message = "the condition of punctuate reads no column"
        raise UsageError("CEP603", message, "if no event at all comes before a time, use advance")
    return condition, False


def _read_key(where: Mapping[str, object], columns: Mapping[str, Type]) -> ex.Expression:
    if not where:
        message = "punctuate is given no column"
        raise UsageError("CEP603", message, "if no event at all comes before a time, use advance")
    tests: list[ex.Expression] = []
    for name, value in where.items():
        if name not in columns:
            raise BindError("CEP301", f"unknown column '{name}'", did_you_mean(str(name), columns, "columns"))
        attribute = ex.Attribute(E, ex.Index.ONE, name)
        constant = literal(value, name=name)
        tests.append(ex.IsNull(attribute) if constant.value is None else ex.Compare("=", attribute, constant))
    return tests[0] if len(tests) == 1 else ex.And(tuple(tests))
