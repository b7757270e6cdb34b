"""A machine that chooses its plan: before the first events, and again when the rates of the stream have moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.few_events import Events, as_table, joined
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.kernel_machine import KernelMachine
from cepheid.engine.machines.protocol import KeptRows, Machine
from cepheid.engine.machines.stack_machine import StackMachine
from cepheid.engine.matches.match_table import LazyMatches, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.candidates import Question
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import Decision, decide
from cepheid.engine.planning.remembered import RememberedDecision
from cepheid.engine.planning.sample import ENOUGH, take_sample, type_shares
from cepheid.pattern.tree.nodes import Output
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import AUTO, AUTOMATON, TREE, PlanKind, PlanSpec
from cepheid.plan.statistics import Statistics, moved

LOOK, EVERY, AGAIN = 2_048, 8_192, 131_072
"""Events that are looked at, after how many it is looked again, and after how many all is sampled anew."""
MOVED, GAIN = 2.0, 1.5
"""How far rates must have moved, and how much less work another plan must promise."""


class AdaptiveMachine:
    """One query over a stream that comes in parts, by the plan that suits it."""

    def __init__(
        self,
        compiled: CompiledQuery,
        codes: StreamCodes,
        make: Callable[[PlanSpec], Machine],
        forced: PlanSpec = AUTO,
    ) -> None:
        self.compiled = compiled
        self.codes = codes
        self.forced = forced
        self.make = make
        self.once = codes.once
        # Whether the plan may change while events come.
        self.considers = not codes.once and forced == AUTO and not compiled.why_not_joined
        self.inner: Machine | None = None
        self.decision = Decision(AUTOMATON, "no events yet")
        self.recent: deque[Events] = deque()
        self.rows = 0  # of those
        self.events = self.looked = self.sampled = 0
        self.replans = 0
        self.before = 0  # tests of machines that were given up
        self.types_then: tuple[float, ...] = ()  # how often each type came when the plan was chosen

    @property
    def machine(self) -> Machine:
        """What runs the query now."""
        if self.inner is None:
            self.inner = self.make(decide(Question(self.compiled, self.forced)).choice)
        return self.inner

    # Before there are events there is no plan, and to ask does not make one.

    @property
    def kind(self) -> str:
        """The kind of machine that can read the state."""
        return "adaptive" if self.inner is None else self.inner.kind

    @property
    def mode(self) -> str:
        """How it runs."""
        return "plain" if self.inner is None else self.inner.mode

    @property
    def plan(self) -> str:
        """The plan by its name."""
        return str(self.forced) if self.inner is None else self.inner.plan

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return 0 if self.inner is None else self.before + self.inner.tests

    @property
    def merged(self) -> int:
        """How many runs became one with another."""
        return 0 if self.inner is None else self.inner.merged

    @property
    def runs(self) -> int:
        """How many runs are alive, or events stored."""
        return 0 if self.inner is None else self.inner.runs

    def reserve(self, events: int) -> None:
        """Prepare for so many events."""
        if self.inner is not None:
            self.inner.reserve(events)

    def feed(self, batch: Batch) -> None:
        """The next events."""
        if self.inner is None and (self.once or len(batch) >= ENOUGH):
            self.decision = self.first_decision(batch)
            self.sampled = self.looked = len(batch)
            if not self.once and self.decision.statistics is not None:
                self.types_then = type_shares(self.compiled.join, batch)
            self.inner = self.make(self.decision.choice)
        self.machine.feed(batch)
        self.events += len(batch)
        if self.considers and not self.rests(2 * LOOK):
            self.remember(batch.events)

    def first_decision(self, batch: Batch) -> Decision:
        """Choose the first plan: that of an earlier run on events like these, or the one that a sample suggests."""
        if not self.once or self.compiled.why_not_joined or len(batch) < ENOUGH:
            return self.decide_by(batch)
        shares = type_shares(self.compiled.join, batch)
        known: RememberedDecision | None = self.compiled.decisions.get(self.forced)
        if known is not None and known.suits(len(batch), shares):
            return known.decision
        found = self.decide_by(batch)
        self.compiled.decisions[self.forced] = RememberedDecision(found, len(batch), shares)
        return found

    def decide_by(self, batch: Batch) -> Decision:
        """Choose a plan by a sample of some events, if there are enough of them."""
        return decide(Question(self.compiled, self.forced, take_sample(self.compiled, batch)))

    def rests(self, before: int = 0) -> bool:
        """Whether no check is due: a tree adapts by itself."""
        if not isinstance(self.inner, StackMachine) or self.inner.choice.way is not PlanKind.TREE:
            return False
        return self.inner.choice.partition is None and self.events - self.sampled < AGAIN - before

    def remember(self, events: Events) -> None:
        """Keep the last events for the next sample."""
        if events.num_rows > 64 * LOOK:  # a copy, lest all of a large batch is kept
            last = np.arange(events.num_rows - LOOK, events.num_rows)
            taken = events.take(last) if isinstance(events, Reordered) else as_table(events).take(from_numpy(last))
            self.recent, self.rows = deque([taken]), LOOK
            return
        self.recent.append(events)
        self.rows += events.num_rows
        while self.rows - self.recent[0].num_rows >= LOOK:
            self.rows -= self.recent.popleft().num_rows

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | LazyMatches | Matches:
        """The matches that became certain."""
        found = self.machine.settle(now, rows, horizon)
        if now is not None and self.considers:
            self.reconsider(now, rows)
        return found

    def reconsider(self, now: int, rows: KeptRows) -> None:
        """Change the plan if the stream is no longer like the one that it was chosen for."""
        if rows.is_mixed:
            return  # stacks are in the order of the whole stream
        planned = self.decision.statistics is not None
        if self.events - self.looked < (EVERY if planned else ENOUGH) or self.rows < ENOUGH or self.rests():
            return
        self.looked = self.events
        batch = self.batch_of(as_table(joined(self.recent)), 0)
        if self.decision.statistics is not None and self.events - self.sampled < AGAIN:
            # The types alone tell whether it is worth while to sample.
            shares = type_shares(self.compiled.join, batch)
            if not moved(self.types_then, shares, MOVED):
                return
        self.sampled = self.events
        try:
            decision = self.decide_by(batch)
        except Unfit:  # a column that this plan does not read has values that no kernel computes with
            return
        if decision.choice.way is PlanKind.TREE and decision.estimates:  # rates that change are looked at again
            decision = replace(
                decision, choice=next(e.plan for e in decision.estimates if e.plan.way is not PlanKind.TREE)
            )
        self.types_then = type_shares(self.compiled.join, batch)
        current = next((e for e in decision.estimates if e.plan.told == self.plan), None)
        best = next((e for e in decision.estimates if e.plan == decision.choice), None)
        self.decision = decision
        if decision.choice.told == self.plan or current is None or best is None:
            return
        if current.nanoseconds > GAIN * best.nanoseconds:
            # Rates that have moved before will move again: then the order is left to be chosen at each step.
            restless = self.replans > 0 and decision.choice.joins and decision.choice.partition is None
            self.switch(TREE if restless else decision.choice, now, rows)

    def switch(self, choice: PlanSpec, now: int, rows: KeptRows) -> None:
        """Switch to another plan. Orders share their stacks; otherwise the kept events are processed again.

        The matches that they give were emitted before and are dropped; the state that is left continues the stream.
        """
        machine = self.machine
        if isinstance(machine, StackMachine) and choice.joins and machine.choice.partition == choice.partition:
            machine.take(choice)
        elif self.can_switch():
            other = self.make(choice)
            if isinstance(machine, KernelMachine) and isinstance(other, KernelMachine) and machine.native:
                other.go_native()
            if rows.kept.num_rows:
                other.feed(self.batch_of(rows.kept, rows.base))
            other.settle(now, rows)
            self.before += machine.tests - other.tests
            self.inner = other
        else:
            return
        self.replans += 1

    def batch_of(self, table: pa.Table, first: int) -> Batch:
        """Return events of the stream as a batch, to sample or process them again."""
        return Batch(self.codes, table, ticks(self.codes.schema, table), first)

    def run_by_partitions(self, now: int, rows: KeptRows) -> bool:
        """Whether partitions may be ahead of others: then it runs as an automaton, and stays one."""
        if isinstance(self.inner, StackMachine):
            if not self.can_switch() or self.forced != AUTO:
                return False
            self.switch(AUTOMATON, now, rows)
        elif self.inner is None and self.forced != AUTO:
            return False
        elif self.inner is None:
            self.inner = self.make(AUTOMATON)
        self.considers = False
        return self.machine.run_by_partitions(now, rows)

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """Some partitions are ahead."""
        self.machine.reach_partitions(ahead)

    def end_runs(self, before: int) -> None:
        """No match to come ends before a time."""
        if self.inner is not None:
            self.inner.end_runs(before)

    def can_switch(self) -> bool:
        """Whether the kept rows are enough to switch: they lack what was absent before, and where matches ended."""
        return self.compiled.query.output is Output.ALL and not self.compiled.query.looks_back

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        return self.machine.unsettled()

    def compact(self, now: int) -> int | None:
        """Release what no later match can need."""
        return self.machine.compact(now)

    def held_partitions(self) -> Iterable[tuple[Partitioning, Any]]:
        """The partitions that the machine needs."""
        return () if self.inner is None else self.inner.held_partitions()

    def keep_partitions(self, partitions: Partitioning, alive: Any) -> None:
        """Renumber the partitions, of which only some are kept."""
        if self.inner is not None:
            self.inner.keep_partitions(partitions, alive)

    def held_strings(self) -> Iterable[Any]:
        """The codes that the machine needs."""
        return () if self.inner is None else self.inner.held_strings()

    def renumber_strings(self, number: Any) -> None:
        """Replace the codes of strings by new ones."""
        if self.inner is not None:
            self.inner.renumber_strings(number)

    def state_bytes(self) -> int:
        """How much the state takes."""
        return 0 if self.inner is None else self.inner.state_bytes()

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The state of the machine, and the statistics that its plan was chosen by."""
        if self.inner is None:
            return {}, []
        facts, arrays = self.inner.dump()
        statistics = self.decision.statistics
        planned = {
            "statistics": None if statistics is None else asdict(statistics),
            "types": list(self.types_then),
            "counts": [self.events, self.looked, self.sampled, self.replans, self.before],
        }
        return {**facts, "planned": planned}, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Restore a state that was dumped."""
        if not facts:
            return
        choice = AUTOMATON
        if "plan" in facts:  # a state of stacks
            partition = facts["partition"]
            way, order = facts["plan"]
            wanted = PlanSpec(PlanKind(way), tuple(order)) if self.forced == AUTO else self.forced
            choice = replace(wanted, partition=None if partition is None else tuple(partition))
        self.inner = self.make(choice)
        self.inner.load(facts, arrays, rows)
        planned = facts.get("planned")
        if planned is None:
            return
        self.events, self.looked, self.sampled, self.replans, self.before = planned["counts"]
        self.types_then = tuple(planned["types"])
        if planned["statistics"] is not None:
            known: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in planned["statistics"].items()
            }
            self.decision = Decision(choice, "as before", (), Statistics(**known))
