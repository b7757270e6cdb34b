"""What the runs of automata do, told as it happens: of those of the user's own (S18), and of CESAR (S22)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cepheid.front.automata.bound import BoundArc
from cepheid.front.cesar.linear import LinearEdge
from cepheid.values.bindings import Bindings
from cepheid.values.rows import Event

if TYPE_CHECKING:
    from cepheid.reference.event_automata import Instance
    from cepheid.reference.own_automata import Accepted, OwnAutomatonRun
    from cepheid.values.facts import Fact


class ArcWatcher:
    """Called by the runs of a user's automaton at each step; this one ignores the calls, and traces override them."""

    def tried(self, run: OwnAutomatonRun | None, arc: BoundArc, bindings: Bindings, events: Sequence[Event]) -> None:
        """An arc is tried on some events, none if it takes none. run: None if the arc takes no event."""

    def went(
        self,
        before: OwnAutomatonRun,
        arcs: Sequence[BoundArc],
        after: OwnAutomatonRun,
        kept: OwnAutomatonRun,
        events: Sequence[Event],
    ) -> None:
        """A run went by an arc on some events, and then by ε-arcs. kept: the run that it is one with, or itself."""

    def stuck(self, run: OwnAutomatonRun, instant: Sequence[Event]) -> None:
        """No arc fires: the run is over. It may be one that would have begun."""

    def left(self, run: OwnAutomatonRun, instant: Sequence[Event] | None, *, overlaps: bool = False) -> None:
        """A run is over: its window is or, by S13, something overlaps; None: the input is."""

    def accepted(self, run: OwnAutomatonRun, arcs: Sequence[BoundArc], match: Accepted, known: bool) -> None:
        """A run is a match. arcs: by which it became one when its window was over. known: there is an equal one."""


class EdgeWatcher:
    """Is told what the instances of a CESAR expression do; this one does nothing with it."""

    def tried(self, instance: Instance | None, edge: LinearEdge, bindings: Bindings, event: Event) -> None:
        """An edge is tried on an event."""

    def went(self, before: Instance | None, edge: LinearEdge, after: Instance, kept: Instance, event: Event) -> None:
        """An instance was made by an edge. kept: the one that it is equal to, or itself."""

    def gave(self, before: Instance | None, edge: LinearEdge, result: Fact, event: Event, known: bool) -> None:
        """A result was made by an edge. known: there is an equal one."""

    def waited(self, instance: Instance, instant: Sequence[Event]) -> None:
        """An instance goes on waiting."""

    def lost(self, instance: Instance, instant: Sequence[Event]) -> None:
        """The event that an instance waited for came, and nothing was made of it."""


UNWATCHED, UNSEEN = ArcWatcher(), EdgeWatcher()
