"""Values of Python code that uses the builder. The code is read, never run: only what is listed here is called."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from cepheid import builder
from cepheid.builder.algebra import Step, Stream
from cepheid.builder.automata import Automaton
from cepheid.builder.columns import Column, lit
from cepheid.builder.drafts import Draft, checked
from cepheid.builder.functions import Conditional
from cepheid.builder.patterns import Pattern
from cepheid.builder.placing import BuiltQuery
from cepheid.builder.python_places import Places, with_clause_places, with_place
from cepheid.builder.variables import Events
from cepheid.errors import CepheidError, ParseError, did_you_mean
from cepheid.language import parse
from cepheid.pattern.tree.nodes import Program

MOST = 100_000
"""How many parts a query may have: a name that stands for much, used again and again, would never end."""

_BITS = 64  # of a number; to compute with larger ones could take for ever

TIMES: dict[str, type] = {"date": date, "datetime": datetime, "timedelta": timedelta}

_BUILT = (Column, Events, Draft, Stream, Step, Program)
_PLAIN = (str, int, float, type(None), timedelta, date)
_NUMBERS = (int, float, timedelta, date)
_WITH_PARTS = (Column, Events, Stream)
_OPERANDS = (Column, Pattern, Stream)
_Operation = Callable[[Any, Any], object]
Made = TypeVar("Made")
_OPERATORS: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[_Operation, _Operation]] = {
    ast.Eq: (operator.eq, operator.eq),
    ast.NotEq: (operator.ne, operator.ne),
    ast.Lt: (operator.lt, operator.gt),
    ast.LtE: (operator.le, operator.ge),
    ast.Gt: (operator.gt, operator.lt),
    ast.GtE: (operator.ge, operator.le),
}
"""Each comparison, and what Python makes of it where only the right side is a column."""
_VALUES = {"call": 1, "percentile": 1, "when": 1, "lit": 0, "between": 0, "is_in": 0, "like": 0, "rlike": 0}
_VALUES |= {"otherwise": 0}
"""The first argument of a function that is a value of the query, not a name or a number of Python."""
_NAMED_VALUES = ("same", "returns", "add")
_PROPERTIES = ("first", "current", "previous", "before", "last", "each", "len")
_QUOTE = "write the name as a string: "
_REMEDIES: dict[type[ast.AST], tuple[str, str]] = {
    ast.BoolOp: ("'and' and 'or' have no meaning for conditions", "write (a.x > 1) & (b.x > 2), and | for or"),
    ast.JoinedStr: ("an f-string would have to be run", "write the text itself, or cep.param('T') for a value"),
    ast.Lambda: ("a function can't be used in a query", "write the condition itself: a.price > 1"),
    ast.IfExp: ("'if' can't be used in a query", "write cep.when(a.x > 1, 'high').otherwise('low')"),
    ast.ListComp: ("a comprehension would have to be run", "write the list out: ['x', 'y']"),
    ast.GeneratorExp: ("a comprehension would have to be run", "write the list out: ['x', 'y']"),
}


class Package:
    """`cep`: what its names stand for."""


class MadeQuery:
    """`cep.Query(…)`: the tree that it was given."""

    def __init__(self, program: Program) -> None:
        self.program = program


CALLED: dict[str, Callable[..., object]] = {
    **{
        name: getattr(builder, name)
        for name in builder.__all__
        if name[0].islower() and name not in ("add_arc", "remove_arc", "duration")  # of which two change what runs
    },
    "program": checked,  # without places of its own text: those of the code are kept
    "Query": MadeQuery,
}
"""All that code can call, besides methods."""


class ExpressionReader:
    """Reads expressions. names: what the code has assigned and imported, with how many parts each stands for."""

    def __init__(self, code: str) -> None:
        self.places = Places(code)
        self.names: dict[str, tuple[object, int]] = {}
        self.parts = 0

    def refused(self, node: ast.AST, message: str, remedy: str) -> ParseError:
        """The error for a part of the code."""
        return ParseError("CEP114", message, remedy, self.places.of(node))

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self._count(node, 1)
        match node:
            case ast.Constant(value=str() | int() | float() | None as plain):
                return self._done(node, lambda: plain)
            case ast.Name():
                return self._name(node)
            case ast.List(elts=items):
                return list(self._items(items))
            case ast.Tuple(elts=items):
                return tuple(self._items(items))
            case ast.Set(elts=items):
                return self._done(node, lambda: set(self._items(items)))
            case ast.Dict():
                return self._dict(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
        kind = type(node)
        raise self.refused(
            node, *_REMEDIES.get(kind, ("this is not a part of a query", "write the query with the builder"))
        )

    def _operand(self, node: ast.expr) -> Any:
        """A value of the query, or a list of such."""
        if isinstance(node, ast.List | ast.Tuple):
            self._count(node, 1)
            return [self._operand(element) for element in node.elts]
        return self._constant(self.value(node), node)

    def _count(self, node: ast.AST, parts: int) -> None:
        self.parts += parts
        if self.parts > MOST:
            raise self.refused(node, f"the query has more than {MOST:,} parts", "split it into smaller queries")

    def _name(self, node: ast.Name) -> object:
        if node.id == "float":
            return float
        if node.id not in self.names:
            remedy = (
                "begin with: import cepheid as cep" if node.id == "cep" else did_you_mean(node.id, self.names, "names")
            )
            if node.id in TIMES:
                remedy = f"begin with: from datetime import {node.id}"
            raise self.refused(node, f"unknown name '{node.id}'", remedy)
        value, parts = self.names[node.id]
        self._count(node, parts)
        return value

    def _items(self, nodes: list[ast.expr]) -> Iterator[object]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                listed = self.value(node.value)
                if not isinstance(listed, list | tuple):
                    raise self.refused(node, "only a list can follow *", "write the list: *[a, b]")
                yield from listed
            else:
                yield self.value(node)

    def _dict(self, node: ast.Dict) -> dict[str, object]:
        items = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise self.refused(key or node, "a key of a dict is a text here", _QUOTE + "{'unit price': a.price}")
            items[key.value] = self.value(value)
        return items

    def _attribute(self, node: ast.Attribute) -> object:
        value, name = self.value(node.value), node.attr
        if isinstance(value, Package):
            if name in CALLED:
                raise self.refused(node, f"'{name}' is a function", f"call it: cep.{name}(…)")
            if name != "duration":
                raise self._unknown(node, name)
            return with_place(builder.duration, self.places.of(node))
        if name in _methods(value):
            raise self.refused(
                node, f"'{name}' is a method", f"call it: .{name}(…); an attribute of that name is ['{name}']"
            )
        if isinstance(value, Draft | MadeQuery) or not isinstance(value, _WITH_PARTS):
            raise self._no_attribute(node, value, name)
        if name.startswith("_") or (name in dir(type(value)) and name not in _PROPERTIES):
            remedy = f".field('{name}')" if isinstance(value, Column) else f"['{name}']"
            raise self.refused(node, f"'{name}' can't be read this way", f"write {remedy}")
        return self._done(node, lambda: with_place(getattr(value, name), self.places.of(node)))

    def _subscript(self, node: ast.Subscript) -> object:
        value = self.value(node.value)
        if not isinstance(value, _WITH_PARTS):
            raise self.refused(node, "only a variable or an attribute has parts", "write a['unit price'], or a.tags[0]")
        key: Any = slice(None) if isinstance(node.slice, ast.Slice) else self.value(node.slice)
        if isinstance(key, int) and isinstance(value, Column):
            key = with_place(lit(key), self.places.of(node.slice))
        return self._done(node, lambda: with_place(value[key], self.places.of(node)))

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            raise self.refused(node, "'not' has no meaning for conditions", "write ~(a.x > 1)")
        number = isinstance(value, int | float | timedelta) and not isinstance(value, bool)
        if isinstance(node.op, ast.USub) and (number or isinstance(value, Column)):
            return self._done(node, lambda: with_place(-value, self.places.of(node)))
        if isinstance(node.op, ast.Invert) and isinstance(value, Column | Pattern):
            return self._done(node, lambda: with_place(~value, self.places.of(node)))
        raise self.refused(node, "this operator has no meaning here", "- is for numbers, ~ for conditions and events")

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        act = _OPERATORS.get(type(node.op))
        if act is None:
            raise self.refused(node, "a query has no such operator", "use + - * / %, and & | ~ for conditions")
        joins = isinstance(node.op, ast.BitAnd | ast.BitOr)
        if isinstance(left, _OPERANDS) or isinstance(right, _OPERANDS):
            if not joins:  # where Python would format a text, it is a constant here
                left, right = self._constant(left, node.left), self._constant(right, node.right)
        elif joins or not (isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)):
            # Python computes with numbers itself; with texts and lists it could do so without end.
            raise self.refused(node, "no part of this is a column", "write cep.lit('x') for a constant of the query")
        return self._done(node, lambda: with_place(act(left, right), self.places.of(node)))

    def _comparison(self, node: ast.Compare) -> object:
        if len(node.ops) > 1:
            remedy = "compare two values at a time: (1 < a.x) & (a.x < 5)"
            raise self.refused(node, "a chain of comparisons has no meaning for conditions", remedy)
        sign = type(node.ops[0])
        if sign not in _COMPARISONS:
            remedy = "write a.x.is_in(['x', 'y'])" if sign in (ast.In, ast.NotIn) else "write a.x.is_null()"
            raise self.refused(node, "a query has no such comparison", remedy)
        left, right = self.value(node.left), self.value(node.comparators[0])
        act, mirrored = _COMPARISONS[sign]
        if isinstance(left, Column):
            other = right if _is_duration(left) else self._constant(right, node.comparators[0])
            return self._done(node, lambda: with_place(act(left, other), self.places.of(node)))
        if isinstance(right, Column):
            other = left if _is_duration(right) else self._constant(left, node.left)
            return self._done(node, lambda: with_place(mirrored(right, other), self.places.of(node)))
        raise self.refused(node, "no part of this is a column", "compare an attribute: a.price > 1")

    def _constant(self, value: object, node: ast.expr) -> object:
        """A Python value as a constant of the query that knows its place; other values as they are."""
        if not isinstance(value, str | int | float):
            return value
        return self._done(node, lambda: with_place(lit(value), self.places.of(node)))

    def _call(self, node: ast.Call) -> object:
        before, name, act = self._callee(node.func)
        first = _VALUES.get(name, len(node.args)) if not _is_duration(before) else len(node.args)
        arguments = list(self._items(node.args[:first]))
        arguments += [self._operand(argument) for argument in node.args[first:]]
        named: dict[str, object] = {}
        for keyword in node.keywords:
            read = self._operand if name in _NAMED_VALUES and keyword.arg is not None else self.value
            passed = read(keyword.value)
            if keyword.arg is None and not isinstance(passed, dict):
                raise self.refused(keyword.value, "only a dict can follow **", "write **{'unit price': a.price}")
            for key, value in passed.items() if keyword.arg is None else [(keyword.arg, passed)]:
                if key in named:
                    raise self.refused(keyword.value, f"the argument '{key}' is given twice", "keep one of them")
                named[key] = value
        if name == "Query" and before is None:
            return self._query(node, arguments, named)
        made = self._done(node, lambda: act(*arguments, **named))
        if name == "lit":
            return made
        return with_place(with_clause_places(before, made, node, self.places), self.places.of(node))

    def _callee(self, node: ast.expr) -> tuple[object, str, Callable[..., Any]]:
        """What a method is called on, the name of the function, and the function."""
        if isinstance(node, ast.Attribute):
            value = self.value(node.value)
            if isinstance(value, Package):
                if node.attr not in CALLED:
                    raise self._unknown(node, node.attr)
                return None, node.attr, CALLED[node.attr]
            if node.attr not in _methods(value):
                raise self._no_attribute(node, value, node.attr)
            return value, node.attr, getattr(value, node.attr)
        if isinstance(node, ast.Name):
            callee: Any = self._name(node)
            if callee is float or any(callee is function for function in TIMES.values()):
                return None, node.id, callee
            name = next((known for known, function in CALLED.items() if function is callee), None)
            if name is not None:
                return None, name, callee
        raise self.refused(
            node, "this can't be called in a query", "call functions of the builder: cep.event('Shelf', a)"
        )

    def _query(self, node: ast.Call, arguments: list[object], named: dict[str, object]) -> MadeQuery:
        if named:
            keyword = next(keyword_ for keyword_ in node.keywords if keyword_.arg is None or keyword_.arg in named)
            remedy = "leave it out, and pass it to the command: cepheid studio --param T=3 --unit s …"
            raise self.refused(keyword.value, "options of cep.Query can't be read here", remedy)
        if len(arguments) != 1:
            raise self.refused(node, "cep.Query takes one query", "write cep.Query(cep.seq(…))")
        (argument,) = arguments
        if isinstance(argument, str):
            start = self.places.inside(node.args[0])
            # Blanks in the place of what is before it: places in the text are then places in the code.
            before = "" if start is None else "".join(c if c == "\n" else " " for c in self.places.code[:start])
            try:
                return MadeQuery(parse(before + argument))
            except CepheidError as error:
                raise error if start is not None else self.places.error(error, node) from None
        if isinstance(argument, BuiltQuery):
            return MadeQuery(self._done(node, lambda: checked(argument)))
        if isinstance(argument, Program):
            return MadeQuery(argument)
        raise self.refused(node, "this is not a query", "pass a pattern of the builder: cep.Query(cep.seq(…))")

    def _done(self, node: ast.AST, act: Callable[[], Made]) -> Made:
        """What a part of the builder makes; what it complains of has a place."""
        try:
            made = act()
        except CepheidError as error:
            raise self.places.error(error, node) from None
        except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
            # Python's own complaints, such as of an argument that there is not: "Draft.within() missing 1 …"
            message = re.sub(r"^\w+\.(?=\w+\(\))", "", str(error))
            raise self.refused(node, message, "see the functions of the builder: docs/builder.md") from None
        if isinstance(made, int) and made.bit_length() > _BITS:
            raise self.refused(node, "the number is too large", f"a number has at most {_BITS} bits")
        if isinstance(made, (*_BUILT, *_PLAIN, set)):
            return made
        raise self.refused(node, "this is not a part of a query", "compare and combine attributes: a.price > 1")

    def _unknown(self, node: ast.AST, name: str) -> ParseError:
        return self.refused(
            node, f"the builder has no '{name}'", did_you_mean(name, [*CALLED, "duration"], "functions")
        )

    def _no_attribute(self, node: ast.AST, value: object, name: str) -> ParseError:
        known = _methods(value)
        if isinstance(value, MadeQuery):
            return self.refused(
                node, "only the query itself is read here", f"leave out .{name}: the page runs the query"
            )
        return self.refused(node, f"there is no '{name}' here", did_you_mean(name, known, "methods"))


def _methods(value: object) -> set[str]:
    """The methods of a value of the builder."""
    kind = next(
        (class_ for class_ in (Automaton, Draft, Conditional, Column, Events, Stream) if isinstance(value, class_)),
        None,
    )
    if kind is None:
        return set()
    return {name for name in dir(type(value)) if not name.startswith("_") and callable(getattr(type(value), name))}


def _is_duration(value: object) -> bool:
    return type(value) is type(builder.duration)
