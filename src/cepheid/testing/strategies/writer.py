"""Draws expressions: a scope says what they may refer to, tables of makers what they may consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st

from cepheid.front.automata.registers import REGISTER
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.testing.strategies.literals import literals
from cepheid.testing.strategies.scope import PARAMETERS, Part, Scope
from cepheid.testing.strategies.sorts import Sort

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExpressionWriter:
    """Draws expressions of a sort. `depth`: how many operators may still be nested."""

    draw: st.DrawFn
    scope: Scope
    makers: Mapping[Sort, Sequence[Callable[[ExpressionWriter, Sort], ex.Expression]]]
    depth: int

    def one_of(self, items: Sequence[T]) -> T:
        """One of some, the first being the simplest."""
        return self.draw(st.sampled_from(items))

    def chance(self, one_in: int) -> bool:
        """Draw whether something happens that ought to happen once in `one_in` times."""
        return self.draw(st.integers(1, one_in)) == one_in

    def value(self, sort: Sort) -> ex.Expression:
        """An expression of a sort."""
        if self.depth == 0 or self.chance(2):
            return self.leaf(sort)
        inner = replace(self, depth=self.depth - 1)
        return self.one_of(self.makers[sort])(inner, sort)

    def reading(self, sort: Sort) -> ex.Expression:
        """An expression that reads an event, if any has a column of the sort."""
        attributes = list(self.attributes(sort))
        return self.one_of(attributes) if attributes and not self.chance(3) else self.value(sort)

    def leaf(self, sort: Sort) -> ex.Expression:
        """A constant, a parameter, a count or an attribute."""
        attributes = list(self.attributes(sort))
        counts = list(self.counts()) if sort is Sort.INT else []
        if counts and self.chance(3):
            return self.one_of(counts)
        if attributes and not self.chance(3):
            return self.one_of(attributes)
        named = [name for name, (kind, _) in PARAMETERS.items() if kind is sort]
        if self.scope.parameters and named and self.chance(4):
            return ex.Name(self.one_of(named))
        return self.draw(literals(sort))

    def attributes(self, sort: Sort) -> Iterator[ex.Expression]:
        """All attributes of a sort in the scope."""
        columns = self.scope.columns.get(sort, ())
        for variable, index in self.scope.attributes:
            yield from (ex.Attribute(variable, index, column) for column in columns)
            yield from (_part(variable, index, part) for part in self.scope.parts.get(sort, ()))
        if self.scope.bare:
            yield from (ex.Name(column) for column in columns)
        yield from (ex.Attribute(REGISTER, ex.Index.ONE, name) for name in self.scope.registers.get(sort, ()))

    def counts(self) -> Iterator[ex.Expression]:
        """How many events there are: `a.LEN`, `count(a[])`."""
        yield from map(ex.Length, self.scope.lengths)
        yield from (ex.AggregateCall("count", ex.Rows(*reference)) for reference in self.scope.ranges)

    def sort(self) -> Sort:
        """A sort that some column or field has, if any has one."""
        return self.one_of(list(dict.fromkeys([*self.scope.columns, *self.scope.registers])) or list(Sort))

    def certain(self) -> ExpressionWriter:
        """A writer of expressions with a known type; the type of a user-defined function is only known when it runs."""
        return replace(self, scope=replace(self.scope, parameters=False))

    def for_each(self, reference: tuple[str, ex.AnyIndex]) -> ExpressionWriter:
        """A writer of what ALL or ANY asks of each of some events."""
        return replace(self, scope=self.scope.for_each(reference))

    def inside(self, reference: tuple[str, ex.AnyIndex]) -> ExpressionWriter:
        """A writer of what an aggregate runs over."""
        return replace(self, scope=self.scope.within(reference), depth=min(self.depth, 1))


def _part(variable: str, index: ex.AnyIndex, part: Part) -> ex.Expression:
    """A value inside of a nested column."""
    value: ex.Expression = ex.Attribute(variable, index, str(part[0]))
    for step in part[1:]:
        value = ex.Field(value, step) if type(step) is str else ex.Element(value, literal(step))
    return value
