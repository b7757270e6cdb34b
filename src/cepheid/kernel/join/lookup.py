"""Search in a sorted stack: with `a.price < b.price`, the candidates of a stack sorted by price are a range.

The entries that can go with a lead are sorted when they are first needed, and serve all leads that they cover. Within
the range no condition has to be tested, but positions have to be. So if few entries lie between the neighbours, these
are tested one by one instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext

from cepheid.kernel.arguments import CELLS
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, any_of, choose
from cepheid.kernel.code.types import FLOAT64, INT64
from cepheid.kernel.expressions import KernelSort, KernelTranslator, sort_of
from cepheid.kernel.join.kernel import ORIGIN, Size, WorkArray
from cepheid.kernel.join.layout import StackField, StackLayout
from cepheid.plan.bounds import FEW, StackBound, bounds_of, most_bounded
from cepheid.plan.join import Join

_NONE = n.Immediate(0, INT64)
_SORTABLE = (KernelSort.INTEGER, KernelSort.REAL, KernelSort.TIME)


class Lookup:
    """A stack that is worth sorting: by which column, and what bounds it."""

    def __init__(
        self, stack: StackLayout, field: StackField, bounds: tuple[StackBound, ...], translator: KernelTranslator
    ) -> None:
        self.stack = stack
        self.field = field
        self.bounds = bounds
        self.translator = translator
        scalar = field.sort.scalar
        self.keys, self.spare = stack.array("key", scalar), stack.array("spare", scalar)
        self.entries, self.moved, self.heads = (stack.array(word) for word in ("entry", "moved", "heads"))
        self.places = stack.array("places")
        self.count = stack.local("keys")
        self.since, self.until = stack.local("since"), stack.local("until")
        self.floor, self.ceiling = stack.local("floor"), stack.local("ceiling")

    def applying(self, bound: Collection[int]) -> list[StackBound]:
        """The bounds whose values are known when some stacks are bound."""
        return [limit for limit in self.bounds if limit.joint.stacks - {self.stack.number} <= set(bound)]

    def work(self) -> Iterator[WorkArray]:
        """The arrays that it sorts in."""
        for array in (self.keys, self.entries, self.spare, self.moved, self.heads, self.places):
            yield WorkArray(array, Size.ENTRIES, self.stack.stack.variable)

    def begin(self, code: Code) -> None:
        """Nothing is sorted yet."""
        code.set(self.since, 0)
        code.set(self.until, 0)

    def look_up(
        self,
        code: Code,
        bounds: Sequence[StackBound],
        low: n.Expr,
        high: n.Expr,
        applies: Callable[[StackBound], n.Expr] = lambda _: n.TRUE,
        *,
        places: bool,
    ) -> None:
        """Sets where the candidates are: from `next` to `stop`, and `by`: whether that is among the sorted ones.

        applies: whether the value of a bound is known. places: the positions of the sorted ones are asked for.
        """
        following, stop, by = (self.stack.local(word) for word in ("next", "stop", "by"))
        code.set(following, low)
        code.set(stop, high)
        code.set(by, n.FALSE)
        null = any_of(all_of([applies(limit), self.translator.value(limit.value).null]) for limit in bounds)
        with code.when(null):
            code.note("Nothing compares with NULL.")
            code.set(stop, following)
        many = all_of([stop - following >= FEW, any_of(map(applies, bounds))])
        with nullcontext() if null == n.FALSE else code.otherwise(), code.when(many):
            self._sort(code, places=places)
            only = len(bounds) == 1  # it applies, or this would not be reached
            least, most = self._restrict(code, bounds, (lambda _: n.TRUE) if only else applies)
            left = most if least == _NONE else most - least
            with code.when(left < (stop - following) * 4 + FEW):
                code.set(by, n.TRUE)
                code.set(following, least)
                code.set(stop, most)

    def _sort(self, code: Code, *, places: bool) -> None:
        """Sort what goes with the lead, if that is not done, and as much again where leads are close to each other."""
        first, end, high = (self.stack.local(word) for word in ("first", "end", "high"))
        arrays = (self.keys, self.entries, self.spare, self.moved, self.heads)
        nulls = () if self.field.nulls is None else (self.field.nulls,)
        with code.when(any_of([first < self.since, end > self.until])):
            code.set(self.until, n.Invoke("sort_until", (first, end, self.since, self.until, high), INT64))
            code.set(self.since, first)
            arguments = (self.field.values, *nulls, first, self.until, *arrays)
            code.set(self.count, n.Invoke("sort_known_entries" if nulls else "sort_entries", arguments, INT64))
            if places:
                where = (self.stack.at, ORIGIN, self.entries, self.count, self.places)
                code.call(n.Invoke("find_places", where, INT64))
            if any(bound.below for bound in self.bounds):
                code.set(self.floor, 0)
            if any(bound.above for bound in self.bounds):
                code.set(self.ceiling, 0)

    def _restrict(
        self, code: Code, bounds: Sequence[StackBound], applies: Callable[[StackBound], n.Expr]
    ) -> tuple[n.Expr, n.Expr]:
        """Return the range of the sorted part that the bounds leave."""
        lows, highs = [limit for limit in bounds if limit.below], [limit for limit in bounds if limit.above]
        least: n.Expr = _NONE
        most: n.Expr = self.count
        if len(lows) == 1 and applies(lows[0]) == n.TRUE:
            least = code.set(self.floor, self._seek(self.floor, lows[0], after=lows[0].operator == ">"))
        elif lows:
            least = code.set(self.stack.local("least"), 0)
            for bound in lows:
                with code.when(applies(bound)):
                    code.set(self.floor, self._seek(self.floor, bound, after=bound.operator == ">"))
                    code.set(self.stack.local("least"), choose(self.floor > least, self.floor, least))
        if len(highs) == 1 and applies(highs[0]) == n.TRUE:
            most = code.set(self.ceiling, self._seek(self.ceiling, highs[0], after=highs[0].operator != "<"))
        elif highs:
            most = code.set(self.stack.local("most"), self.count)
            for bound in highs:
                with code.when(applies(bound)):
                    code.set(self.ceiling, self._seek(self.ceiling, bound, after=bound.operator != "<"))
                    code.set(self.stack.local("most"), choose(self.ceiling < most, self.ceiling, most))
        return least, most

    def _seek(self, start: n.Local, bound: StackBound, *, after: bool) -> n.Expr:
        value = self.translator.value(bound.value).code
        key = value.to(FLOAT64) if self.field.sort is KernelSort.REAL else value
        return n.Invoke("seek", (self.keys, self.count, start, key, n.TRUE if after else n.FALSE, CELLS), INT64)


def find_lookup(join: Join, stack: StackLayout, translator: KernelTranslator) -> Lookup | None:
    """The column of a stack that most conditions bound, by values of its sort: an integer is a double beside one."""

    def is_sortable(bound: StackBound) -> bool:
        sort, value = sort_of(bound.column.type), translator.value(bound.value).sort
        alike = sort is value or (sort is KernelSort.REAL and value is KernelSort.INTEGER)
        return alike and (sort in _SORTABLE or (sort is KernelSort.STRING and bound.operator == "="))

    bounds = most_bounded(filter(is_sortable, bounds_of(join, stack.number)))
    return Lookup(stack, stack.field(bounds[0].column.column), bounds, translator) if bounds else None
