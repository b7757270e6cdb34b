"""The levels of a tree: which component is bound next, and through its candidates one by one.

A level knows which component it has. Where it has no more candidates, the level before takes its next one; the last
level gives matches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of, any_of, choose, negate
from cepheid.kernel.code.types import BOOL, INT64
from cepheid.kernel.join.conditions import is_before
from cepheid.kernel.join.construction import NOW, TESTED, Construction, of_group
from cepheid.kernel.join.layout import JoinLayout, StackLayout
from cepheid.kernel.join.leaf import Leaf, fill
from cepheid.kernel.join.lookup import Lookup
from cepheid.kernel.runtime import FOREVER, NEVER
from cepheid.plan.join import Joint

HEAVY = 8
"""What weighs a candidate of which nothing is asked yet: all of them go on."""

LEVELS = n.Array("levels", INT64)  # of each level: its component
STARTS, ENDS = n.Array("starts", INT64), n.Array("ends", INT64)  # of what is bound when a level begins
LEVEL, WHICH = n.Local("level", INT64), n.Local("which", INT64)
BOUND = n.Local("bound", INT64)  # a bit for each component that is bound
FRESH, HOLDS = n.Local("fresh", BOOL), n.Local("holds", BOOL)
LEADER, LEADING = n.Local("lead", INT64), n.Local("leading", INT64)  # the component that leads, and its entry
FEWEST, WEIGHT = n.Local("fewest", INT64), n.Local("weight", INT64)
FLOOR, CEILING = n.Local("floor", INT64), n.Local("ceiling", INT64)
ASKS, TIME = n.Local("asks", INT64), n.Local("time", INT64)
_NEVER, _FOREVER = n.Immediate(NEVER, INT64, "NEVER"), n.Immediate(FOREVER, INT64, "FOREVER")


class Levels(Construction):
    """Builds the loop over levels, for a lead that is bound."""

    def __init__(self, layout: JoinLayout, window: int | None) -> None:
        super().__init__(layout, window)
        self.components = tuple(layout.positive)
        self.find_lookups(self.components)
        self.leaves = [Leaf(self, stack) for stack in self.components]
        at_once = all(leaf.at_once for leaf in self.leaves)
        for leaf in self.leaves:
            leaf.at_once = at_once
        self.deepest = len(self.components) - 1

    def each(self, variable: n.Local, write: Callable[[StackLayout], None], first: int = 0) -> None:
        """A branch for each component that a variable can name."""
        last = first == len(self.components) - 1
        with self.code.when(n.TRUE if last else variable.equals(first)):
            write(self.components[first])
        if not last:
            with self.code.otherwise():
                self.each(variable, write, first + 1)

    def side(
        self,
        placed: n.Expr,
        by_place: Callable[[], object],
        by_time: Callable[[], object],
        by_nothing: Callable[[], object] = lambda: None,
    ) -> None:
        """Write one end of a range: it is another event, the window, or open."""
        with self.code.when(placed):
            by_place()
        with self.code.otherwise():
            (by_nothing if self.reach is None else by_time)()

    def levels(self) -> None:
        """All matches of a lead."""
        code = self.code
        if self.deepest == 1:
            self.each(LEADER, lambda lead: self.pair(self.components[1 - lead.number]))
            return
        code.put(LEVELS, 0, LEADER)
        code.set(BOUND, _bit(LEADER))
        code.set(LEVEL, 1)
        code.set(FRESH, n.TRUE)
        if self.spans:
            code.put(STARTS, 1, NOW)
            code.put(ENDS, 1, NOW)
        with code.loop(LEVEL > 0):
            with code.when(FRESH):
                code.set(FRESH, n.FALSE)
                with code.when(LEVEL.equals(self.deepest)):
                    code.note("One is left.")
                    code.set(WHICH, 0)
                    with code.loop(((BOUND >> WHICH) & 1).differs(0)):
                        code.step(WHICH)
                    self.each(WHICH, self.narrow_last)
                with code.otherwise():
                    self.choose_next()
                self.each(WHICH, self.look_up)
                with code.when(LEVEL.equals(self.deepest)):
                    self.each(WHICH, self.leaf)
                    for stack in [] if self.leaves[0].at_once else self.components:
                        with code.when(WHICH.differs(stack.number)):
                            fill(code, stack)
                    self.go_back()
            self.advance()

    def pair(self, stack: StackLayout) -> None:
        """The matches of a lead with the only other component."""
        low, high = stack.local("first"), stack.local("end")
        self.code.note(f"{stack.stack.variable} is last.")
        leaf = self.leaves[stack.number]
        if leaf.lookup is not None:
            leaf.lookup.look_up(self.code, leaf.lookup.bounds, low, high, places=leaf.only_between)
        leaf.write(low, high, LEADING)
        leaf.write_others()

    @property
    def spans(self) -> bool:
        """Whether a level has to know how far apart the events are that are bound."""
        return self.reach is not None and self.deepest > 2

    def go_back(self) -> None:
        """Go back one level, where the component takes its next candidate."""
        self.code.set(LEVEL, LEVEL - 1)
        self.code.set(BOUND, BOUND ^ _bit(LEVELS[LEVEL]))
        self.code.again()

    def choose_next(self) -> None:
        """Choose the component that has the fewest candidates, and set their range."""
        code = self.code
        code.note("Of those that are left, what has the fewest candidates is next.")
        code.set(FEWEST, _FOREVER)
        for stack in self.components:
            with code.when(_are_bound([stack.number], n.FALSE)):
                self.narrow(stack)
                code.set(WEIGHT, stack.local("to") - stack.local("from"))
                joints = self.joints(stack)
                unasked = all_of(self.applies(stack, joint, n.FALSE) for joint in joints)
                with code.when(unasked if joints else n.FALSE):
                    code.note("Nothing is asked of it yet: every candidate goes on.")
                    code.set(WEIGHT, WEIGHT * HEAVY)
                with code.when(WEIGHT < FEWEST):
                    code.set(WHICH, stack.number)
                    code.set(FEWEST, WEIGHT)
        code.put(LEVELS, LEVEL, WHICH)

    def narrow_last(self, stack: StackLayout) -> None:
        """Set the range of the last component between its neighbours, all of which are bound."""
        code = self.code
        low, high = stack.local("from"), stack.local("to")
        code.set(low, stack.local("first"))
        code.set(high, stack.local("end"))
        others = [layout for layout in self.components if layout is not stack]
        before = [layout for layout in others if is_before(layout, stack)]
        after = [layout for layout in others if is_before(stack, layout)]
        near = of_group(before or others, max)
        if before or self.reach is not None:
            with code.when(LEADER.differs(near[0].number) if len(near) == 1 else n.TRUE):
                self.narrow_low(stack, near, low, high, placed=bool(before))
        near = of_group(after or others, min)
        if after or self.reach is not None:
            with code.when(LEADER.differs(near[0].number) if len(near) == 1 else n.TRUE):
                self.narrow_high(stack, near, low, high, placed=bool(after))

    def joints(self, stack: StackLayout) -> list[Joint]:
        """The tests of a stack with others, but for those that are kept for the end."""
        return self.conditions.tests(stack, self.components, late=False)

    def applies(self, stack: StackLayout, joint: Joint, answer: n.Expr = n.TRUE) -> n.Expr:
        """Whether all that a test reads beside a stack is bound, or whether it is not."""
        return _are_bound(joint.stacks - {stack.number}, answer)

    def narrow(self, stack: StackLayout) -> None:
        """Between the nearest events that are bound; where there is none on a side, the window is the end."""
        code = self.code
        first, end = stack.local("first"), stack.local("end")
        low, high = code.set(stack.local("from"), first), code.set(stack.local("to"), end)
        if self.deepest == 2:  # what goes with the lead is known
            return
        before = [layout for layout in self.components if is_before(layout, stack)]
        after = [layout for layout in self.components if is_before(stack, layout)]
        with code.when(LEVEL > 1):
            self.nearest(FLOOR, _NEVER, before, ">")
            self.nearest(CEILING, _FOREVER, after, "<")
            if self.reach is None:
                if before:
                    self.search(low, "first_after", stack.at, low, high, FLOOR)
                if after:
                    self.search(high, "first_from", stack.at, low, high, CEILING)
                return
            floor, ceiling = FLOOR if before else _NEVER, CEILING if after else _FOREVER
            part = (stack.at, stack.when, low, high)
            code.set(low, n.Invoke("candidates_from", (*part, floor, ENDS[LEVEL] - self.window), INT64))
            code.set(high, n.Invoke("candidates_until", (*part, ceiling, STARTS[LEVEL] + self.window), INT64))

    def nearest(self, into: n.Local, none: n.Expr, stacks: Sequence[StackLayout], sign: str) -> None:
        """The latest or the earliest of some events, as far as they are bound."""
        if stacks:
            self.code.set(into, none)
        for layout in stacks:
            at = layout.at[layout.entry]
            with self.code.when(all_of([_are_bound([layout.number]), n.comparison(sign, at, into)])):
                self.code.set(into, at)

    def look_up(self, stack: StackLayout) -> None:
        """Set where the candidates are, possibly in the sorted part."""
        low, high = stack.local("from"), stack.local("to")
        lookup = self.lookups.get(stack.number)
        if lookup is None:
            self.code.set(stack.local("next"), low)
            self.code.set(stack.local("stop"), high)
            return
        lookup.look_up(
            self.code,
            lookup.bounds,
            low,
            high,
            lambda bound: self.applies(stack, bound.joint),
            places=self.leaves[stack.number].only_between,
        )

    def leaf(self, stack: StackLayout) -> None:
        """The last level."""
        self.code.note(f"{stack.stack.variable} is last.")
        self.leaves[stack.number].write(stack.local("from"), stack.local("to"), LEADING)

    def advance(self) -> None:
        """The next candidate of a level that passes the tests; then on to the next level."""
        code = self.code
        code.set(WHICH, LEVELS[LEVEL])
        code.set(HOLDS, n.FALSE)
        self.each(WHICH, self.find_next)
        with code.when(negate(HOLDS)):
            self.go_back()
        code.set(BOUND, BOUND | _bit(WHICH))
        # What needs all others is asked on the last level.
        absent = [layout for layout in self.absence.absent if len(self.absence.needs(layout)) < len(self.components)]
        for layout in absent:
            needs = self.absence.needs(layout)
            among = n.Immediate(_bits(needs), INT64) & _bit(WHICH)
            with code.when(all_of([HOLDS, among.differs(0), _are_bound(needs)])):
                code.set(HOLDS, negate(self.absence.look_for(code, layout)))
        with code.when(negate(HOLDS) if absent else n.FALSE):
            code.set(BOUND, BOUND ^ _bit(WHICH))
            code.again()
        self.go_deeper()

    def go_deeper(self) -> None:
        """To the next level."""
        code = self.code
        self.each(WHICH, self.take)
        code.set(LEVEL, LEVEL + 1)
        if self.spans:
            for array, sign in ((STARTS, "<"), (ENDS, ">")):
                old = array[LEVEL - 1]
                code.put(array, LEVEL, choose(n.comparison(sign, TIME, old), TIME, old))
        code.set(FRESH, n.TRUE)

    def take(self, stack: StackLayout) -> None:
        """Bind a candidate."""
        self.place(stack)
        if self.spans:
            self.code.set(TIME, stack.when[stack.entry])

    def find_next(self, stack: StackLayout) -> None:
        """Go through the candidates until one passes the tests with what is bound."""
        code, lookup = self.code, self.lookups.get(stack.number)
        following, stop, by, entry = (*(stack.local(word) for word in ("next", "stop", "by")), stack.entry)
        bounded = [bound.joint for bound in lookup.bounds] if lookup is not None else []
        joints = self.joints(stack)
        # A bounded test is not asked where the candidates are among the sorted ones.
        asked = [all_of([negate(by) if joint in bounded else n.TRUE, self.applies(stack, joint)]) for joint in joints]
        if joints:
            code.set(ASKS, any_of(asked).to(INT64))
        with code.loop(all_of([negate(HOLDS), following < stop])):
            code.set(entry, following if lookup is None else _entry(lookup, by, following))
            code.step(following)
            if joints:
                code.step(TESTED, ASKS)
            inside: n.Expr = n.TRUE
            if lookup is not None:
                between = all_of([entry >= stack.local("from"), entry < stack.local("to")])
                inside = any_of([negate(by), between])
            apart = [
                any_of([_are_bound([layout.number], n.FALSE), stack.at[entry].differs(layout.at[layout.entry])])
                for layout in self.components
                if self.conditions.may_share(layout, stack)
            ]
            tests = [
                any_of(
                    [
                        by if joint in bounded else n.FALSE,
                        self.applies(stack, joint, n.FALSE),
                        self.conditions.holds(joint),
                    ]
                )
                for joint in joints
            ]
            code.set(HOLDS, all_of([inside, *apart, *tests]))


def _bit(number: n.Expr) -> n.Expr:
    return n.Immediate(1, INT64) << number


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << x for x in numbers)


def _are_bound(numbers: Collection[int], answer: n.Expr = n.TRUE) -> n.Expr:
    """Whether some components are bound; or, as the answer asks, whether one of them is not."""
    bits = _bits(numbers)
    if len(numbers) == 1:
        return (BOUND & bits).differs(0) if answer == n.TRUE else (BOUND & bits).equals(0)
    return (BOUND & bits).equals(bits) if answer == n.TRUE else (BOUND & bits).differs(bits)


def _entry(lookup: Lookup, by: n.Expr, following: n.Local) -> n.Expr:
    return choose(by, lookup.entries[following].to(INT64), following)
