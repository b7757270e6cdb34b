"""An expression of a kernel on whole arrays at once: for what is computed of each event before any kernel runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cepheid.kernel.code import nodes as n

Ufunc = Callable[..., Any]

_ARITHMETIC: dict[str, Ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_COMPARISONS: dict[str, Ufunc] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def evaluate(node: n.Expr, at: n.Local, arguments: Mapping[str, Any]) -> Any:
    """The value of an expression at every index `at`. given: arrays and parameters by their names.

    All parts are evaluated, also those that a kernel would pass over; their values are not used.
    """
    with np.errstate(all="ignore"):
        return _WholeArrays(at, arguments).value(node)


class _WholeArrays:
    def __init__(self, at: n.Local, arguments: Mapping[str, Any]) -> None:
        self.at = at
        self.given = arguments

    def value(self, node: n.Expr) -> Any:
        match node:
            case n.Immediate(value=value, type=type_):
                return np.dtype(type_.name).type(value)
            case n.Local(name=name, type=type_):
                return np.dtype(type_.name).type(self.given[name])
            case n.Load(array=array, index=index) if index == self.at:
                return self.given[array.name]
            case n.BinaryOp(operator=operator, left=left, right=right) if operator in _ARITHMETIC:
                return _ARITHMETIC[operator](self.value(left), self.value(right))
            case n.Comparison(operator=operator, left=left, right=right):
                return _COMPARISONS[operator](self.value(left), self.value(right))
            case n.AllTrue(parts=parts):
                return self.folded(np.logical_and, parts)
            case n.AnyTrue(parts=parts):
                return self.folded(np.logical_or, parts)
            case n.Negate(operand=operand):
                return np.logical_not(self.value(operand))
            case n.Choose(condition=condition, then=then, otherwise=otherwise):
                return np.where(self.value(condition), self.value(then), self.value(otherwise))
            case n.Convert(operand=operand, type=type_):
                return np.asarray(self.value(operand)).astype(type_.name)
            case n.Wrap(operand=operand):
                return self.value(operand)  # there are 64 bits only
            case n.Invoke(function=name, arguments=arguments) if name in _CALLS:
                return _CALLS[name](*(self.value(part) for part in arguments if isinstance(part, n.Expr)))
        raise TypeError(f"no meaning of {node!r} on whole arrays")

    def folded(self, join: Ufunc, parts: tuple[n.Expr, ...]) -> Any:
        folded = self.value(parts[0])
        for part in parts[1:]:
            folded = join(folded, self.value(part))
        return folded


# The functions of `runtime`.


def _remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    # The machine can't divide the least integer by -1.
    return np.where(right == 0, 0, np.fmod(left, np.where((right == -1) | (right == 0), 1, right)))


def _less(left: np.ndarray, right: np.ndarray) -> Any:
    return (left < right) | (np.isnan(right) & ~np.isnan(left))


def _same(left: np.ndarray, right: np.ndarray) -> Any:
    return (left == right) | (np.isnan(left) & np.isnan(right))


_CALLS: dict[str, Ufunc] = {
    "abs": np.abs,
    "remainder": _remainder,
    "fremainder": np.fmod,
    "less": _less,
    "same": _same,
}
