"""A query's expressions as code. Every value comes with the code that says whether it is NULL."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from cepheid.automaton.model import Fixed, NotNative, Ratio, Root
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of, any_of, choose, negate
from cepheid.kernel.code.types import BOOL, FLOAT64, INT64, UINT8, Scalar
from cepheid.kernel.constants import Constants
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import swap
from cepheid.pattern.expressions.types import Kind, Type


class KernelSort(Enum):
    """How a kernel sees a type."""

    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    STRING = "string"  # its code
    TIME = "time"  # nanoseconds

    @property
    def scalar(self) -> Scalar:
        """The type in which the machine has values of this sort."""
        return {KernelSort.REAL: FLOAT64, KernelSort.BOOLEAN: UINT8}.get(self, INT64)

    @property
    def numeric(self) -> bool:
        """Whether it can be computed with."""
        return self in (KernelSort.INTEGER, KernelSort.REAL)


_SORTS = {
    Kind.INT: KernelSort.INTEGER,
    Kind.FLOAT: KernelSort.REAL,
    Kind.BOOL: KernelSort.BOOLEAN,
    Kind.STRING: KernelSort.STRING,
    Kind.DATE: KernelSort.INTEGER,
    Kind.TIMESTAMP: KernelSort.TIME,
    Kind.DURATION: KernelSort.TIME,
}


def sort_of(type_: Type) -> KernelSort:
    """How a kernel sees a type, or the reason why it can't."""
    if type_.kind not in _SORTS:
        raise NotNative(f"values of type {type_}")
    return _SORTS[type_.kind]


@dataclass(frozen=True, slots=True)
class Value:
    """The code of a value; `null` says whether it is NULL. Of some it is known that they are not NaN, or not zero."""

    code: n.Expr
    sort: KernelSort
    null: n.Expr = n.FALSE
    not_nan: bool = False
    not_zero: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    """The code of *is TRUE* and of *is FALSE*: what is neither is NULL (S3)."""

    true: n.Expr
    false: n.Expr

    def turned(self) -> Truth:
        """NOT: TRUE and FALSE change places, UNKNOWN stays."""
        return Truth(self.false, self.true)


UNKNOWN = Truth(n.FALSE, n.FALSE)
NOTHING = Value(n.Immediate(0, INT64), KernelSort.INTEGER, n.TRUE)

Leaf = Callable[[ex.Expression], Value | None]
"""The value of a node that reads an event or a register; None for a node that does neither."""


class KernelTranslator:
    """Translates expressions, given how events and registers are read."""

    def __init__(self, leaf: Leaf, constants: Constants) -> None:
        self.leaf = leaf
        self.constants = constants

    # Values.

    def value(self, node: ex.Expression) -> Value:
        """The code of a value."""
        known = self.leaf(node)
        if known is not None:
            return known
        match node:
            case ex.Literal():
                return self.literal(node)
            case Fixed(value=value, type=type_):
                sort = sort_of(type_)
                return Value(n.expression(value, sort.scalar), sort, not_nan=True, not_zero=value != 0)
            case ex.Arithmetic():
                return self.arithmetic(node)
            case Ratio(left=left, right=right):
                dividend, divisor = self.value(left), self.value(right)
                return Value(real(dividend) / real(divisor), KernelSort.REAL, any_of([dividend.null, divisor.null]))
            case Root(operand=operand):
                inside = self.value(operand)
                return Value(n.Invoke("sqrt", (real(inside),), FLOAT64), KernelSort.REAL, inside.null)
            case ex.Minus(operand=operand):
                inside = self.value(operand)
                zero = n.Immediate(-0.0, FLOAT64) if inside.sort is KernelSort.REAL else 0
                turned = n.arithmetic("-", zero, inside.code)
                return Value(n.Wrap(turned) if inside.sort is KernelSort.INTEGER else turned, inside.sort, inside.null)
            case ex.Call():
                return self.call(node)
            case ex.CaseWhen():
                return self.case(node)
            case ex.Compare() | ex.And() | ex.Or() | ex.Not() | ex.IsNull() | ex.In() | ex.Between():
                truth = self.truth(node)
                null = n.FALSE if truth.false == negate(truth.true) else negate(any_of([truth.true, truth.false]))
                return Value(truth.true.to(UINT8), KernelSort.BOOLEAN, null)
        raise NotNative(f"{type(node).__name__.lower()} in a condition over several events")

    def literal(self, node: ex.Literal) -> Value:
        """A constant. Numbers and strings are arguments; NULL, TRUE and FALSE shape the kernel."""
        if node.value is None:
            return NOTHING
        sort, value = sort_of(node.type), node.value
        if sort is KernelSort.BOOLEAN:
            return Value(n.Immediate(int(bool(value)), UINT8), sort)
        if sort is KernelSort.STRING:
            assert isinstance(value, str)
            return Value(self.constants.literal(node, value), sort)
        assert isinstance(value, int | float)
        number = float(value) if sort is KernelSort.REAL else int(value)
        return Value(self.constants.literal(node, number), sort, not_nan=not math.isnan(number), not_zero=number != 0)

    def arithmetic(self, node: ex.Arithmetic) -> Value:
        """The code of `+ - * / %`, as S3a defines them."""
        left, right = self.value(node.left), self.value(node.right)
        null = any_of([left.null, right.null])
        if KernelSort.TIME in (left.sort, right.sort):
            if any(isinstance(side, ex.Arithmetic | ex.CaseWhen | ex.Call) for side in (node.left, node.right)):
                raise NotNative("arithmetic of several times")
            return Value(n.arithmetic(node.operator, left.code, right.code), KernelSort.TIME, null)
        if not (left.sort.numeric and right.sort.numeric):
            raise NotNative(f"{node.operator} of what is no number")
        zero = n.FALSE if right.not_zero else right.code.equals(0)
        if node.operator == "/":
            # A value is computed also where it is NULL, and Python does not divide by zero.
            divisor = choose(zero, n.Immediate(1.0, FLOAT64), real(right))
            return Value(real(left) / divisor, KernelSort.REAL, any_of([null, zero]))
        sort = KernelSort.REAL if KernelSort.REAL in (left.sort, right.sort) else KernelSort.INTEGER
        first, second = (real(left), real(right)) if sort is KernelSort.REAL else (left.code, right.code)
        if node.operator == "%":
            name = "remainder" if sort is KernelSort.INTEGER else "fremainder"
            return Value(n.Invoke(name, (first, second), sort.scalar), sort, any_of([null, zero]))
        computed = n.arithmetic(node.operator, first, second)
        return Value(n.Wrap(computed) if sort is KernelSort.INTEGER else computed, sort, null)

    def call(self, node: ex.Call) -> Value:
        """The few functions that need no Python."""
        if node.function == "abs":
            inside = self.value(node.arguments[0])
            absolute = n.Invoke("abs", (inside.code,), inside.sort.scalar)
            return Value(n.Wrap(absolute) if inside.sort is KernelSort.INTEGER else absolute, inside.sort, inside.null)
        if node.function == "coalesce":
            *firsts, result = (self.value(argument) for argument in node.arguments)
            for first in reversed(firsts):
                result = pick(first.null, result, first)
            return result
        if node.function == "nullif":
            first, second = (self.value(argument) for argument in node.arguments)
            return Value(first.code, first.sort, any_of([first.null, compare("=", first, second).true]))
        raise NotNative(f"{node.function} over several events")

    def case(self, node: ex.CaseWhen) -> Value:
        """CASE as nested choices, of which the last is ELSE, or NULL."""
        result = self.value(node.otherwise) if node.otherwise is not None else NOTHING
        for arm in reversed(node.arms):
            result = pick(self.truth(arm.condition).true, self.value(arm.result), result)
        return result

    # Conditions.

    def holds(self, node: ex.Expression) -> n.Expr:
        """Whether a condition is TRUE."""
        return self.truth(node).true

    def truth(self, node: ex.Expression) -> Truth:
        """The code of a condition."""
        match node:
            case ex.Compare(operator=operator, left=left, right=right):
                return compare(operator, self.value(left), self.value(right))
            case ex.And(operands=operands):
                return both([self.truth(operand) for operand in operands])
            case ex.Or(operands=operands):
                return either([self.truth(operand) for operand in operands])
            case ex.Not(operand=operand):
                return self.truth(operand).turned()
            case ex.IsNull(operand=operand, negated=negated):
                null = self.value(operand).null
                truth = Truth(null, negate(null))
                return truth.turned() if negated else truth
            case ex.In(operand=operand, choices=choices, negated=negated):
                value = self.value(operand)
                truth = either([compare("=", value, self.value(choice)) for choice in choices])
                return truth.turned() if negated else truth
            case ex.Between(operand=operand, low=low, high=high, negated=negated):
                value = self.value(operand)
                truth = both([compare(">=", value, self.value(low)), compare("<=", value, self.value(high))])
                return truth.turned() if negated else truth
        return boolean(self.value(node))


def both(parts: list[Truth]) -> Truth:
    """AND of three-valued conditions: FALSE if one of them is."""
    return Truth(all_of(p.true for p in parts), any_of(p.false for p in parts))


def either(parts: list[Truth]) -> Truth:
    """OR of three-valued conditions: TRUE if one of them is."""
    return Truth(any_of(p.true for p in parts), all_of(p.false for p in parts))


def boolean(value: Value) -> Truth:
    """A value that stands where a condition does."""
    if value.null == n.TRUE:
        return UNKNOWN
    if value.sort is not KernelSort.BOOLEAN:
        raise NotNative("a condition that is no boolean")
    return _known(value.code.differs(0), value.null)


def compare(operator: str, left: Value, right: Value) -> Truth:
    """A comparison: NaN equals NaN and is the greatest number (S3a)."""
    null = any_of([left.null, right.null])
    if null == n.TRUE:
        return UNKNOWN
    sorts = {left.sort, right.sort}
    if KernelSort.STRING in sorts and (operator not in ("=", "!=") or sorts != {KernelSort.STRING}):
        raise NotNative("strings compared by their order")
    if KernelSort.REAL in sorts:
        return _known(_compare_reals(operator, left, right), null)
    sign = {"=": "=="}.get(operator, operator)
    return _known(n.comparison(sign, left.code, right.code), null)


def _known(condition: n.Expr, null: n.Expr) -> Truth:
    known = negate(null)
    return Truth(all_of([known, condition]), all_of([known, negate(condition)]))


def _compare_reals(operator: str, left: Value, right: Value) -> n.Expr:
    """Doubles; beside a constant that is no NaN there is less to ask."""
    if operator in (">", ">="):
        return _compare_reals(swap(operator), right, left)
    if operator == "<=":
        return negate(_compare_reals("<", right, left))
    if operator == "!=":
        return negate(_compare_reals("=", left, right))
    first, second = real(left), real(right)
    never_nan = [side.not_nan or side.sort is not KernelSort.REAL for side in (left, right)]
    if operator == "=":
        return first.equals(second) if any(never_nan) else n.Invoke("same", (first, second), BOOL)
    if never_nan[1]:
        return first < second
    return negate(second <= first) if never_nan[0] else n.Invoke("less", (first, second), BOOL)


def pick(condition: n.Expr, then: Value, otherwise: Value) -> Value:
    """One of two values; NULL has no sort of its own."""
    if condition in (n.TRUE, n.FALSE):
        return then if condition == n.TRUE else otherwise
    sort = otherwise.sort if then.null == n.TRUE else then.sort
    if otherwise.null != n.TRUE and then.null != n.TRUE and KernelSort.REAL in (then.sort, otherwise.sort):
        sort = KernelSort.REAL
    then_code, otherwise_code = (as_sort(value, sort) for value in (then, otherwise))
    return Value(choose(condition, then_code, otherwise_code), sort, choose(condition, then.null, otherwise.null))


def as_sort(value: Value, sort: KernelSort) -> n.Expr:
    """A value's code in the machine's type of a sort."""
    return real(value) if sort is KernelSort.REAL else value.code.to(sort.scalar)


def real(value: Value) -> n.Expr:
    """A value as a double, whatever number it is."""
    return value.code.to(FLOAT64)
