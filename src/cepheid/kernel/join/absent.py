"""Whether an event is there that must be absent: it is looked for between its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, negate
from cepheid.kernel.code.types import BOOL, INT64
from cepheid.kernel.join.conditions import JoinConditions
from cepheid.kernel.join.layout import JoinLayout, StackLayout

SEEN = n.Local("seen", BOOL)
TESTS_DONE = n.Local("tests", INT64)


class AbsenceSearch:
    """Writes the search for absent events."""

    def __init__(self, layout: JoinLayout, conditions: JoinConditions, window: n.Local | None) -> None:
        self.layout = layout
        self.join = layout.join
        self.conditions = conditions
        self.window = window
        self.absent = layout.stacks[len(layout.positive) :]

    def needs(self, absent: StackLayout) -> frozenset[int]:
        """Return the components that must be bound before an absent event can be searched for."""
        before, after = self.join.around(absent.number)
        positive = self.join.positive
        needed = {x for j in self.join.joints if absent.number in j.stacks for x in j.stacks if x in positive}
        needed |= {*before, *after}
        if not before:
            needed |= {last.number for last in self.layout.last}
        if not after:
            needed |= set(self.join.members(0))
        return frozenset(needed)

    def look_for(self, code: Code, absent: StackLayout) -> n.Expr:
        """Write the search for an event, and return the condition that it was found."""
        before, after = ([self.layout.stacks[x] for x in side] for side in self.join.around(absent.number))
        high, entry = absent.local("high"), absent.entry
        code.note(f"No {absent.stack.variable} {_where(before, after)}.")
        inside = [entry < high]
        if after:
            inside.append(
                absent.at[entry] < extreme(code, "ceiling", [positive.at[positive.entry] for positive in after], "<")
            )
        else:
            (first,) = self.layout.members(0)
            assert self.window is not None
            inside.append(absent.when[entry] < first.when[first.entry] + self.window)
        if before:
            floor = extreme(code, "floor", [positive.at[positive.entry] for positive in before], ">")
            code.set(entry, n.Invoke("first_after", (absent.at, absent.local("low"), high, floor), INT64))
        else:
            assert self.window is not None
            latest = extreme(code, "latest", [positive.when[positive.entry] for positive in self.layout.last], ">")
            limit = latest - self.window
            code.set(entry, n.Invoke("first_after", (absent.when, absent.local("low"), high, limit), INT64))
        joints = [j for j in self.join.joints if absent.number in j.stacks]
        if not joints:
            return all_of(inside)
        code.set(SEEN, n.FALSE)
        with code.loop(all_of([negate(SEEN), *inside])):
            code.step(TESTS_DONE)
            code.set(SEEN, all_of(self.conditions.holds(joint) for joint in joints))
            code.step(entry)
        return SEEN


def extreme(code: Code, name: str, values: Sequence[n.Expr], sign: str) -> n.Expr:
    """The greatest of some numbers (`>`), or the least (`<`)."""
    if len(values) == 1:
        return values[0]
    best = code.let(name, values[0])
    for value in values[1:]:
        with code.when(n.comparison(sign, value, best)):
            code.set(best, value)
    return best


def _where(before: Sequence[StackLayout], after: Sequence[StackLayout]) -> str:
    names = [" and ".join(layout.stack.variable for layout in side) for side in (before, after)]
    if not before:
        return f"before {names[1]}"
    return f"between {names[0]} and {names[1]}" if after else f"after {names[0]}"
