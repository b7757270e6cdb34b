"""The constants of a query: arguments of its kernel, so that another number or string needs no other kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import FLOAT64, INT64
from cepheid.pattern.expressions import nodes as ex


@dataclass(frozen=True, slots=True)
class Constant:
    """A parameter of a kernel, and what it is given: a number, or the code of a string."""

    parameter: n.Local
    value: int | float | str
    literal: ex.Literal | None = field(default=None, compare=False, repr=False)  # whose value it is, if it has no name

    def of(self, literal: ex.Literal) -> Constant:
        """The same parameter for another literal of its type."""
        value = literal.value
        assert isinstance(value, int | float | str)
        if isinstance(self.value, str) or isinstance(value, str):
            return Constant(self.parameter, str(value), literal)
        return Constant(self.parameter, float(value) if isinstance(self.value, float) else int(value), literal)

    def argument(self, code: Callable[[str], int]) -> int | float:
        """The number that the kernel is called with; strings have codes in a stream."""
        return code(self.value) if isinstance(self.value, str) else self.value


class Constants:
    """The constants of one kernel as they are read; a literal that is read in two places is one constant."""

    def __init__(self, prefix: str = "constant") -> None:
        self.prefix = prefix
        self._found: dict[int, tuple[ex.Literal, Constant]] = {}
        self._others: dict[str, Constant] = {}

    def __iter__(self) -> Iterator[Constant]:
        yield from self._others.values()
        yield from (constant for _, constant in self._found.values())

    def literal(self, node: ex.Literal, value: int | float | str) -> n.Local:
        """The parameter of a literal: equal ones that are written twice may differ in the next query."""
        if id(node) not in self._found:
            name = f"{self.prefix}_{len(self._found) + 1}"
            parameter = n.Local(name, FLOAT64 if isinstance(value, float) else INT64)
            self._found[id(node)] = node, Constant(parameter, value, node)
        return self._found[id(node)][1].parameter

    def named(self, name: str, value: int) -> n.Local:
        """A number that has a name, such as the window."""
        if name not in self._others:
            self._others[name] = Constant(n.Local(name, INT64), value)
        return self._others[name].parameter
