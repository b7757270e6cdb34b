"""Expressions as source text. Every value comes with the text that says whether it is NULL, where it can be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cepheid.automaton.model import Held, NotNative, Now, Register
from cepheid.pattern import expressions as ex
from cepheid.pattern.types import Kind, Type

KINDS = {
    Kind.INT: "i",
    Kind.FLOAT: "f",
    Kind.BOOL: "b",
    Kind.STRING: "s",
    Kind.DATE: "i",
    Kind.TIMESTAMP: "t",
    Kind.DURATION: "t",
}
"""How a kernel sees a type: i whole number, f double, b boolean, s code of a string, t nanoseconds."""


def kind_of(type_: Type) -> str:
    """The kernel's kind of a type, or the reason why it has none."""
    if type_.kind not in KINDS:
        raise NotNative(f"values of type {type_}")
    return KINDS[type_.kind]


@dataclass(frozen=True, slots=True)
class Code:
    """The text of a value; `null` is the text of a condition, empty where the value is never NULL."""

    text: str
    kind: str
    null: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """The texts of *is TRUE* and *is FALSE*: what is neither is NULL (S3)."""

    true: str
    false: str


class Emitter:
    """Writes expressions over the columns of the event at hand and over registers.

    nullable: the columns that have NULLs. strings: the code of a constant string. registers: how each is read.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        nullable: frozenset[str],
        strings: Callable[[str], int],
        registers: Callable[[Register], Code],
    ) -> None:
        self.names = names
        self.nullable = nullable
        self.strings = strings
        self.registers = registers
        self.columns: set[str] = set()

    def value(self, node: ex.Expression) -> Code:
        """A value."""
        match node:
            case Now(column=column, type=type_):
                kind = kind_of(type_)
                self.columns.add(column)
                name = self.names[column]
                return Code(f"c_{name}[i]", kind, f"z_{name}[i] != 0" if column in self.nullable else "")
            case Held(register=register):
                return self.registers(register)
            case ex.Literal(value=value, type=type_):
                return self.literal(value, type_)
            case ex.Arithmetic():
                return self.arithmetic(node)
            case ex.Minus(operand=operand):
                found = self.value(operand)
                return Code(f"wrap(-{found.text})" if found.kind == "i" else f"(-{found.text})", found.kind, found.null)
            case ex.Call():
                return self.call(node)
            case ex.Case():
                return self.case(node)
            case ex.Compare() | ex.And() | ex.Or() | ex.Not() | ex.IsNull() | ex.In() | ex.Between():
                truth = self.truth(node)
                return Code(truth.true, "b", neither(truth.true, truth.false))
        raise NotNative(f"{type(node).__name__.lower()} in a condition over several events")

    def literal(self, value: object, type_: Type) -> Code:
        """A constant."""
        if value is None:
            return Code("0", "i", "True")
        kind = kind_of(type_)
        if kind == "s":
            assert isinstance(value, str)
            return Code(str(self.strings(value)), "s")
        if kind == "f":
            assert isinstance(value, float | int)
            number = float(value)
            if math.isnan(number):
                return Code("NAN", "f")
            text = "INF" if math.isinf(number) else repr(abs(number))
            return Code(text if math.copysign(1, number) > 0 else f"(-{text})", "f")
        text = repr(value)
        return Code(f"({text})" if text.startswith("-") else text, kind)

    def arithmetic(self, node: ex.Arithmetic) -> Code:
        """S3a."""
        left, right = self.value(node.left), self.value(node.right)
        null = either(left.null, right.null)
        if "t" in (left.kind, right.kind):
            if any(isinstance(side, ex.Arithmetic | ex.Case | ex.Call) for side in (node.left, node.right)):
                raise NotNative("arithmetic of several times")
            return Code(f"({left.text} {node.operator} {right.text})", "t", null)
        if left.kind not in "if" or right.kind not in "if":
            raise NotNative(f"{node.operator} of what is no number")
        if node.operator == "/":
            return Code(f"({real(left)} / {real(right)})", "f", either(null, f"{right.text} == 0"))
        kind = "f" if "f" in (left.kind, right.kind) else "i"
        one, other = (real(left), real(right)) if kind == "f" else (left.text, right.text)
        if node.operator == "%":
            zero = "" if _is_constant(node.right) else f"{right.text} == 0"
            return Code(f"{'remainder' if kind == 'i' else 'fremainder'}({one}, {other})", kind, either(null, zero))
        text = f"({one} {node.operator} {other})"
        return Code(f"wrap{text}" if kind == "i" else text, kind, null)

    def call(self, node: ex.Call) -> Code:
        """The few functions that need no Python."""
        if node.function == "abs":
            found = self.value(node.arguments[0])
            return Code(
                f"wrap(abs({found.text}))" if found.kind == "i" else f"abs({found.text})", found.kind, found.null
            )
        if node.function == "coalesce":
            *firsts, result = [self.value(argument) for argument in node.arguments]
            for found in reversed(firsts):
                if not found.null:
                    result = found
                else:
                    text = f"({result.text} if {found.null} else {found.text})"
                    result = Code(text, found.kind, both(found.null, result.null) if result.null else "")
            return result
        if node.function == "nullif":
            one, other = (self.value(argument) for argument in node.arguments)
            same = self.compare("=", one, other).true
            return Code(one.text, one.kind, either(one.null, same))
        raise NotNative(f"{node.function} over several events")

    def case(self, node: ex.Case) -> Code:
        """CASE as nested choices."""
        result = self.value(node.otherwise) if node.otherwise is not None else Code("0", "i", "True")
        for arm in reversed(node.arms):
            condition, found = self.truth(arm.condition).true, self.value(arm.result)
            null = ""
            if found.null or result.null:
                null = f"({found.null or 'False'} if {condition} else {result.null or 'False'})"
            kind = found.kind if found.null != "True" else result.kind
            result = Code(f"({found.text} if {condition} else {result.text})", kind, null)
        return result

    def truth(self, node: ex.Expression) -> Truth:
        """A condition."""
        match node:
            case ex.Compare(operator=operator, left=left, right=right):
                return self.compare(operator, self.value(left), self.value(right))
            case ex.And(operands=operands):
                parts = [self.truth(operand) for operand in operands]
                return Truth(all_of(p.true for p in parts), any_of(p.false for p in parts))
            case ex.Or(operands=operands):
                parts = [self.truth(operand) for operand in operands]
                return Truth(any_of(p.true for p in parts), all_of(p.false for p in parts))
            case ex.Not(operand=operand):
                found = self.truth(operand)
                return Truth(found.false, found.true)
            case ex.IsNull(operand=operand, negated=negated):
                null = self.value(operand).null or "False"
                return Truth(negate(null), null) if negated else Truth(null, negate(null))
            case ex.In(operand=operand, choices=choices, negated=negated):
                value = self.value(operand)
                parts = [self.compare("=", value, self.value(choice)) for choice in choices]
                found = Truth(any_of(p.true for p in parts), all_of(p.false for p in parts))
                return Truth(found.false, found.true) if negated else found
            case ex.Between(operand=operand, low=low, high=high, negated=negated):
                value = self.value(operand)
                parts = [self.compare(">=", value, self.value(low)), self.compare("<=", value, self.value(high))]
                found = Truth(all_of(p.true for p in parts), any_of(p.false for p in parts))
                return Truth(found.false, found.true) if negated else found
        return self.boolean(self.value(node))

    def boolean(self, value: Code) -> Truth:
        """A value that stands where a condition does."""
        if value.null == "True":
            return Truth("False", "False")
        if value.kind != "b":
            raise NotNative("a condition that is no boolean")
        text = f"({value.text} != 0)"
        if not value.null:
            return Truth(text, negate(text))
        return Truth(both(negate(value.null), text), both(negate(value.null), negate(text)))

    def compare(self, operator: str, left: Code, right: Code) -> Truth:
        """A comparison: NaN equals NaN and is the greatest number (S3a)."""
        null = either(left.null, right.null)
        if null == "True":
            return Truth("False", "False")
        kinds = {left.kind, right.kind}
        if "s" in kinds and (operator not in ("=", "!=") or kinds != {"s"}):
            raise NotNative("strings compared by their order")
        if "f" in kinds:
            text = _compare_real(operator, real(left), real(right))
        else:
            sign = {"=": "==", "!=": "!="}.get(operator, operator)
            text = f"({left.text} {sign} {right.text})"
        if not null:
            return Truth(text, negate(text))
        return Truth(both(negate(null), text), both(negate(null), negate(text)))


def _compare_real(operator: str, left: str, right: str) -> str:
    """Doubles; beside a constant, which is no NaN, there is less to ask."""
    if operator in (">", ">="):
        return _compare_real({">": "<", ">=": "<="}[operator], right, left)
    if operator == "<=":
        return f"(not {_compare_real('<', right, left)})"
    if operator == "!=":
        return f"(not {_compare_real('=', left, right)})"
    if operator == "=":
        return f"({left} == {right})" if _is_number(left) or _is_number(right) else f"same({left}, {right})"
    if _is_number(right):
        return f"({left} < {right})"
    return f"(not {right} <= {left})" if _is_number(left) else f"less({left}, {right})"


_NUMBER = re.compile(r"\(?-?[\d.]+(e[+-]?\d+)?\)?")


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _is_constant(node: ex.Expression) -> bool:
    return isinstance(node, ex.Literal) and node.value not in (None, 0)


def real(code: Code) -> str:
    """As a double."""
    if code.kind != "f" and re.fullmatch(r"\(?-?\d+\)?", code.text):
        return code.text[:-1] + ".0)" if code.text.endswith(")") else f"{code.text}.0"
    return code.text if code.kind == "f" else f"float({code.text})"


def negate(text: str) -> str:
    """NOT of a condition that is never NULL."""
    if text in ("True", "False"):
        return str(text == "False")
    return text[5:-1] if text.startswith("(not ") and text.endswith(")") and text.count("(") == 1 else f"(not {text})"


def both(one: str, other: str) -> str:
    """AND."""
    return all_of([one, other])


def either(one: str, other: str) -> str:
    """OR of texts that may be empty."""
    return any_of([text for text in (one, other) if text]) if one or other else ""


def neither(true: str, false: str) -> str:
    """Whether a condition is NULL; empty where it can't be."""
    return "" if false == negate(true) else f"(not ({true} or {false}))"


def all_of(texts: Iterable[str]) -> str:
    """AND of conditions that are never NULL."""
    parts = [text for text in texts if text != "True"]
    if "False" in parts:
        return "False"
    return parts[0] if len(parts) == 1 else f"({' and '.join(parts)})" if parts else "True"


def any_of(texts: Iterable[str]) -> str:
    """OR of conditions that are never NULL."""
    parts = [text for text in texts if text != "False"]
    if "True" in parts:
        return "True"
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})" if parts else "False"
