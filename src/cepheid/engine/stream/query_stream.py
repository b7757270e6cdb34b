"""One query over one stream: batches in, certain matches out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.plans import Plans
from cepheid.engine.machines.protocol import Machine
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.engine.matches.sorted_when_read import SortedWhenRead
from cepheid.engine.stream.arrivals import arrange
from cepheid.engine.stream.input_stream import InputStream
from cepheid.errors import InputError
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Ties
from cepheid.plan.spec import AUTO, AUTOMATON, PlanSpec
from cepheid.values.json import Json

GENERAL = "interpreted"
"""The kind of machine that computes with integers of any size."""
UNSEEN = 16
"""Events from which on it is asked whether another plan has become better."""
UNPLANNED = "adaptive"
"""The kind of a state before the first event, where the plan is to be chosen by that."""


class QueryStream:
    """One query of a program, run by the machine of its plan; it changes the plan when the stream has changed.

    plans_for: the plans of the query, for the kind of machine whose state is restored (None: there is none).
    since: it sees no event up to this time, in ticks, though the stream may keep some; None: it sees all.
    """

    def __init__(
        self,
        query: Runnable,
        stream: InputStream,
        plans_for: Callable[[str | None], Plans],
        kind: str | None = None,
        *,
        since: int | None = None,
    ) -> None:
        self.query = query
        self.stream = stream
        self.since = since
        self.begun = False  # whether it has had an event
        self.base = 0  # the id of the first row of the events of the matches that were emitted last
        self.machine: Machine | None = None  # None while the plan waits for the first events
        self._plans_for = plans_for
        self._begin(plans_for(kind))
        result = query.result
        self._nothing = Matches(
            result, empty_table(stream.schema.arrow if result is query else result.schema.arrow), NONE
        )

    def _begin(self, plans: Plans) -> None:
        self._unseen: list[Batch] = []  # which may decide that another plan is better
        self._unseen_events = 0
        self._plans, self._chooser = plans, plans.chooser
        if plans.chooser is None:
            self.machine = plans.make(plans.choice)

    def _started(self, batch: Batch | None = None) -> Machine:
        """The machine, which the first events (if there are any) choose."""
        if self.machine is None:
            assert self._chooser is not None
            self.machine = self._plans.make(self._chooser.first(batch))
        return self.machine

    # Events and matches.

    def feed(self, batch: Batch) -> None:
        """The next events of its stream."""
        try:
            machine = self.machine
            if machine is None:
                machine = self._started(batch)
            machine.feed(batch)
        except Unfit as reason:
            if self.begun:
                remedy = "run the stream anew with engine='interpreted', which computes with integers of any size"
                raise InputError("CEP410", str(reason), remedy) from None
            self._begin(self._plans_for(GENERAL))
            self._started(batch).feed(batch)
        self.begun = True
        if self._chooser is not None and self._chooser.considers:
            self._unseen.append(batch)
            self._unseen_events += len(batch.times)

    def settle(self, watermark: int | None, horizon: int | None = None) -> Matches:
        """The matches that are certain to stand when all events before a time (None: all) are in.

        horizon: where all are in, until when absences are known; None: the end of the input ends them.
        """
        self.base = self.stream.base
        machine = self.machine
        if machine is None or self._unseen_events >= UNSEEN:
            matches = self.emit(watermark, horizon)
        else:
            matches = machine.settle(watermark, self.stream, horizon)
        if matches is NONE:
            return self._nothing
        if isinstance(matches, Matches):
            return matches
        events = self.stream.kept_events
        if self.stream.is_mixed:
            if isinstance(matches, MatchTable) and matches.values is not None:  # which are there to be read at once
                matches = self._sorted(events, matches)
            else:
                matches = SortedWhenRead(matches, partial(self._sorted, events))
        return Matches(self.query, events, matches)

    def emit(self, watermark: int | None, horizon: int | None = None) -> MatchTable | LazyMatches | Matches:
        """The same as the machine has them: rows of the kept events. Afterwards the plan may be another one."""
        machine = self.machine
        if machine is None:
            machine = self._started()
        matches = machine.settle(watermark, self.stream, horizon)
        chooser = self._chooser
        if chooser is not None and watermark is not None and self._unseen_events >= UNSEEN and not self.stream.is_mixed:
            self._show_events()
            better = chooser.better()  # stacks are in the order of the whole stream, which a mixed one is not
            if better is not None:
                self._switch(better, watermark)
        return matches

    def _show_events(self) -> None:
        """Show the chooser the batches since the last time: few of them are not worth a look."""
        unseen, self._unseen, self._unseen_events = self._unseen, [], 0
        if self._chooser is not None:
            for batch in unseen:
                self._chooser.see(batch)

    def _sorted(self, events: Events, matches: MatchTable) -> MatchTable:
        """Sort matches as S9 wants them, where their events did not come in the order of S1."""
        rows, index = np.unique(matches.rows, return_inverse=True)
        used = events.only(rows) if isinstance(events, Reordered) else Reordered(as_table(events), rows, {})
        times = ticks(self.stream.schema, used)
        ranks = np.arange(len(rows))
        order = arrange(self.stream.schema, used, times)
        if order is not None:
            ranks[order] = np.arange(len(rows))
        simultaneous = times[index] if self.query.ties is not Ties.ORDERED else None
        return matches.take(in_order(matches, ranks[index], simultaneous))

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        return None if self.machine is None else self.machine.unsettled()

    def certain(self, watermark: int) -> int:
        """The time before which no further match can end, when all events before the watermark are in."""
        end = self.unsettled()
        if end is None:
            return watermark
        return min(watermark, int(ticks(self.stream.schema, self.stream.kept.slice(end - self.stream.base, 1))[0]))

    def nothing(self) -> Matches:
        """No matches, of this query."""
        return self._nothing

    # Plans.

    @property
    def plan(self) -> str:
        """The plan by its name; before the first event the one that was asked for."""
        return str(self._plans.choice) if self.machine is None else self.machine.plan

    @property
    def replans(self) -> int:
        """How often the plan was changed."""
        return 0 if self._chooser is None else self._chooser.replans

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated, by the machines of all plans."""
        earlier = 0 if self._chooser is None else self._chooser.earlier_tests
        return earlier + (0 if self.machine is None else self.machine.tests)

    def _switch(self, choice: PlanSpec, watermark: int) -> bool:
        """Run by another plan, if that is possible: with the same state, or from the events that are kept.

        The matches of those were emitted before and are discarded; the state that is left continues the stream.
        """
        before, chooser, tests = self._started(), self._chooser, 0
        assert chooser is not None
        if not before.change_plan(choice):
            if not chooser.replays:
                return False
            self.machine = self._plans.make(choice, native=before.mode == "compiled")
            self._feed_kept(self.machine, watermark)
            tests = before.tests - self.machine.tests
        chooser.taken(choice, tests)
        return True

    def _feed_kept(self, machine: Machine, watermark: int) -> None:
        stream = self.stream
        if stream.rows:
            times = ticks(stream.schema, stream.kept)
            first = 0 if self.since is None else int(np.searchsorted(times, self.since, side="right"))
            batch = Batch(stream.codes, stream.kept.slice(first), times[first:], stream.base + first)
            batch.floor = watermark if stream.is_mixed else None
            if len(batch):
                machine.feed(batch)
        machine.settle(watermark, stream)

    def replay(self, watermark: int) -> None:
        """Begin with the kept events, whose matches were emitted before."""
        if self.stream.rows:
            self._feed_kept(self._started(), watermark)

    def run_by_partitions(self, watermark: int) -> bool:
        """Whether events of some partitions may come before earlier ones of others, from now on.

        Stacks can't do that: where the plan is free, it is the automaton from then on.
        """
        chooser = self._chooser
        if chooser is not None:
            if self.machine is None or chooser.choice.joins:
                if chooser.asked != AUTO:
                    return False
                if self.machine is None:
                    chooser.choice = AUTOMATON
                    self.machine = self._plans.make(AUTOMATON)
                elif not self._switch(AUTOMATON, watermark):
                    return False
            self._show_events()
            chooser.considers = False
        return self._started().splits

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """All events before other times are in of some partitions; None: of none, beyond what settled them."""
        self._started().reach_partitions(ahead)

    # Snapshots.

    @property
    def kind(self) -> str:
        """The kind of machine that can read the state."""
        return UNPLANNED if self.machine is None else self.machine.kind

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The state of the machine, with what its plan was chosen by; nothing before the first event."""
        if self.machine is None:
            return {}, []
        self._show_events()
        facts, arrays = self.machine.dump()
        return facts if self._chooser is None else {**facts, "planned": self._chooser.dump()}, arrays

    def load(self, facts: Json, arrays: list[np.ndarray]) -> None:
        """Restore a state that was dumped."""
        if not facts:
            return
        if self._chooser is not None:
            self.machine = self._plans.make(self._chooser.load(facts))
        self._started().load(facts, arrays, self.stream)
