"""The construction of matches in an order that is chosen at each step: what has the fewest candidates is bound next.

The component that has the fewest entries leads, and the others are bound on levels (DEBS'15 6). A long partition is cut
into stretches of time, since what is rare may change.
"""

from __future__ import annotations

from cepheid.kernel.arguments import CELLS
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of, any_of, choose
from cepheid.kernel.code.types import INT64
from cepheid.kernel.join.conditions import is_before
from cepheid.kernel.join.construction import AT, BEFORE, MATCHES, NOW, RESUMED
from cepheid.kernel.join.kernel import CUT, ORIGIN, SPAN, JoinFunction, Size, WorkArray
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.join.levels import ENDS, LEADER, LEADING, LEVELS, STARTS, Levels

LAST = n.Local("last", INT64)  # where the entries that lead end
FROM = n.Local("cut", INT64)  # where a stretch begins


def generate_tree(layout: JoinLayout, window: int | None) -> JoinFunction:
    """The construction in any order."""
    tree = _Tree(layout, window)
    tree.body()
    return tree.function(SPAN, work=tuple(WorkArray(a, Size.LEVELS) for a in (LEVELS, STARTS, ENDS)))


class _Tree(Levels):
    """Builds the loop over the leads."""

    def __init__(self, layout: JoinLayout, window: int | None) -> None:
        super().__init__(layout, window)
        self.cuts = window is not None and not layout.pivots and not self.join.waits

    # Stretches.

    def segments(self) -> None:
        if not self.cuts:
            self.leads()
            return
        code = self.code
        (last,) = self.layout.last
        code.note("In stretches of time: in each one, what is rare there leads.")
        for stack in self.components:
            code.set(stack.local("upto"), stack.local("high"))
        code.set(FROM, choose(RESUMED > 0, CELLS[CUT], last.local("low")))
        with code.loop(FROM < last.local("upto")):
            begin = last.when[FROM]
            code.set(last.local("low"), FROM)
            self.search(last.local("high"), "first_after", last.when, FROM, last.local("upto"), begin + SPAN)
            for stack in self.components:
                if stack is not last:
                    low, high, upto = (stack.local(word) for word in ("low", "high", "upto"))
                    self.search(low, "first_after", stack.when, low, upto, begin - self.window)
                    self.search(high, "first_from", stack.at, low, upto, last.at[last.local("high") - 1])
            self.leads()
            code.set(FROM, last.local("high"))

    def stop(self, lead: n.Expr) -> None:
        if self.cuts:
            self.code.put(CELLS, CUT, FROM)
        super().stop(lead)

    # The lead.

    def leads(self) -> None:
        """Write the loop over the events of the component that has the fewest."""
        code = self.code
        with self.where_all_have_entries():
            code.note("What has the fewest entries leads.")
            self.begin_with(self.components[0])
            for stack in self.components[1:]:
                with code.when(stack.local("high") - stack.local("low") < LAST - LEADING):
                    self.begin_with(stack)
            for stack in self.components:
                code.set(stack.local("first"), stack.local("low"))
                code.set(stack.local("end"), stack.local("low"))
            with code.when(RESUMED > 0):
                code.set(LEADING, RESUMED - 1)
                code.set(RESUMED, 0)
            with code.loop(LEADING < LAST):
                code.set(BEFORE, MATCHES)
                self.each(LEADER, self.take_lead)
                for stack in self.components:
                    self.follow(stack)
                with code.when(all_of(map(self.goes_with_lead, self.components))):
                    self.levels()
                code.step(LEADING)

    def begin_with(self, stack: StackLayout) -> None:
        self.code.set(LEADER, stack.number)
        self.code.set(LEADING, stack.local("low"))
        self.code.set(LAST, stack.local("high"))

    def take_lead(self, stack: StackLayout) -> None:
        """Bind the lead."""
        code = self.code
        code.set(stack.entry, LEADING)
        code.set(AT, stack.at[stack.entry])
        if self.reach is not None:
            code.set(NOW, stack.when[stack.entry])
        code.set(stack.local("place"), AT - ORIGIN)

    def goes_with_lead(self, stack: StackLayout) -> n.Expr:
        return any_of([LEADER.equals(stack.number), stack.local("first") < stack.local("end")])

    def follow(self, stack: StackLayout) -> None:
        """Set the ranges of the entries that can go with the lead; both ends only move forward from lead to lead."""
        code = self.code
        first, end, high = (stack.local(word) for word in ("first", "end", "high"))
        before = [layout for layout in self.components if is_before(layout, stack)]
        after = [layout for layout in self.components if is_before(stack, layout)]
        code.note(f"{stack.stack.variable} with the lead.")
        with code.when(LEADER.differs(stack.number)):
            self.side(
                n.TRUE if len(before) == self.deepest else LEADER <= before[-1].number if before else n.FALSE,
                lambda: self.move(first, high, stack.at[first] <= AT),
                lambda: self.move(first, high, stack.when[first] <= NOW - self.window),
            )
            if self.reach is not None or after:
                code.set(end, choose(end < first, first, end))
            self.side(
                n.TRUE if len(after) == self.deepest else LEADER >= after[0].number if after else n.FALSE,
                lambda: self.move(end, high, stack.at[end] < AT),
                lambda: self.move(end, high, stack.when[end] < NOW + self.window),
                lambda: code.set(end, high),
            )
