"""Expressions of a pattern tree as Python code of the builder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import singledispatch
from keyword import iskeyword

from cepheid.builder.columns import Column
from cepheid.builder.variables import Variable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind

_TAKEN = ("cep", "date", "query", "timedelta")
_INDEXES = {
    ex.Index.ONE: "",
    ex.Index.FIRST: ".first",
    ex.Index.CURRENT: ".current",
    ex.Index.PREVIOUS: ".previous",
    ex.Index.BEFORE: ".before",
    ex.Index.LAST: ".last",
    ex.Index.EACH: ".each",
}
_OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LOOSE, _COMPARED, _OR, _AND, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)
_ATTRIBUTES = frozenset(dir(Variable))


class NoSpellingError(Exception):
    """The builder makes no such tree."""


@dataclass(frozen=True)
class Names:
    """What the variables of a query are called in Python; what its code needs is noted in `used`.

    single: whether the pattern is one event, whose attributes are bare names. bound: the variables of the pattern.
    """

    variables: list[str]
    single: bool = False
    bound: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)

    def of_query(self, *, single: bool, bound: set[str]) -> Names:
        """The same names for one query of a program."""
        return replace(self, single=single, bound=frozenset(bound))

    def variable(self, name: str) -> str:
        """The Python name of a variable."""
        if name not in self.variables:
            return f"cep.var({quote(name)})"
        plain = name.isidentifier() and name.isascii() and not iskeyword(name) and name not in _TAKEN
        return name if plain else f"v{self.variables.index(name)}_"

    def declarations(self) -> list[str]:
        """The lines that make the variables."""
        if not self.variables:
            return []
        left = ", ".join(map(self.variable, self.variables))
        return [f"{left} = {', '.join(f'cep.var({quote(name)})' for name in self.variables)}"]

    def imports(self) -> list[str]:
        """The lines for what else is used."""
        return [f"from datetime import {', '.join(sorted(self.used))}"] if self.used else []


def quote(text: str) -> str:
    """A string of Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def print_value(node: ex.Expression, names: Names) -> str:
    """A value, as an argument; a constant is the Python value itself."""
    return _print(node, names)[0]


def print_condition(node: ex.Expression, names: Names) -> str:
    """A condition, which is a column also where it is a constant."""
    return _column(node, names, _LOOSE)


def _at(node: ex.Expression, names: Names, least: int) -> str:
    """A value as an operand."""
    text, level = _print(node, names)
    return text if level >= least else f"({text})"


def _column(node: ex.Expression, names: Names, least: int = _ATOM) -> str:
    """A value that must be a column, such as one whose method is called: a constant is made one."""
    return f"cep.lit({print_value(node, names)})" if isinstance(node, ex.Literal) else _at(node, names, least)


@singledispatch
def _print(node: ex.Expression, names: Names) -> tuple[str, int]:
    raise NoSpellingError


@_print.register
def _(node: ex.Literal, names: Names) -> tuple[str, int]:
    value, kind = node.value, node.type.kind
    if value is None:
        return "None", _ATOM
    if kind is Kind.STRING and isinstance(value, str):
        return quote(value), _ATOM
    if isinstance(value, bool | int) and kind in (Kind.BOOL, Kind.INT):
        return repr(value), _UNARY if value < 0 else _ATOM
    if isinstance(value, float) and kind is Kind.FLOAT:
        text = repr(value) if math.isfinite(value) else f'float("{value}")'
        return text, _UNARY if text.startswith("-") else _ATOM
    if kind is Kind.DURATION and isinstance(value, int) and value % 1000 == 0 and value >= 0:
        names.used.add("timedelta")
        return _timedelta(timedelta(microseconds=value // 1000)), _ATOM
    if kind is Kind.DATE and isinstance(value, int):
        names.used.add("date")
        day = date(1970, 1, 1) + timedelta(days=value)
        return f"date({day.year}, {day.month}, {day.day})", _ATOM
    raise NoSpellingError


def _timedelta(value: timedelta) -> str:
    seconds = value // timedelta(seconds=1)
    if value.microseconds:
        return f"timedelta(microseconds={value // timedelta(microseconds=1)})"
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds and seconds % size == 0:
            return f"timedelta({unit}={seconds // size})"
    return f"timedelta(seconds={seconds})"


@_print.register
def _(node: ex.Name, names: Names) -> tuple[str, int]:
    return f"cep.{'col' if names.single and '.' not in node.name else 'param'}({quote(node.name)})", _ATOM


@_print.register
def _(node: ex.Attribute, names: Names) -> tuple[str, int]:
    events = names.variable(node.variable) + _index(node.index)
    return f"{events}{_member(node.name, _ATTRIBUTES)}", _ATOM


def _index(index: ex.AnyIndex) -> str:
    match index:
        case ex.Nth(number):
            return f".nth({number})"
        case ex.Back(steps):
            return f".back({steps})"
        case ex.Index():
            return _INDEXES[index]


def _member(name: str, taken: frozenset[str]) -> str:
    plain = name.isidentifier() and name.isascii() and not iskeyword(name) and not name.startswith("_")
    return f".{name}" if plain and name not in taken else f"[{quote(name)}]"


@_print.register
def _(node: ex.Length, names: Names) -> tuple[str, int]:
    return f"{names.variable(node.variable)}.len", _ATOM


@_print.register
def _(node: ex.Rows, names: Names) -> tuple[str, int]:
    return f"{names.variable(node.variable)}{_index(node.index)}", _ATOM


@_print.register
def _(node: ex.Field, names: Names) -> tuple[str, int]:
    operand = _column(node.operand, names)
    plain = node.name.isidentifier() and node.name.isascii() and not iskeyword(node.name)
    if plain and not node.name.startswith("_") and not hasattr(Column, node.name):
        return f"{operand}.{node.name}", _ATOM
    return f"{operand}.field({quote(node.name)})", _ATOM


@_print.register
def _(node: ex.Element, names: Names) -> tuple[str, int]:
    return f"{_column(node.operand, names)}[{print_value(node.index, names)}]", _ATOM


@_print.register
def _(node: ex.MatchId, names: Names) -> tuple[str, int]:
    return "cep.match_id()", _ATOM


@_print.register
def _(node: ex.AggregateCall, names: Names) -> tuple[str, int]:
    argument = print_value(node.argument, names)
    if node.function not in ex.AGGREGATES:
        if not node.distinct and node.filter is None:
            raise NoSpellingError
        text = f"cep.call({quote(node.function)}, {argument})"
    elif isinstance(node.argument, ex.Literal):
        raise NoSpellingError
    elif node.share is not None:
        text = f"cep.{node.function}({argument}, {print_value(node.share, names)})"
    else:
        text = f"cep.{node.function}({argument})"
    text = f"cep.distinct({text})" if node.distinct else text
    return (text if node.filter is None else f"cep.filtered({text}, {print_condition(node.filter, names)})"), _ATOM


@_print.register
def _(node: ex.Quantified, names: Names) -> tuple[str, int]:
    return f"cep.{node.quantifier.lower()}({print_condition(node.condition, names)})", _ATOM


@_print.register
def _(node: ex.Call, names: Names) -> tuple[str, int]:
    if node.function.lower() in ex.AGGREGATES:
        raise NoSpellingError
    return f"cep.call({_arguments([quote(node.function)], node.arguments, names)})", _ATOM


def _arguments(first: list[str], more: Iterable[ex.Expression], names: Names) -> str:
    return ", ".join([*first, *(print_value(value, names) for value in more)])


@_print.register
def _(node: ex.Minus, names: Names) -> tuple[str, int]:
    if isinstance(node.operand, ex.Literal) and node.operand.type.kind in (Kind.INT, Kind.FLOAT):
        raise NoSpellingError  # which is one constant
    return f"-{_column(node.operand, names, _UNARY)}", _UNARY


@_print.register
def _(node: ex.Arithmetic, names: Names) -> tuple[str, int]:
    level = _SUM if node.operator in "+-" else _PRODUCT
    # A number may stand on the left of a column; of two constants, or of a string, Python would compute itself.
    plain = isinstance(node.left, ex.Literal) and node.left.type.kind in (Kind.INT, Kind.FLOAT)
    bare = plain and not isinstance(node.right, ex.Literal)
    left = _at(node.left, names, level) if bare else _column(node.left, names, level)
    return f"{left} {node.operator} {_at(node.right, names, level + 1)}", level


@_print.register
def _(node: ex.Compare, names: Names) -> tuple[str, int]:
    left, right = _column(node.left, names, _OR), _at(node.right, names, _OR)
    return f"{left} {_OPERATORS[node.operator]} {right}", _COMPARED


@_print.register
def _(node: ex.And, names: Names) -> tuple[str, int]:
    return _joined(node, " & ", names), _AND


@_print.register
def _(node: ex.Or, names: Names) -> tuple[str, int]:
    return _joined(node, " | ", names), _OR


def _joined(node: ex.And | ex.Or, sign: str, names: Names) -> str:
    if any(type(side) is type(node) for side in node.operands):
        raise NoSpellingError  # which the builder makes one of
    return sign.join(_column(side, names, _SUM) for side in node.operands)


@_print.register
def _(node: ex.Not, names: Names) -> tuple[str, int]:
    if isinstance(node.operand, ex.In | ex.InSet | ex.Between | ex.Like | ex.RLike | ex.IsNull):
        raise NoSpellingError  # whose ~ is something else
    return f"~{_column(node.operand, names, _UNARY)}", _UNARY


def _negated(text: str, negated: bool) -> tuple[str, int]:
    return (f"~{text}", _UNARY) if negated else (text, _ATOM)


@_print.register
def _(node: ex.IsNull, names: Names) -> tuple[str, int]:
    return f"{_column(node.operand, names)}.{'is_not_null' if node.negated else 'is_null'}()", _ATOM


@_print.register
def _(node: ex.In, names: Names) -> tuple[str, int]:
    text = f"{_column(node.operand, names)}.is_in([{_arguments([], node.choices, names)}])"
    return _negated(text, node.negated)


@_print.register
def _(node: ex.InSet, names: Names) -> tuple[str, int]:
    return _negated(f"{_column(node.operand, names)}.is_in(cep.param({quote(node.set)}))", node.negated)


@_print.register
def _(node: ex.Between, names: Names) -> tuple[str, int]:
    text = f"{_column(node.operand, names)}.between({_arguments([], (node.low, node.high), names)})"
    return _negated(text, node.negated)


@_print.register
def _(node: ex.Like, names: Names) -> tuple[str, int]:
    return _negated(f"{_column(node.operand, names)}.like({print_value(node.pattern, names)})", node.negated)


@_print.register
def _(node: ex.RLike, names: Names) -> tuple[str, int]:
    return _negated(f"{_column(node.operand, names)}.rlike({print_value(node.pattern, names)})", node.negated)


@_print.register
def _(node: ex.Cast, names: Names) -> tuple[str, int]:
    return f"{_column(node.operand, names)}.cast({quote(node.type)})", _ATOM


@_print.register
def _(node: ex.CaseWhen, names: Names) -> tuple[str, int]:
    if node.subject is not None:
        raise NoSpellingError
    arms = ".".join(
        f"when({print_condition(arm.condition, names)}, {print_value(arm.result, names)})" for arm in node.arms
    )
    end = "" if node.otherwise is None else f".otherwise({print_value(node.otherwise, names)})"
    return f"cep.{arms}{end}", _ATOM
