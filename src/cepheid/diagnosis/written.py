"""A condition with its values written in: `b.volume < 0.8 * a[a.LEN].volume: 640 < 600`."""

from __future__ import annotations

from datetime import date, timedelta

from cepheid.errors import EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.expressions.timestamps import print_timestamp
from cepheid.pattern.expressions.types import BOOL, Kind, Type
from cepheid.pattern.tree.walk import walk
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler, Missing
from cepheid.values.value import Value

_LONGEST = 60  # characters of a value


def text_of(node: ex.Expression) -> str:
    """A condition as the user wrote it."""
    bare = node.span is None or isinstance(node, ex.SameValue)  # whose span is that of the name
    return print_expression(node) if bare or node.span is None else " ".join(node.span.excerpt.split())


def write_value(value: Value, type_: Type) -> str:
    """A value as a reader knows it; NULL is said as NULL."""
    if value is None:
        return "NULL"
    match type_.kind:
        case Kind.STRING:
            text = "'" + str(value) + "'"
        case Kind.BOOL:
            text = "TRUE" if value else "FALSE"
        case Kind.TIMESTAMP if isinstance(value, int):
            text = print_timestamp(value, zoned=False)
        case Kind.DATE if isinstance(value, int):
            text = str(date(1970, 1, 1) + timedelta(days=value))
        case Kind.DURATION if isinstance(value, int):
            text = f"-{spell(-value)}" if value < 0 else spell(value)
        case Kind.FLOAT if isinstance(value, float):
            text = f"{value:.10g}"
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class ConditionWriter:
    """Writes the values of one query's conditions."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.compiler = Compiler(query)
        self._compiled: dict[int, tuple[ex.Expression, object]] = {}

    def explain(self, condition: ex.Expression, bindings: Bindings) -> str:
        """A condition, a colon, and the same with values in the place of its sides."""
        return f"{text_of(condition)}: {self.filled(condition, bindings)}"

    def filled(self, node: ex.Expression, bindings: Bindings) -> str:
        """The sides of a comparison as values. Of AND, the first operand that is not TRUE."""
        match node:
            case ex.Compare(operator, left, right):
                return f"{self.value(left, bindings)} {operator} {self.value(right, bindings)}"
            case ex.Between(operand, low, high, negated):
                bounds = f"{self.value(low, bindings)} AND {self.value(high, bindings)}"
                return f"{self.value(operand, bindings)} {'NOT ' if negated else ''}BETWEEN {bounds}"
            case ex.In(operand, choices, negated):
                some = ", ".join(self.value(choice, bindings) for choice in choices[:5])
                more = ", …" if len(choices) > 5 else ""
                return f"{self.value(operand, bindings)} {'NOT ' if negated else ''}IN ({some}{more})"
            case ex.Like(operand, pattern, negated) | ex.RLike(operand, pattern, negated):
                word = ("NOT " if negated else "") + ("LIKE" if isinstance(node, ex.Like) else "RLIKE")
                return f"{self.value(operand, bindings)} {word} {self.value(pattern, bindings)}"
            case ex.IsNull(operand, negated):
                return f"{self.value(operand, bindings)} IS {'NOT ' if negated else ''}NULL"
            case ex.And(operands):
                failed = next((side for side in operands if self.evaluate(side, bindings) is not True), operands[0])
                return self.filled(failed, bindings)
            case ex.Or(operands):
                return " OR ".join(self.filled(side, bindings) for side in operands)
            case ex.Not(operand):
                return f"NOT ({self.filled(operand, bindings)})"
        read = [part for part in walk(node) if isinstance(part, ex.Attribute | ex.Length)]
        values = {print_expression(part): self.value(part, bindings) for part in read}
        return ", ".join(f"{name} = {value}" for name, value in values.items()) or self.value(node, bindings)

    def value(self, node: ex.Expression, bindings: Bindings) -> str:
        """The value of a part of a condition."""
        try:
            return write_value(self.evaluate(node, bindings), self.type_of(node))
        except Missing:
            return "(missing)"

    def type_of(self, node: ex.Expression) -> Type:
        """The type of a part of a condition."""
        boolean = isinstance(node, ex.And | ex.Or | ex.Not | ex.Compare | ex.Quantified)
        return BOOL if boolean else self.query.typer.check(node)[1]

    def evaluate(self, node: ex.Expression, bindings: Bindings) -> Value:
        """The value of a part of a condition, as Cepheid computes with it."""
        if id(node) not in self._compiled:
            self._compiled[id(node)] = node, self.compiler.compile(node)
        try:
            return self._compiled[id(node)][1](bindings)  # type: ignore[operator]
        except (EvaluationError, KeyError):
            return None

    def distance(self, condition: ex.Expression, bindings: Bindings) -> float:
        """How far the sides of a comparison are apart, from 0 to 1: of numbers as a part of the larger one."""
        failed = condition
        if isinstance(condition, ex.And):
            failed = next((c for c in condition.operands if self.evaluate(c, bindings) is not True), condition)
        if not isinstance(failed, ex.Compare):
            return 1.0
        try:
            low_side, high_side = self.evaluate(failed.left, bindings), self.evaluate(failed.right, bindings)
            if isinstance(low_side, str) and isinstance(high_side, str):
                return 0.0 if low_side.strip().casefold() == high_side.strip().casefold() else 1.0
            left, right = float(low_side), float(high_side)
        except (TypeError, ValueError, Missing):
            return 1.0
        largest = max(abs(left), abs(right))
        apart = abs(left - right) / largest if largest else 0.0
        return apart if apart <= 1 else 1.0
