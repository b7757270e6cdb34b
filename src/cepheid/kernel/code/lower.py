"""A kernel as LLVM's text.

A function that Python calls gets one address: that of a row of eight-byte slots, one for each parameter, which holds
numbers as they are and arrays by their addresses. Variables live on the stack; LLVM puts them into registers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, FLOAT64, UINT64, Scalar

_ORDERED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_INTEGER = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl"}
_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_MIX = 0x9E3779B97F4A7C15


def lower(function: n.Function, others: Sequence[n.Function] = ()) -> str:
    """The text of a module that has a function for Python to call, and the functions that it calls."""
    known = {other.name: other for other in others}
    parts = [*(_Body(other, known).text() for other in others), _Body(function, known, apart=True).text()]
    parts.append(_entry(function))
    declared = ["declare double @llvm.sqrt.f64(double)", "declare double @llvm.fabs.f64(double)", "!0 = !{}"]
    return "\n".join([*parts, *declared, ""])


def entry_name(function: n.Function) -> str:
    """The symbol that is called from outside."""
    return f"cepheid_{function.name}"


def _entry(function: n.Function) -> str:
    """Takes the parameters from the row of slots."""
    lines = [f"define i64 @{entry_name(function)}(ptr %slots) nounwind {{"]
    arguments = []
    for k, parameter in enumerate(function.parameters):
        lines.append(f"  %s{k} = getelementptr i64, ptr %slots, i64 {k}")
        type_ = "ptr" if isinstance(parameter, n.Array) else _type(parameter.type)
        lines.append(f"  %a{k} = load {type_}, ptr %s{k}")
        arguments.append(f"{type_} %a{k}")
    lines.append(f"  %r = call {_type(function.result)} @{function.name}({', '.join(arguments)})")
    wide = "%r" if function.result.bits == 64 else "%w"
    if wide != "%r":
        lines.append(f"  %w = {'sext' if function.result.signed else 'zext'} {_type(function.result)} %r to i64")
    return "\n".join([*lines, f"  ret i64 {wide}", "}", ""])


def _type(type_: Scalar) -> str:
    return "double" if type_.real else f"i{type_.bits}"


class _Body:
    """The body of one function as LLVM's text, one basic block after the other."""

    def __init__(self, function: n.Function, known: dict[str, n.Function], *, apart: bool = False) -> None:
        self.function = function
        self.apart = apart  # no two of its arrays share memory
        self.known = known
        self.lines: list[str] = []
        self.count = 0
        self.variables: dict[str, Scalar] = {}
        self.loops: list[tuple[str, str]] = []  # where the next round begins, and what follows the loop
        self.label = "entry"
        self.open = True  # whether the block at hand has no end yet
        self.guard: str | None = None  # without branches: whether the code at hand counts

    def text(self) -> str:
        """The text of the function."""
        self.block(self.function.body)
        if self.open:
            self.put("unreachable")
        result, name, parameters = _type(self.function.result), self.function.name, self.parameters()
        head = [f"define internal {result} @{name}({parameters}) nounwind{self.inlining()} {{", "entry:"]
        head += [f"  %v.{name} = alloca {_type(type_)}" for name, type_ in self.variables.items()]
        for parameter in self.function.parameters:
            if isinstance(parameter, n.Local):
                head.append(f"  store {_type(parameter.type)} %p.{parameter.name}, ptr %v.{parameter.name}")
        return "\n".join([*head, *self.lines, "}", ""])

    def inlining(self) -> str:
        """Return the inlining attribute. A function with a loop is called: inlining would dominate compiling."""
        loops = any(isinstance(statement, n.While) for statement in self.function.body)
        return " noinline" if loops and not self.apart else ""

    def parameters(self) -> str:
        texts = []
        for parameter in self.function.parameters:
            if isinstance(parameter, n.Array):
                texts.append(f"ptr {'noalias ' * self.apart}%p.{parameter.name}")
            else:
                self.variables.setdefault(parameter.name, parameter.type)
                texts.append(f"{_type(parameter.type)} %p.{parameter.name}")
        return ", ".join(texts)

    # Lines.

    def put(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def make(self, line: str) -> str:
        """Append an instruction and return the name of its value."""
        name = self.fresh()
        self.put(f"{name} = {line}")
        return name

    def labels(self, *words: str) -> Iterator[str]:
        self.count += 1
        return (f"{word}{self.count}" for word in words)

    def begin(self, label: str) -> None:
        """Begin the block of a label; the block before falls through into it."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.label, self.open = label, True

    def jump(self, label: str) -> None:
        if self.open:
            self.put(f"br label %{label}")
            self.open = False

    # Statements.

    def block(self, block: n.Block) -> None:
        for statement in block:
            if not self.open:
                return  # what follows a break is never reached
            self.statement(statement)

    def statement(self, node: n.Statement) -> None:
        match node:
            case n.Assign(target=target, value=value):
                self.declare(target)
                type_, lowered, place = _type(target.type), self.value(value), f"%v.{target.name}"
                if self.guard is not None:
                    lowered = self.select(self.guard, type_, lowered, self.make(f"load {type_}, ptr {place}"))
                self.put(f"store {type_} {lowered}, ptr {place}")
            case n.Store(array=array, index=index, value=value):
                lowered = self.value(value)
                self.put(f"store {_type(array.element)} {lowered}, ptr {self.place(array, index)}")
            case n.If() if node.flat or self.guard is not None:
                self.flatten(node)
            case n.If(condition=condition, then=then, otherwise=otherwise):
                self.choose(condition, then, otherwise)
            case n.Comment():
                pass
            case _ if self.guard is not None:
                raise TypeError(f"no code without a branch for {node!r}")
            case n.While(condition=condition, body=body):
                self.loop(condition, body)
            case n.Break():
                self.jump(self.loops[-1][1])
            case n.Continue():
                self.jump(self.loops[-1][0])
            case n.Return(value=value):
                self.put(f"ret {_type(self.function.result)} {self.value(value.to(self.function.result))}")
                self.open = False
            case n.Evaluate(call=call):
                self.value(call)
            case _:
                raise TypeError(f"no code for {node!r}")

    def declare(self, target: n.Local) -> None:
        if self.variables.setdefault(target.name, target.type) != target.type:
            raise TypeError(f"{target.name} is {self.variables[target.name]} and {target.type}")

    def choose(self, condition: n.Expr, then: n.Block, otherwise: n.Block) -> None:
        yes, no, after = self.labels("then", "else", "after")
        self.branch(condition, yes, no if otherwise else after)
        self.begin(yes)
        self.block(then)
        self.jump(after)
        if otherwise:
            self.begin(no)
            self.block(otherwise)
        self.begin(after)

    def flatten(self, node: n.If) -> None:
        """Compute both blocks; variables keep what they get in the one that counts."""
        outer = self.guard
        holds = self.all_parts(node.condition)
        self.guard = self.both(outer, holds)
        self.block(node.then)
        if node.otherwise:
            self.guard = self.both(outer, self.make(f"xor i1 {holds}, true"))
            self.block(node.otherwise)
        self.guard = outer

    def all_parts(self, condition: n.Expr) -> str:
        """Evaluate a condition without a branch. What is read where an earlier part fails has no meaning."""
        outer, held = self.guard, ""
        match condition:
            case n.AllTrue(parts=parts):
                for part in parts:
                    held = self.both(held or None, self.all_parts(part))
                    self.guard = self.both(outer, held)
            case n.AnyTrue(parts=parts):
                for part in parts:
                    holds = self.all_parts(part)
                    held = self.make(f"or i1 {held}, {holds}") if held else holds
                    self.guard = self.both(outer, self.make(f"xor i1 {held}, true"))
            case _:
                held = self.value(condition)
        self.guard = outer
        return held

    def both(self, first: str | None, second: str) -> str:
        return second if first is None else self.make(f"and i1 {first}, {second}")

    def select(self, condition: str, type_: str, then: str, otherwise: str) -> str:
        """One of two values, where LLVM must not make a branch of it."""
        return self.make(f"select i1 {condition}, {type_} {then}, {type_} {otherwise}, !unpredictable !0")

    def loop(self, condition: n.Expr, body: n.Block) -> None:
        head, inside, after = self.labels("while", "do", "done")
        self.begin(head)
        self.branch(condition, inside, after)
        self.begin(inside)
        self.loops.append((head, after))
        self.block(body)
        self.loops.pop()
        self.jump(head)
        self.begin(after)

    def branch(self, condition: n.Expr, yes: str, no: str) -> None:
        """Go to one label or the other."""
        match condition:
            case n.AllTrue(parts=parts, at_once=False):
                for part in parts[:-1]:
                    (following,) = self.labels("and")
                    self.branch(part, following, no)
                    self.begin(following)
                self.branch(parts[-1], yes, no)
            case n.AnyTrue(parts=parts):
                for part in parts[:-1]:
                    (following,) = self.labels("or")
                    self.branch(part, yes, following)
                    self.begin(following)
                self.branch(parts[-1], yes, no)
            case n.Negate(operand=operand):
                self.branch(operand, no, yes)
            case n.Immediate(value=value):
                self.jump(yes if value else no)
            case _:
                self.put(f"br i1 {self.value(condition)}, label %{yes}, label %{no}")
                self.open = False

    # Expressions.

    def value(self, node: n.Expr) -> str:
        match node:
            case n.Immediate(value=value, type=type_):
                return _constant(value, type_)
            case n.Local(name=name, type=type_):
                if self.variables.get(name, type_) != type_:
                    raise TypeError(f"{name} is {self.variables[name]} and {type_}")
                return self.make(f"load {_type(type_)}, ptr %v.{name}")
            case n.Load(array=array, index=index):
                return self.make(f"load {_type(array.element)}, ptr {self.place(array, index, self.guard)}")
            case n.BinaryOp():
                return self.arithmetic(node)
            case n.Comparison(operator=operator, left=left, right=right):
                word = _comparison(operator, left.type)
                return self.make(f"{word} {_type(left.type)} {self.value(left)}, {self.value(right)}")
            case n.AllTrue() | n.AnyTrue() if self.guard is not None or (isinstance(node, n.AllTrue) and node.at_once):
                return self.all_parts(node)
            case n.AllTrue() | n.AnyTrue():
                return self.picked(node, n.TRUE, n.FALSE)
            case n.Negate(operand=operand):
                return self.make(f"xor i1 {self.value(operand)}, true")
            case n.Choose(condition=condition, then=then, otherwise=otherwise):
                if self.guard is not None:
                    holds = self.all_parts(condition)
                    return self.select(holds, _type(then.type), self.value(then), self.value(otherwise))
                return self.picked(condition, then, otherwise)
            case n.Convert(operand=operand, type=type_):
                return self.cast(self.value(operand), operand.type, type_)
            case n.Wrap(operand=operand):
                return self.value(operand)
            case n.Invoke() if self.guard is None:
                return self.call(node)
        raise TypeError(f"no code for {node!r}")

    def place(self, array: n.Array, index: n.Expr, guard: str | None = None) -> str:
        wide = self.cast(self.value(index), index.type, UINT64)
        if guard is not None:
            wide = self.select(guard, "i64", wide, "0")
        return self.make(f"getelementptr {_type(array.element)}, ptr %p.{array.name}, i64 {wide}")

    def picked(self, condition: n.Expr, then: n.Expr, otherwise: n.Expr) -> str:
        yes, no, after = self.labels("yes", "no", "join")
        self.branch(condition, yes, no)
        incoming = []
        for label, value in ((yes, then), (no, otherwise)):
            self.begin(label)
            text = self.value(value)
            incoming.append(f"[ {text}, %{self.label} ]")
            self.jump(after)
        self.begin(after)
        return self.make(f"phi {_type(then.type)} {', '.join(incoming)}")

    def arithmetic(self, node: n.BinaryOp) -> str:
        type_, operator = node.type, node.operator
        if type_.real:
            word = _REAL[operator]
        elif operator == ">>":
            word = "ashr" if type_.signed else "lshr"
        elif operator == "//":
            if type_.signed:
                raise TypeError("// of a signed number")
            word = "udiv"
        else:
            word = _INTEGER[operator]
        return self.make(f"{word} {_type(type_)} {self.value(node.left)}, {self.value(node.right)}")

    def cast(self, value: str, old: Scalar, new: Scalar) -> str:
        if old.bits == new.bits and old.real == new.real:
            return value
        if new == BOOL:
            return self.make(f"icmp ne {_type(old)} {value}, 0")
        if old.real or new.real:
            sign = "s" if (old if new.real else new).signed else "u"
            word = f"{sign}itofp" if new.real else f"fpto{sign}i"
        elif new.bits < old.bits:
            word = "trunc"
        else:
            word = "sext" if old.signed else "zext"
        return self.make(f"{word} {_type(old)} {value} to {_type(new)}")

    # Calls.

    def call(self, node: n.Invoke) -> str:
        if node.function in self.known:
            function = self.known[node.function]
            passed = []
            for parameter, argument in zip(function.parameters, node.arguments, strict=True):
                if isinstance(argument, n.Array):
                    passed.append(f"ptr %p.{argument.name}")
                else:
                    assert isinstance(parameter, n.Local)
                    passed.append(f"{_type(parameter.type)} {self.value(argument.to(parameter.type))}")
            return self.make(f"call {_type(function.result)} @{node.function}({', '.join(passed)})")
        lowered = [self.value(a) for a in node.arguments if isinstance(a, n.Expr)]
        match node.function, lowered:
            case "less", [one, other]:  # NaN is the greatest number
                below = self.make(f"fcmp olt double {one}, {other}")
                last = self.make(f"fcmp uno double {other}, {other}")
                number = self.make(f"fcmp ord double {one}, {one}")
                return self.make(f"or i1 {below}, {self.make(f'and i1 {last}, {number}')}")
            case "same", [one, other]:  # NaN equals NaN
                equal = self.make(f"fcmp oeq double {one}, {other}")
                unlike = [self.make(f"fcmp uno double {side}, {side}") for side in (one, other)]
                return self.make(f"or i1 {equal}, {self.make(f'and i1 {unlike[0]}, {unlike[1]}')}")
            case "sqrt", [one]:
                return self.make(f"call double @llvm.sqrt.f64(double {one})")
            case "abs", [one] if node.type.real:
                return self.make(f"call double @llvm.fabs.f64(double {one})")
            case "abs", [one]:
                below = self.make(f"icmp slt i64 {one}, 0")
                return self.make(f"select i1 {below}, i64 {self.make(f'sub i64 0, {one}')}, i64 {one}")
            case "remainder", [one, other]:
                # The machine traps on x % 0 and on the least number % -1: both are 0 here.
                low, high = (self.make(f"icmp eq i64 {other}, {value}") for value in (0, -1))
                safe = self.make(f"select i1 {self.make(f'or i1 {low}, {high}')}, i64 1, i64 {other}")
                return self.make(f"srem i64 {one}, {safe}")
            case "fremainder", [one, other]:
                return self.make(f"frem double {one}, {other}")
            case "mix", [seed, value]:
                argument = node.arguments[1]
                assert isinstance(argument, n.Expr)
                return self.mix(seed, value, argument.type)
        raise TypeError(f"no function {node.function}")

    def mix(self, seed: str, value: str, type_: Scalar) -> str:
        """Mix a value into a hash. Both zeros have one hash, and so have all NaNs."""
        if type_.real:
            plain = self.make(f"fadd double {value}, {_constant(0.0, FLOAT64)}")
            bits = self.make(f"bitcast double {plain} to i64")
            odd = self.make(f"fcmp uno double {value}, {value}")
            wide = self.make(f"select i1 {odd}, i64 0, i64 {bits}")
        else:
            wide = self.cast(value, type_, UINT64)
        mixed = self.make(f"mul i64 {self.make(f'xor i64 {seed}, {wide}')}, {_signed(_MIX)}")
        return self.make(f"xor i64 {mixed}, {self.make(f'lshr i64 {mixed}, 29')}")


def _comparison(operator: str, type_: Scalar) -> str:
    if type_.real:
        return f"fcmp {'oeq' if operator == '==' else 'une' if operator == '!=' else 'o' + _ORDERED[operator]}"
    if operator in ("==", "!="):
        return f"icmp {'eq' if operator == '==' else 'ne'}"
    return f"icmp {'s' if type_.signed else 'u'}{_ORDERED[operator]}"


def _constant(value: n.Number, type_: Scalar) -> str:
    if type_.real:
        return f"0x{struct.pack('>d', float(value)).hex().upper()}"
    if type_ == BOOL:
        return "true" if value else "false"
    return str(_signed(int(value)) if type_.bits == 64 else int(value))


def _signed(number: int) -> int:
    """A number of 64 bits as LLVM writes it."""
    return number - 2**64 if number >= 2**63 else number
