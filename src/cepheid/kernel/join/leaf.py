"""The component that is bound last: each of its candidates gives a match, or none, mostly without a branch."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, negate
from cepheid.kernel.code.types import BOOL, INT64
from cepheid.kernel.join.construction import LIMIT, MATCHES, TESTED, Construction, output
from cepheid.kernel.join.kernel import ORIGIN
from cepheid.kernel.join.layout import StackLayout
from cepheid.kernel.join.lookup import Lookup
from cepheid.plan.join import Joint

BEGUN = n.Local("begun", INT64)  # the first match that a leaf writes
FITS = n.Local("fits", BOOL)


class Leaf:
    """Writes the loops of a component, the others being bound."""

    def __init__(self, construction: Construction, stack: StackLayout) -> None:
        self.construction = construction
        self.code = construction.code
        self.conditions = construction.conditions
        self.stack = stack
        self.others = [layout for layout in construction.layout.positive if layout is not stack]
        self.joints = self.conditions.tests(stack, self.others, late=True)
        self.differs = self.conditions.differs(stack, self.others)
        self.absent = [
            layout for layout in construction.absence.absent if stack.number in construction.absence.needs(layout)
        ]
        self.lookup: Lookup | None = construction.lookups.get(stack.number)
        bounded = [bound.joint for bound in self.lookup.bounds] if self.lookup is not None else []
        # Where every candidate gives a match, all components are written in one go.
        self.at_once = not (self.joints or self.differs or self.absent)
        self.left = [joint for joint in self.joints if joint not in bounded]  # what a sorted part leaves to ask

    @property
    def only_between(self) -> bool:
        """Whether a sorted part leaves nothing to ask but whether a candidate is between its neighbours."""
        return not (self.left or self.differs or self.absent)

    def write(self, low: n.Local, high: n.Local, lead: n.Expr) -> None:
        """The matches with the candidates between two places; of these a sorted part may be what `next` to `stop` is.

        lead: the entry that leads, in case that there is no room.
        """
        code = self.code
        following, stop, by = (self.stack.local(word) for word in ("next", "stop", "by"))
        first, end = (low, high) if self.lookup is None else (following, stop)
        with code.when(MATCHES + (end - first) > LIMIT):
            self.construction.stop(lead)
        if not self.at_once:
            code.set(BEGUN, MATCHES)
        if self.lookup is None:
            self._in_order(first, end)
            return
        with code.when(by):
            if self.only_between:
                self._places(self.lookup, low, high)
            else:
                self._sorted(self.lookup, low, high)
        with code.otherwise():
            self._in_order(first, end)

    def write_others(self) -> None:
        """The other components: they are the same in all matches that were written."""
        for layout in [] if self.at_once else self.others:
            fill(self.code, layout)

    def _in_order(self, low: n.Local, high: n.Local) -> None:
        """The candidates as they are in the stack."""
        code, entry = self.code, self.stack.entry
        if self.joints:
            code.step(TESTED, high - low)
        code.set(entry, low)
        with code.loop(entry < high):
            self._match(self._holds(self.joints, n.TRUE))
            code.step(entry)

    def _sorted(self, lookup: Lookup, low: n.Local, high: n.Local) -> None:
        """Those of the sorted part, each of which may be before or after its neighbours."""
        code, entry, following, stop = self.code, self.stack.entry, self.stack.local("next"), self.stack.local("stop")
        if self.left:
            code.step(TESTED, stop - following)
        with code.loop(following < stop):
            code.set(entry, lookup.entries[following])
            code.step(following)
            self._match(self._holds(self.left, all_of([entry >= low, entry < high])))

    def _places(self, lookup: Lookup, low: n.Local, high: n.Local) -> None:
        """The same where there is nothing else to ask."""
        code, at, following = self.code, self.stack.at, self.stack.local("next")
        place = self.stack.local("place")
        lowest, highest = code.let("lowest", at[low] - ORIGIN), code.let("highest", at[high - 1] - ORIGIN)
        with code.loop(following < self.stack.local("stop")):
            code.set(place, lookup.places[following])
            code.step(following)
            code.put(output(self.stack), MATCHES, place)
            code.step(MATCHES, all_of([place >= lowest, place <= highest]).to(INT64))

    def _holds(self, joints: Sequence[Joint], inside: n.Expr) -> n.Expr:
        """Whether a candidate makes a match."""
        code, absence = self.code, self.construction.absence
        holds = all_of([inside, *self.differs, *map(self.conditions.holds, joints)])
        for absent in self.absent:
            if holds not in (n.TRUE, FITS):
                code.set(FITS, holds)
                holds = FITS
            with code.when(holds):
                code.set(FITS, negate(absence.look_for(code, absent)))
            holds = FITS
        return holds

    def _match(self, holds: n.Expr) -> None:
        """Write a match; where it turns out to be none, the next one is written over it."""
        self.code.put(output(self.stack), MATCHES, self.stack.at[self.stack.entry] - ORIGIN)
        for layout in self.others if self.at_once else []:
            self.code.put(output(layout), MATCHES, layout.local("place"))
        self.code.step(MATCHES, 1 if holds == n.TRUE else holds.to(INT64))


def fill(code: Code, stack: StackLayout) -> None:
    """A component that is the same in all matches that a leaf has written."""
    code.call(n.Invoke("fill", (output(stack), BEGUN, MATCHES, stack.local("place")), INT64))
