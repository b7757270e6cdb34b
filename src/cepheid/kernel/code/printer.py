"""A kernel as Python text: what a reader sees, and what runs where there is no compiler or nothing to gain from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, Scalar

_INDENT = "    "
_TIGHT = {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11}
_MINUS, _ATOM = 12, 20


def print_function(function: n.Function) -> str:
    """The text of a function."""
    head = f"def {function.name}({', '.join(p.name for p in function.parameters)}):"
    return "\n".join([head, *_block(function.body, 1)]) + "\n"


def print_block(block: n.Block) -> list[str]:
    """The lines of some statements."""
    return list(_block(block, 0))


def _block(block: n.Block, depth: int) -> Iterator[str]:
    if not any(not isinstance(statement, n.Comment) for statement in block):
        yield _INDENT * depth + "pass"
    for statement in block:
        for line in _statement(statement):
            yield _INDENT * depth + line


def _statement(node: n.Statement) -> Iterator[str]:
    match node:
        case n.Assign(target=target, value=value):
            yield _assignment(target.name, target, value)
        case n.Store(array=array, index=index, value=value):
            yield _assignment(f"{array.name}[{show(index)}]", n.Load(array, index), value)
        case n.If():
            yield from _choice(node, "if")
        case n.While(condition=condition, body=body):
            yield f"while {show(condition)}:"
            yield from _block(body, 1)
        case n.Break():
            yield "break"
        case n.Continue():
            yield "continue"
        case n.Return(value=value):
            yield f"return {show(value)}"
        case n.Evaluate(call=call):
            yield show(call)
        case n.Comment(text=text):
            yield f"# {text}"
        case _:
            raise TypeError(f"no text for {node!r}")


def _assignment(place: str, old: n.Expr, value: n.Expr) -> str:
    """`x = x + 1` reads better as `x += 1`."""
    if isinstance(value, n.BinaryOp) and value.left == old:
        return f"{place} {value.operator}= {show(value.right)}"
    return f"{place} = {show(value)}"


def _choice(node: n.If, word: str) -> Iterator[str]:
    yield f"{word} {show(node.condition)}:" + "  # without a branch" * node.flat
    yield from _block(node.then, 1)
    match node.otherwise:
        case ():
            return
        case (n.If() as only,):
            yield from _choice(only, "elif")
        case _:
            yield "else:"
            yield from _block(node.otherwise, 1)


def show(node: n.Expr) -> str:
    """The text of an expression."""
    return _show(node)[0]


def _show(node: n.Expr) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match node:
        case n.Immediate(value=value, name=name):
            return (name, _ATOM) if name else _constant(value)
        case n.Local(name=name):
            return name, _ATOM
        case n.Load(array=array, index=index):
            return f"{array.name}[{show(index)}]", _ATOM
        case n.BinaryOp(operator=operator, left=left, right=right):
            level = _TIGHT[operator]
            return f"{_inside(left, level)} {operator} {_inside(right, level + 1)}", level
        case n.Comparison(operator=operator, left=left, right=right):
            return f"{_inside(left, 6)} {operator} {_inside(right, 6)}", 5
        case n.AllTrue(parts=parts):
            return " and ".join(_inside(part, 4) for part in parts), 3
        case n.AnyTrue(parts=parts):
            return " or ".join(_inside(part, 3) for part in parts), 2
        case n.Negate(operand=operand):
            return f"not {_inside(operand, 4)}", 4
        case n.Choose(condition=condition, then=then, otherwise=otherwise):
            return f"{_inside(then, 2)} if {_inside(condition, 2)} else {_inside(otherwise, 1)}", 1
        case n.Convert(operand=operand, type=type_):
            return _cast(operand, type_)
        case n.Wrap(operand=operand):
            return f"wrap({show(operand)})", _ATOM
        case n.Invoke(function=function, arguments=arguments):
            texts = (a.name if isinstance(a, n.Array) else show(a) for a in arguments)
            return f"{function}({', '.join(texts)})", _ATOM
    raise TypeError(f"no text for {node!r}")


def _inside(node: n.Expr, least: int) -> str:
    text, level = _show(node)
    return text if level >= least else f"({text})"


def _cast(operand: n.Expr, type_: Scalar) -> tuple[str, int]:
    """Python's integers have no width: only a change of kind is written."""
    if type_.real and not operand.type.real:
        return f"float({show(operand)})", _ATOM
    if type_.whole and (operand.type.real or operand.type == BOOL):
        return f"int({show(operand)})", _ATOM
    return _show(operand)


def _constant(value: n.Number) -> tuple[str, int]:
    negative = not isinstance(value, bool) and math.copysign(1, value) < 0
    text = repr(value)
    if isinstance(value, float) and not math.isfinite(value):
        text = "NAN" if math.isnan(value) else "-INF" if negative else "INF"
    return text, _MINUS if negative and text != "NAN" else _ATOM
