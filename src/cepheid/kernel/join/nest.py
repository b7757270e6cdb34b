"""The construction of matches in a fixed order: nested loops, one for each component (DEBS'15 5, 6).

For each event of the first component in the order, the *lead*, the others are bound one by one, each from the part of
its stack that can still be meant: after and before the events that are bound, and in the window with them. The one that
is bound last has a loop without branches, as far as its conditions allow that.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of, choose, negate
from cepheid.kernel.code.types import INT64
from cepheid.kernel.join.conditions import is_before
from cepheid.kernel.join.construction import AT, BEFORE, MATCHES, NOW, RESUMED, TESTED, Construction, of_group
from cepheid.kernel.join.kernel import JoinFunction
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.join.leaf import Leaf
from cepheid.kernel.join.lookup import Lookup
from cepheid.plan.join import Joint

Range = tuple[n.Local, n.Local]


def generate_nest(layout: JoinLayout, window: int | None, order: Sequence[int]) -> JoinFunction:
    """The construction in an order of the positive stacks."""
    nest = _Nest(layout, window, order)
    nest.body()
    return nest.function()


class _Nest(Construction):
    """Builds the loops, from the outermost to the innermost."""

    def __init__(self, layout: JoinLayout, window: int | None, order: Sequence[int]) -> None:
        super().__init__(layout, window)
        self.order = tuple(layout.stacks[x] for x in order)
        self.lead, *self.others = self.order
        self.find_lookups(self.order[1:])
        for number, lookup in list(self.lookups.items()):
            if not lookup.applying(order[: order.index(number)]):
                del self.lookups[number]

    # The lead.

    def segments(self) -> None:
        code, lead = self.code, self.lead
        moving = [other for other in self.others if self.moves(other)]
        with self.where_all_have_entries():
            for other in self.others:
                code.set(other.local("first"), other.local("low"))
                code.set(other.local("end"), other.local("low" if other in moving else "high"))
            code.note(f"{lead.stack.variable} leads: from one to the next, what goes with it only moves on.")
            code.set(lead.entry, choose(RESUMED > 0, RESUMED - 1, lead.local("low")))
            code.set(RESUMED, 0)
            with code.loop(lead.entry < lead.local("high")):
                code.set(BEFORE, MATCHES)
                if any(other.stack.group != lead.stack.group for other in self.others):
                    code.set(AT, lead.at[lead.entry])
                if self.reach is not None:
                    code.set(NOW, lead.when[lead.entry])
                for other in self.others:
                    self.follow(other)
                with code.when(all_of(other.local("first") < other.local("end") for other in self.others)):
                    self.place(lead)
                    self.bind(1)
                code.step(lead.entry)

    def moves(self, other: StackLayout) -> bool:
        """Whether the end of what goes with a lead depends on the lead."""
        return self.reach is not None or is_before(other, self.lead)

    def follow(self, other: StackLayout) -> None:
        """Set the ranges of the entries that can go with the lead: in sequence and in the window."""
        code, lead = self.code, self.lead
        first, end, high = (other.local(word) for word in ("first", "end", "high"))
        if is_before(lead, other):
            self.move(first, high, other.at[first] <= AT)
        elif self.reach is not None:
            self.move(first, high, other.when[first] <= NOW - self.window)
        if not self.moves(other):
            return
        if self.reach is not None or is_before(lead, other):
            code.set(end, choose(end < first, first, end))
        if is_before(other, lead):
            self.move(end, high, other.at[end] < AT)
        else:
            self.move(end, high, other.when[end] < NOW + self.window)

    # The others.

    def bind(self, level: int) -> None:
        """Write the loop of the next component; that of the last one writes matches."""
        stack, bound = self.order[level], self.order[:level]
        self.code.note(self.told(stack, bound))
        low, high = self.narrow(stack, bound)
        lookup = self.lookups.get(stack.number)
        if level == len(self.order) - 1:
            leaf = Leaf(self, stack)
            if lookup is not None:
                lookup.look_up(self.code, lookup.bounds, low, high, places=leaf.only_between)
            leaf.write(low, high, self.lead.entry)
            leaf.write_others()
        elif lookup is None:
            self.plain_loop(level, low, high)
        else:
            self.lookup_loop(level, lookup, low, high)

    def told(self, stack: StackLayout, bound: Sequence[StackLayout]) -> str:
        """Return the comment for a component: its name, and the components around it."""
        before = [layout.stack.variable for layout in bound if is_before(layout, stack)]
        after = [layout.stack.variable for layout in bound if is_before(stack, layout)]
        words = [f"after {' and '.join(before)}"] * bool(before) + [f"before {' and '.join(after)}"] * bool(after)
        return f"{stack.stack.variable}{', ' * bool(words)}{', '.join(words)}."

    def narrow(self, stack: StackLayout, bound: Sequence[StackLayout]) -> Range:
        """Between the nearest events that are bound; where there is none on a side, the window is the end."""
        low, high = stack.local("first"), stack.local("end")
        before = [layout for layout in bound if is_before(layout, stack)]
        after = [layout for layout in bound if is_before(stack, layout)]
        near = of_group(before or bound, max)
        if near != [self.lead] and (before or self.reach is not None):
            self.narrow_low(stack, near, low, high, placed=bool(before))
            low = stack.local("from")
        near = of_group(after or bound, min)
        if near != [self.lead] and (after or self.reach is not None):
            self.narrow_high(stack, near, low, high, placed=bool(after))
            high = stack.local("to")
        return low, high

    def plain_loop(self, level: int, low: n.Local, high: n.Local) -> None:
        """Each candidate, as it is in the stack."""
        code, stack, bound = self.code, self.order[level], self.order[:level]
        joints = self.conditions.tests(stack, bound, late=False)
        if joints:
            code.step(TESTED, high - low)
        code.set(stack.entry, low)
        with code.loop(stack.entry < high):
            self.take(level, joints, n.TRUE)
            code.step(stack.entry)

    def lookup_loop(self, level: int, lookup: Lookup, low: n.Local, high: n.Local) -> None:
        """Each candidate, in the order of a column or as it is in the stack."""
        code, stack, bound = self.code, self.order[level], self.order[:level]
        by, following, stop = (stack.local(word) for word in ("by", "next", "stop"))
        bounds = lookup.applying([part.number for part in bound])
        bounded = [part.joint for part in bounds]
        joints = [joint for joint in self.conditions.tests(stack, bound, late=False) if joint not in bounded]
        lookup.look_up(code, bounds, low, high, places=False)
        with code.when(n.TRUE if joints else negate(by)):
            code.step(TESTED, stop - following)
        with code.loop(following < stop):
            code.set(stack.entry, choose(by, lookup.entries[following].to(INT64), following))
            code.step(following)
            inside = all_of([stack.entry >= low, stack.entry < high])
            self.take(level, joints, choose(by, inside, all_of(map(self.conditions.holds, bounded))))

    def take(self, level: int, joints: Sequence[Joint], fits: n.Expr) -> None:
        """Bind a candidate that passes the tests, and go on with the next component."""
        stack, bound = self.order[level], self.order[:level]
        holds = [*self.conditions.differs(stack, bound), *map(self.conditions.holds, joints)]
        with self.code.when(all_of([fits, *holds])), ExitStack() as nested:
            for absent in self.newly_asked(level):
                nested.enter_context(self.code.when(negate(self.absence.look_for(self.code, absent))))
            self.place(stack)
            self.bind(level + 1)

    def newly_asked(self, level: int) -> list[StackLayout]:
        """The absent events that can be looked for when a component is bound, and could not before."""
        bound = {layout.number for layout in self.order[: level + 1]}
        number = self.order[level].number
        return [layout for layout in self.absence.absent if number in self.absence.needs(layout) <= bound]
