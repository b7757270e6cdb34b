"""The nodes of a kernel: expressions that have a type, statements, and functions.

Expressions take Python's operators, so that a builder reads like the code that it builds: `node + 1`, `price[i] < low`.
A Python number takes the type of the expression beside it. `==` compares nodes; use `equals` to build a comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.kernel.code.types import BOOL, FLOAT64, INT64, Scalar

Number = int | float | bool


class Expr:
    """Something that has a value."""

    __slots__ = ()
    type: Scalar

    def __add__(self, other: Expr | Number) -> Expr:
        return arithmetic("+", self, other)

    def __sub__(self, other: Expr | Number) -> Expr:
        return arithmetic("-", self, other)

    def __mul__(self, other: Expr | Number) -> Expr:
        return arithmetic("*", self, other)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return arithmetic("/", self, other)

    def __floordiv__(self, other: Expr | Number) -> Expr:
        return arithmetic("//", self, other)

    def __and__(self, other: Expr | Number) -> Expr:
        return arithmetic("&", self, other)

    def __or__(self, other: Expr | Number) -> Expr:
        return arithmetic("|", self, other)

    def __xor__(self, other: Expr | Number) -> Expr:
        return arithmetic("^", self, other)

    def __lshift__(self, other: Expr | Number) -> Expr:
        return arithmetic("<<", self, other)

    def __rshift__(self, other: Expr | Number) -> Expr:
        return arithmetic(">>", self, other)

    def __lt__(self, other: Expr | Number) -> Expr:
        return comparison("<", self, other)

    def __le__(self, other: Expr | Number) -> Expr:
        return comparison("<=", self, other)

    def __gt__(self, other: Expr | Number) -> Expr:
        return comparison(">", self, other)

    def __ge__(self, other: Expr | Number) -> Expr:
        return comparison(">=", self, other)

    def equals(self, other: Expr | Number) -> Expr:
        """`==` in the kernel; Python's own compares nodes."""
        return comparison("==", self, other)

    def differs(self, other: Expr | Number) -> Expr:
        """`!=` in the kernel; Python's own compares nodes."""
        return comparison("!=", self, other)

    def to(self, type_: Scalar) -> Expr:
        """The value in another type; a constant is converted at once."""
        if self.type == type_:
            return self
        if isinstance(self, Immediate):
            return Immediate(float(self.value) if type_.real else int(self.value), type_)
        return Convert(self, type_)


@dataclass(frozen=True, slots=True)
class Immediate(Expr):
    """A number or a truth value; some have a name in the text."""

    value: Number
    type: Scalar
    name: str = ""


@dataclass(frozen=True, slots=True)
class Local(Expr):
    """A local variable, or a parameter that is one value."""

    name: str
    type: Scalar


@dataclass(frozen=True, slots=True)
class Array:
    """A parameter that is an array. It has no length: whoever needs one passes it."""

    name: str
    element: Scalar

    def __getitem__(self, index: Expr | int) -> Load:
        return Load(self, expression(index, INT64))


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """An element of an array."""

    array: Array
    index: Expr

    @property
    def type(self) -> Scalar:  # type: ignore[override]
        return self.array.element


@dataclass(frozen=True, slots=True)
class BinaryOp(Expr):
    """An operation on two values of one type, which is the type of the result; integers wrap."""

    operator: str
    left: Expr
    right: Expr

    @property
    def type(self) -> Scalar:  # type: ignore[override]
        return self.left.type


@dataclass(frozen=True, slots=True)
class Comparison(Expr):
    """A comparison of two values of one type. NaN compares as the machine does: only `!=` holds."""

    operator: str
    left: Expr
    right: Expr
    type = BOOL


@dataclass(frozen=True, slots=True)
class AllTrue(Expr):
    """AND: what follows a part that does not hold is not evaluated.

    at_once: machine code evaluates all parts, without a branch; what would read past an array reads its first element.
    """

    parts: tuple[Expr, ...]
    at_once: bool = False
    type = BOOL


@dataclass(frozen=True, slots=True)
class AnyTrue(Expr):
    """OR: what follows a part that holds is not evaluated."""

    parts: tuple[Expr, ...]
    type = BOOL


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    """NOT of a truth value."""

    operand: Expr
    type = BOOL


@dataclass(frozen=True, slots=True)
class Choose(Expr):
    """One of two values; the other is not evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def type(self) -> Scalar:  # type: ignore[override]
        return self.then.type


@dataclass(frozen=True, slots=True)
class Convert(Expr):
    """A value in another type."""

    operand: Expr
    type: Scalar


@dataclass(frozen=True, slots=True)
class Wrap(Expr):
    """64 bits of an integer (S3a): on the machine there are no more, in Python the rest is cut off."""

    operand: Expr

    @property
    def type(self) -> Scalar:  # type: ignore[override]
        return self.operand.type


@dataclass(frozen=True, slots=True)
class Invoke(Expr):
    """A call of a function by its name: one of `runtime`, or one that is compiled along with the kernel."""

    function: str
    arguments: tuple[Expr | Array, ...]
    type: Scalar


TRUE, FALSE = Immediate(True, BOOL), Immediate(False, BOOL)


class Statement:
    """A node that has no value, but an effect."""

    __slots__ = ()


Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """A variable gets a value."""

    target: Local
    value: Expr


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """An element of an array gets a value."""

    array: Array
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Statement):
    """One block or the other.

    flat: machine code computes both and keeps one, for conditions that no processor can predict. Stores are carried out
    in any case: they must be to places that do not count unless a variable says so.
    """

    condition: Expr
    then: Block
    otherwise: Block = ()
    flat: bool = False


@dataclass(frozen=True, slots=True)
class While(Statement):
    """A block, as long as a condition holds."""

    condition: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Break(Statement):
    """Leave the innermost loop at once."""


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    """Begin the next round of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """Leave the function with a value."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Statement):
    """Call a function for what it does."""

    call: Invoke


@dataclass(frozen=True, slots=True)
class Comment(Statement):
    """A line for the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function; its result is an integer of 64 bits unless it says otherwise."""

    name: str
    parameters: tuple[Local | Array, ...]
    body: Block
    result: Scalar = INT64


def expression(value: Expr | Number, type_: Scalar) -> Expr:
    """A Python number as a constant of a type; an expression stays as it is."""
    if isinstance(value, Expr):
        return value
    return Immediate(float(value) if type_.real else value, type_)


def arithmetic(operator: str, left: Expr | Number, right: Expr | Number) -> Expr:
    """An operation, the sides being of one type."""
    first, second = _alike(operator, left, right)
    if operator == "/" and first.type != FLOAT64:
        raise TypeError(f"/ of {first.type}")
    return BinaryOp(operator, first, second)


def comparison(operator: str, left: Expr | Number, right: Expr | Number) -> Expr:
    """A comparison, the sides being of one type."""
    return Comparison(operator, *_alike(operator, left, right))


def _alike(operator: str, left: Expr | Number, right: Expr | Number) -> tuple[Expr, Expr]:
    known = next(side.type for side in (left, right) if isinstance(side, Expr))
    first, second = expression(left, known), expression(right, known)
    if first.type != second.type:
        raise TypeError(f"{operator} of {first.type} and {second.type}")
    return first, second
