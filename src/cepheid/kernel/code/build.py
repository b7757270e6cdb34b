"""Statements under construction: blocks open and close as `with` blocks do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cepheid.kernel.code.nodes import (
    FALSE,
    TRUE,
    Array,
    Assign,
    Block,
    Break,
    Comment,
    Continue,
    Evaluate,
    Expr,
    If,
    Invoke,
    Local,
    Number,
    Return,
    Statement,
    Store,
    While,
    expression,
)
from cepheid.kernel.code.types import INT64, Scalar


class Code:
    """The statements of a function, under construction."""

    def __init__(self) -> None:
        self._open: list[list[Statement]] = [[]]
        self._chosen: Expr = FALSE  # the condition of the last `when` of the open block, as far as it is constant

    @property
    def block(self) -> Block:
        """The statements so far; every block that was opened must be closed."""
        (statements,) = self._open
        return tuple(statements)

    def add(self, *statements: Statement) -> None:
        """Append statements that exist already."""
        self._open[-1] += statements

    def set(self, target: Local, value: Expr | Number) -> Local:
        """Assign a value, converted to the variable's type."""
        self.add(Assign(target, expression(value, target.type).to(target.type)))
        return target

    def let(self, name: str, value: Expr | Number, type_: Scalar | None = None) -> Local:
        """Declare a variable with a value."""
        kind = type_ or (value.type if isinstance(value, Expr) else INT64)
        return self.set(Local(name, kind), value)

    def step(self, target: Local, by: Expr | Number = 1) -> None:
        self.set(target, target + expression(by, target.type).to(target.type))

    def put(self, array: Array, index: Expr | int, value: Expr | Number) -> None:
        """Store a value into an element of an array, converted to its type."""
        stored = expression(value, array.element).to(array.element)
        self.add(Store(array, expression(index, INT64), stored))

    def note(self, text: str) -> None:
        self.add(Comment(text))

    def call(self, call: Invoke) -> None:
        """Call a function for its effect."""
        self.add(Evaluate(call))

    def give(self, value: Expr | Number) -> None:
        """Leave the function with a value."""
        self.add(Return(expression(value, INT64)))

    def leave(self) -> None:
        """Break out of the innermost loop."""
        self.add(Break())

    def again(self) -> None:
        """Go on with the next round of the innermost loop."""
        self.add(Continue())

    @contextmanager
    def loop(self, condition: Expr) -> Iterator[None]:
        """Open a loop that runs while a condition holds."""
        with self._nested() as body:
            yield
        self.add(While(condition, tuple(body)))

    @contextmanager
    def when(self, condition: Expr, *, flat: bool = False) -> Iterator[None]:
        """Open a block under a condition. If that is constant, the block is inlined or left out."""
        if condition == TRUE:
            yield
        else:
            with self._nested() as body:
                yield
            if condition != FALSE:
                self.add(If(condition, tuple(body), flat=flat))
        self._chosen = condition

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Open the else-block of the `when` before it."""
        condition = self._chosen
        if condition == FALSE:
            yield
            return
        with self._nested() as body:
            yield
        if condition == TRUE:
            return
        last = self._open[-1].pop()
        assert isinstance(last, If)
        assert not last.otherwise
        self.add(If(last.condition, last.then, tuple(body), last.flat))

    @contextmanager
    def _nested(self) -> Iterator[list[Statement]]:
        body: list[Statement] = []
        self._open.append(body)
        yield body
        assert self._open.pop() is body
