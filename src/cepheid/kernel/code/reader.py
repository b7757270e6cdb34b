"""A Python function of ours as a kernel: what no query shapes is written by hand, and runs as it is or compiled.

It reads the part of Python that kernels need: numbers and arrays, `while`, `if`, assignments, calls. Parameters say
their types; a variable has the type of what it is first given, and a whole number without a type is `Int64`. `Key` is
any type, settled by the arguments of a call. `Int64s` is an array of `Int64`. A parameter may be a record of arrays, a
`NamedTuple`: for machine code its arrays are parameters side by side, which have the names of the fields.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol, TypeAlias

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, any_of, choose, negate
from cepheid.kernel.code.types import BOOL, FLOAT64, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, Scalar


class Integers(Protocol):
    """An array, or a list in its place."""

    def __getitem__(self, place: int, /) -> int: ...
    def __setitem__(self, place: int, value: int, /) -> None: ...
    def __len__(self) -> int: ...


class Reals(Protocol):
    """An array, or a list in its place."""

    def __getitem__(self, place: int, /) -> float: ...
    def __setitem__(self, place: int, value: float, /) -> None: ...
    def __len__(self) -> int: ...


# The types of parameters, as a checker of types sees them.
Int64: TypeAlias = int
Int32: TypeAlias = int
UInt32: TypeAlias = int
Real64: TypeAlias = float
Real64s: TypeAlias = Reals
Key: TypeAlias = Any
Keys: TypeAlias = Any
Int64s: TypeAlias = Integers
Int32s: TypeAlias = Integers
Int16s: TypeAlias = Integers
UInt32s: TypeAlias = Integers
UInt16s: TypeAlias = Integers
UInt8s: TypeAlias = Integers
Bool: TypeAlias = bool

NAMES = {
    "Int64": INT64,
    "Int32": INT32,
    "Int16": INT16,
    "UInt64": UINT64,
    "UInt32": UINT32,
    "UInt16": UINT16,
    "UInt8": UINT8,
    "Real64": FLOAT64,
    "bool": BOOL,
    "Bool": BOOL,
}
INTRINSICS = {"less": BOOL, "same": BOOL, "sqrt": FLOAT64, "remainder": INT64, "fremainder": FLOAT64, "mix": UINT64}
_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
Value = n.Expr | n.Number


def read_function(function: FunctionType, arguments: Sequence[Scalar], name: str) -> n.Function:
    """A function for arguments of some types (of arrays: those of their elements)."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    head = tree.body[0]
    assert isinstance(head, ast.FunctionDef)
    return _FunctionReader(head, function.__globals__, arguments, name).function()


def declared_types(function: FunctionType) -> tuple[Scalar, ...]:
    """The types that a function says that its arguments have (of arrays: those of their elements)."""
    words = [word for name, word in function.__annotations__.items() if name != "return"]
    return tuple(
        NAMES[field.removesuffix("s")] for word in words for field in _fields(word, function.__globals__).values()
    )


def _fields(word: str, names: Mapping[str, object]) -> dict[str, str]:
    """The arrays of a record by the names of its fields; another parameter is its own only field, without a name."""
    record = names.get(word)
    if not isinstance(record, type) or not issubclass(record, tuple):
        return {"": word}
    return {field: str(getattr(type_, "__forward_arg__", type_)) for field, type_ in record.__annotations__.items()}


def result_type(function: FunctionType) -> Scalar:
    """What a function says that it returns."""
    return NAMES.get(str(function.__annotations__["return"]), UINT64)


class _FunctionReader:
    """Reads the source of one Python function into nodes; what it doesn't know is an error."""

    def __init__(self, head: ast.FunctionDef, names: Mapping[str, Any], arguments: Sequence[Scalar], name: str) -> None:
        self.head = head
        self.names = names
        self.name = name
        self.code = Code()
        self.spare = 0
        self.parameters: dict[str, n.Local | n.Array] = {}
        self.variables: dict[str, n.Local] = {}
        self.types = dict(NAMES)
        self.records: dict[str, list[str]] = {}  # the names of their fields
        declared: list[tuple[str, str]] = []
        for parameter in head.args.args:
            fields = _fields(ast.unparse(parameter.annotation) if parameter.annotation is not None else "", names)
            if "" not in fields:
                self.records[parameter.arg] = list(fields)
            declared += [(field or parameter.arg, word) for field, word in fields.items()]
        for (parameter_name, word), argument in zip(declared, arguments, strict=True):
            if word.removesuffix("s") == "Key":
                self.types["Key"] = argument
            type_ = self.types[word.removesuffix("s")]
            if parameter_name in self.parameters:
                raise TypeError(f"{name}: two parameters are called {parameter_name}")
            if word.endswith("s"):
                self.parameters[parameter_name] = n.Array(parameter_name, type_)
            else:
                self.parameters[parameter_name] = self.variables[parameter_name] = n.Local(parameter_name, type_)

    def function(self) -> n.Function:
        result = ast.unparse(self.head.returns) if self.head.returns is not None else ""
        self.block(self.head.body[1:] if ast.get_docstring(self.head) is not None else self.head.body)
        parameters = tuple(self.parameters.values())
        return n.Function(self.name, parameters, self.code.block, self.types.get(result, INT64))

    # Statements.

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                held = [self.hold(self.value(value)) for value in values]
                for target, value in zip(targets, held, strict=True):
                    self.assign(target, value)
            case ast.Assign(targets=targets, value=value):
                read = self.value(value)
                for target in targets:
                    self.assign(target, read)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                type_ = self.types[ast.unparse(annotation)]
                self.variables[name] = self.code.let(name, self.value(value), type_)
            case ast.AugAssign(target=target, op=operator, value=value):
                self.assign(target, self.arithmetic(operator, self.value(target), self.value(value)))
            case ast.If(test=test, body=body, orelse=otherwise):
                with self.code.when(self.condition(test)):
                    self.block(body)
                if otherwise:
                    with self.code.otherwise():
                        self.block(otherwise)
            case ast.While(test=test, body=body):
                with self.code.loop(self.condition(test)):
                    self.block(body)
            case ast.Break():
                self.code.leave()
            case ast.Continue():
                self.code.again()
            case ast.Return(value=None):
                self.code.give(0)
            case ast.Return(value=ast.expr() as value):
                self.code.give(self.value(value))
            case ast.Expr(value=ast.Call() as call):
                read = self.value(call)
                assert isinstance(read, n.Invoke)
                self.code.call(read)
            case _:
                raise TypeError(f"{self.name}: kernels have no {ast.unparse(node)}")

    def hold(self, value: Value) -> Value:
        """A value in a variable of its own, so that what is assigned beside it does not change it."""
        self.spare += 1
        return self.code.let(f"held{self.spare}", value) if isinstance(value, n.Expr) else value

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                if name in self.variables:
                    self.code.set(self.variables[name], value)
                else:
                    self.variables[name] = self.code.let(name, value, _type_of(value))
            case ast.Subscript(value=source, slice=index):
                array = self.array(source)
                assert array is not None
                self.code.put(array, self.index(index), value)
            case _:
                raise TypeError(f"{self.name}: kernels do not assign to {ast.unparse(target)}")

    # Expressions.

    def array(self, node: ast.expr) -> n.Array | None:
        """The array that a node names, alone or as the field of a record; None for what is no array."""
        match node:
            case ast.Attribute(value=ast.Name(id=record), attr=field) if field in self.records[record]:
                parameter = self.parameters[field]
            case ast.Name(id=name) if name in self.parameters:
                parameter = self.parameters[name]
            case _:
                return None
        return parameter if isinstance(parameter, n.Array) else None

    def condition(self, node: ast.expr) -> n.Expr:
        read = self.value(node)
        return read if isinstance(read, n.Expr) else n.Immediate(bool(read), BOOL)

    def index(self, node: ast.expr) -> n.Expr | int:
        read = self.value(node)
        return read if isinstance(read, n.Expr) else int(read)

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name) if name in self.variables:
                return self.variables[name]
            case ast.Name(id=name):
                read = self.names[name]
                assert isinstance(read, bool | int | float)
                return read
            case ast.Subscript(value=source, slice=index):
                array = self.array(source)
                assert array is not None
                return array[self.index(index)]
            case ast.BinOp(op=operator, left=left, right=right):
                return self.arithmetic(operator, self.value(left), self.value(right))
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                return n.comparison(_OPERATORS[type(operator)], *self.alike(self.value(left), self.value(right)))
            case ast.BoolOp(op=ast.And(), values=values):
                return all_of(map(self.condition, values))
            case ast.BoolOp(op=ast.Or(), values=values):
                return any_of(map(self.condition, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return negate(self.condition(operand))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                read = self.value(operand)
                return -read if not isinstance(read, n.Expr) else n.arithmetic("-", 0, read)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                first, second = self.alike(self.value(body), self.value(otherwise))
                return choose(self.condition(test), first, second)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.call(name, arguments)
        raise TypeError(f"{self.name}: kernels have no {ast.unparse(node)}")

    def arithmetic(self, operator: ast.operator, left: Value, right: Value) -> Value:
        word = _OPERATORS[type(operator)]
        if not isinstance(left, n.Expr) and not isinstance(right, n.Expr):
            folded: n.Number = eval(f"{left!r} {word} {right!r}")
            return folded
        return n.arithmetic(word, *self.alike(_wide(left), _wide(right)))

    def alike(self, left: Value, right: Value) -> tuple[n.Expr, n.Expr]:
        """Both sides in one type: the one that has room for both."""
        if not isinstance(left, n.Expr) and not isinstance(right, n.Expr):
            left = n.expression(left, _type_of(left))
        known = [side.type for side in (left, right) if isinstance(side, n.Expr)]
        type_ = max(known, key=lambda side_type: (side_type.real, side_type.bits, side_type.signed))
        if any(side_type.bits == 64 and side_type.signed != type_.signed for side_type in known if not type_.real):
            raise TypeError(f"{self.name}: {known[0]} and {known[1]} have no type in common")
        side_type, other = (n.expression(side, type_).to(type_) for side in (left, right))
        return side_type, other

    def call(self, name: str, arguments: Sequence[ast.expr]) -> n.Expr:
        if name in self.types:
            return n.expression(self.value(arguments[0]), self.types[name]).to(self.types[name])
        if name in ("int", "float"):
            wanted = INT64 if name == "int" else FLOAT64
            return n.expression(self.value(arguments[0]), wanted).to(wanted)
        if name in ("min", "max"):
            first, second = self.alike(*(self.value(argument) for argument in arguments))
            return choose(first < second if name == "min" else first > second, first, second)
        passed: list[n.Expr | n.Array] = []
        for argument in arguments:
            array = self.array(argument)
            if isinstance(argument, ast.Name) and argument.id in self.records:
                fields = [self.parameters[field] for field in self.records[argument.id]]
                passed += fields
            elif array is not None:
                passed.append(array)
            else:
                value = self.value(argument)
                passed.append(n.expression(value, _type_of(value)))
        if name in INTRINSICS:
            return n.Invoke(name, tuple(passed), INTRINSICS[name])
        return n.Invoke(name, tuple(passed), result_type(self.names[name]))


def _wide(value: Value) -> Value:
    """Narrow integers are computed with in 64 bits."""
    return value.to(INT64) if isinstance(value, n.Expr) and value.type.whole and value.type.bits < 64 else value


def _type_of(value: Value) -> Scalar:
    if isinstance(value, n.Expr):
        return value.type
    return BOOL if isinstance(value, bool) else FLOAT64 if isinstance(value, float) else INT64
