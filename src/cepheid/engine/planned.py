"""A machine that chooses its plan: before the first events, and again when the rates of the stream have moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.decide import ENOUGH, Decision, decide
from cepheid.engine.found import Found, Many
from cepheid.engine.generated import Generated
from cepheid.engine.joined import Joined
from cepheid.engine.sample import type_shares
from cepheid.engine.stage import Machine
from cepheid.engine.times import ticks
from cepheid.pattern.tree import Output
from cepheid.plan.choice import AUTO, AUTOMATON, STACKS, TREE, Choice, Way
from cepheid.plan.statistics import Statistics, moved

LOOK, EVERY, AGAIN = 2_048, 8_192, 131_072
"""Events that are looked at, after how many it is looked again, and after how many all is sampled anew."""
MOVED, GAIN = 2.0, 1.5
"""How far rates must have moved, and how much less work another plan must promise."""


class Planned:
    """One query over a stream that comes in parts, by the plan that suits it."""

    def __init__(
        self, blueprint: Blueprint, make: Callable[[Choice], Machine], *, once: bool, forced: Choice = AUTO
    ) -> None:
        self.blueprint = blueprint
        self.forced = forced
        self.make = make
        self.once = once
        self.inner: Machine | None = None
        self.decision = Decision(AUTOMATON, "no events yet")
        self.recent: deque[pa.Table] = deque()
        self.rows = 0  # of those
        self.events = self.looked = self.sampled = 0
        self.replans = 0
        self.before = 0  # tests of machines that were given up
        self.types_then: tuple[float, ...] = ()  # how often each type came when the plan was chosen

    @property
    def machine(self) -> Machine:
        """What runs the query now."""
        if self.inner is None:
            choice = AUTOMATON if self.blueprint.automaton is not None or self.blueprint.why_not_joined else STACKS
            self.inner = self.make(choice if self.forced == AUTO else self.forced)
        return self.inner

    # Before there are events there is no plan, and to ask does not make one.

    @property
    def kind(self) -> str:
        """Which kind can read the state."""
        return "planned" if self.inner is None else self.inner.kind

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

    def feed(self, table: pa.Table, times: Any, base: int) -> None:
        """The next events in the order of S1."""
        if self.inner is None and (self.once or table.num_rows >= ENOUGH):
            self.decision = decide(self.blueprint, table, times, self.forced)
            self.sampled = self.looked = table.num_rows
            if not self.once and self.decision.statistics is not None:
                self.types_then = type_shares(self.blueprint.join, table)
            self.inner = self.make(self.decision.choice)
        self.machine.feed(table, times, base)
        self.events += table.num_rows
        if self.considers and not self.rests(2 * LOOK):
            self.remember(table)

    @property
    def considers(self) -> bool:
        """Whether the plan may still change."""
        return not self.once and self.forced == AUTO and not self.blueprint.why_not_joined

    def rests(self, before: int = 0) -> bool:
        """Whether nothing is asked for some time: a tree adapts by itself."""
        return self.plan == str(TREE) and self.events - self.sampled < AGAIN - before

    def remember(self, table: pa.Table) -> None:
        """Keep the last events for the next sample."""
        if table.num_rows > 64 * LOOK:  # a copy, lest all of a large batch is kept
            last = np.arange(table.num_rows - LOOK, table.num_rows)
            self.recent, self.rows = deque([table.take(pa.array(last))]), LOOK
            return
        self.recent.append(table)
        self.rows += table.num_rows
        while self.rows - self.recent[0].num_rows >= LOOK:
            self.rows -= self.recent.popleft().num_rows

    def settle(self, now: int | None, kept: pa.Table, base: int) -> Found | Many:
        """The matches that became certain."""
        found = self.machine.settle(now, kept, base)
        if now is not None and self.considers:
            self.reconsider(now, kept, base)
        return found

    def reconsider(self, now: int, kept: pa.Table, base: int) -> None:
        """Whether the stream is still the one that the plan was chosen for."""
        planned = self.decision.statistics is not None
        if self.rests():
            return
        if self.events - self.looked < (EVERY if planned else ENOUGH) or self.rows < ENOUGH:
            return
        self.looked = self.events
        table = pa.concat_tables(self.recent)
        if self.decision.statistics is not None and self.events - self.sampled < AGAIN:
            # The types alone tell whether it is worth while to sample.
            shares = type_shares(self.blueprint.join, table)
            if not moved(self.types_then, shares, MOVED):
                return
        self.sampled = self.events
        decision = decide(self.blueprint, table, ticks(self.blueprint.query.schema, table))
        if decision.choice.way is Way.TREE and decision.estimates:  # rates that change are looked at again
            decision = replace(
                decision, choice=next(e.choice for e in decision.estimates if e.choice.way is not Way.TREE)
            )
        self.types_then = type_shares(self.blueprint.join, table)
        current = next((e for e in decision.estimates if e.choice.told == self.plan), None)
        best = next((e for e in decision.estimates if e.choice == decision.choice), None)
        self.decision = decision
        if decision.choice.told == self.plan or current is None or best is None:
            return
        if current.nanoseconds > GAIN * best.nanoseconds:
            # Rates that have moved before will move again: then the order is left to be chosen at each step.
            restless = self.replans > 0 and decision.choice.joins and decision.choice.partition is None
            self.switch(TREE if restless else decision.choice, now, kept, base)

    def switch(self, choice: Choice, now: int, kept: pa.Table, base: int) -> None:
        """Go on by another plan. Orders share their stacks; else the events that are kept are gone through again.

        All that these give was given already: what is still to come is what the other plan has afterwards.
        """
        machine = self.machine
        if isinstance(machine, Joined) and choice.joins and machine.choice.partition == choice.partition:
            machine.take(choice)
        elif self.can_switch():
            other = self.make(choice)
            if machine.mode == "compiled" and isinstance(other, Joined | Generated) and not other.native:
                other.go_native()
            if kept.num_rows:
                other.feed(kept, ticks(self.blueprint.query.schema, kept), base)
            other.settle(now, kept, base)
            self.before += machine.tests - other.tests
            self.inner = other
        else:
            return
        self.replans += 1

    def can_switch(self) -> bool:
        """Whether the rows that are kept say all: not what was absent before the first, or where a match has ended."""
        leads = any(not self.blueprint.join.around(n)[0] for n in self.blueprint.join.negated)
        return self.blueprint.query.output is Output.ALL and not leads

    def unsettled(self) -> int | None:
        """The first position where a match ends that is not certain yet."""
        return self.machine.unsettled()

    def oldest(self) -> int | None:
        """The first position that a match to come can have among the events so far."""
        return self.machine.oldest()

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

    def load(self, facts: dict[str, Any], arrays: list[Any], kept: pa.Table, base: int) -> None:
        """Take up a state that was dumped."""
        if not facts:
            return
        choice = AUTOMATON
        if "plan" in facts:  # a state of stacks
            partition = facts["partition"]
            way, order = facts["plan"]
            wanted = Choice(Way(way), tuple(order)) if self.forced == AUTO else self.forced
            choice = replace(wanted, partition=None if partition is None else tuple(partition))
        self.inner = self.make(choice)
        self.inner.load(facts, arrays, kept, base)
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
