"""Which plan runs a query: chosen before the first events, and again when the rates of the stream have moved."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, replace

import numpy as np

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.columns import Unfit
from cepheid.engine.encoding.few_events import Events, as_table, joined
from cepheid.engine.encoding.reordered import Reordered
from cepheid.engine.encoding.times import ticks
from cepheid.engine.planning.candidates import Question
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import Decision, decide
from cepheid.engine.planning.remembered import RememberedDecision
from cepheid.engine.planning.sample import ENOUGH, take_sample, type_shares
from cepheid.pattern.tree.nodes import Output
from cepheid.plan.spec import AUTO, AUTOMATON, TREE, PlanKind, PlanSpec
from cepheid.plan.statistics import Statistics, moved
from cepheid.values.json import Json

LOOK, EVERY, AGAIN = 2_048, 8_192, 131_072
"""Events that are looked at, after how many it is looked again, and after how many all is sampled anew."""
MOVED, GAIN = 2.0, 1.5
"""How far rates must have moved, and how much less work another plan must promise."""


class PlanChooser:
    """Chooses the plan of one query on one stream.

    Its query stream asks for the `first` plan. While the chooser `considers` others, the stream shows it each batch
    (`see`), asks after each for a `better` plan, and reports it as `taken` when it has switched.
    """

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, asked: PlanSpec = AUTO) -> None:
        self.compiled = compiled
        self.asked = asked
        self.choice = asked
        self.replans = 0
        self.earlier_tests = 0  # of machines that ran before the plan was changed
        # Whether the plan may change while events come.
        self.considers = not codes.once and asked == AUTO and not compiled.why_not_joined
        self._codes = codes
        self._decision = Decision(AUTOMATON, "no events yet")
        self._recent: deque[Events] = deque()
        self._rows = 0  # of those
        self._events = self._looked = self._sampled = 0
        self._shares: tuple[float, ...] = ()  # how often each type came when the plan was chosen

    @property
    def replays(self) -> bool:
        """Whether a machine can begin with the kept rows: they lack what was absent before, and where matches ended."""
        return self.compiled.query.output is Output.ALL and not self.compiled.query.looks_back

    def first(self, batch: Batch | None) -> PlanSpec:
        """Choose the plan to begin with, from the first events if they are enough for an estimate."""
        if batch is not None and (self._codes.once or len(batch) >= ENOUGH):
            self._decision = self._first_decision(batch)
            self._sampled = self._looked = len(batch)
            if not self._codes.once and self._decision.statistics is not None:
                self._shares = type_shares(self.compiled.join, batch)
            self.choice = self._decision.choice
        else:
            self.choice = self._decide_unsampled().choice
        return self.choice

    def _first_decision(self, batch: Batch) -> Decision:
        """Choose the first plan: that of an earlier run on events like these, or the one that a sample suggests."""
        if self.compiled.why_not_joined:
            return self._decide_unsampled()
        if not self._codes.once or len(batch) < ENOUGH:
            return self._decide_by(batch)
        shares = type_shares(self.compiled.join, batch)
        known = self.compiled.decisions.get(self.asked)
        if known is not None and known.suits(len(batch), shares):
            return known.decision
        decision = self._decide_by(batch)
        self.compiled.decisions[self.asked] = RememberedDecision(decision, len(batch), shares)
        return decision

    def _decide_unsampled(self) -> Decision:
        """Choose a plan without events, which is the same for every run."""
        known = self.compiled.unsampled.get(self.asked)
        if known is None:
            known = self.compiled.unsampled[self.asked] = decide(Question(self.compiled, self.asked))
        return known

    def _decide_by(self, batch: Batch) -> Decision:
        """Choose a plan by a sample of some events, if there are enough of them."""
        return decide(Question(self.compiled, self.asked, take_sample(self.compiled, batch)))

    # While events come.

    def see(self, batch: Batch) -> None:
        """Count the events of a batch that was fed, and keep the last ones for the next sample."""
        events, count = batch.events, len(batch.times)
        self._events += count
        if self.choice.way is PlanKind.TREE and self._rests(2 * LOOK):
            return
        if count > 64 * LOOK:  # a copy, lest all of a large batch is kept
            last = np.arange(count - LOOK, count)
            taken = events.take(last) if isinstance(events, Reordered) else as_table(events).take(from_numpy(last))
            self._recent, self._rows = deque([taken]), LOOK
            return
        self._recent.append(events)
        self._rows += count
        while self._rows - self._recent[0].num_rows >= LOOK:
            self._rows -= self._recent.popleft().num_rows

    def _rests(self, before: int = 0) -> bool:
        """Whether no check is due: a tree adapts by itself."""
        if self.choice.way is not PlanKind.TREE:
            return False
        return self.choice.partition is None and self._events - self._sampled < AGAIN - before

    def better(self) -> PlanSpec | None:
        """Return another plan if the stream is no longer like the one that this plan was chosen for."""
        planned = self._decision.statistics is not None
        if self._events - self._looked < (EVERY if planned else ENOUGH):
            return None
        if self._rows < ENOUGH or self._rests():
            return None
        self._looked = self._events
        table = as_table(joined(self._recent))
        batch = Batch(self._codes, table, ticks(self._codes.schema, table), 0)
        if planned and self._events - self._sampled < AGAIN:
            # The types alone show whether it is worth while to sample.
            shares = type_shares(self.compiled.join, batch)
            if not moved(self._shares, shares, MOVED):
                return None
        self._sampled = self._events
        try:
            decision = self._decide_by(batch)
        except Unfit:  # a column that this plan does not read has values that no kernel computes with
            return None
        if decision.choice.way is PlanKind.TREE and decision.estimates:  # rates that change are looked at again
            decision = replace(
                decision, choice=next(e.plan for e in decision.estimates if e.plan.way is not PlanKind.TREE)
            )
        self._shares = type_shares(self.compiled.join, batch)
        self._decision = decision
        current = next((e for e in decision.estimates if e.plan.label == self.choice.label), None)
        best = next((e for e in decision.estimates if e.plan == decision.choice), None)
        if decision.choice.label == self.choice.label or current is None or best is None:
            return None
        if current.nanoseconds <= GAIN * best.nanoseconds:
            return None
        # Rates that have moved before will move again: then the order is left to be chosen at each step.
        restless = self.replans > 0 and decision.choice.joins and decision.choice.partition is None
        return TREE if restless else decision.choice

    def taken(self, choice: PlanSpec, tests: int = 0) -> None:
        """Another plan runs the query from now on. tests: those that only the machine before it has counted."""
        self.choice = choice
        self.replans += 1
        self.earlier_tests += tests

    # Snapshots.

    def dump(self) -> Json:
        """The statistics that the plan was chosen by, and what was counted."""
        statistics = self._decision.statistics
        return {
            "statistics": None if statistics is None else asdict(statistics),
            "types": list(self._shares),
            "counts": [self._events, self._looked, self._sampled, self.replans, self.earlier_tests],
        }

    def load(self, facts: Json) -> PlanSpec:
        """Restore from the facts of a machine's state, and return the plan of that state."""
        choice = AUTOMATON
        if "plan" in facts:  # a state of stacks
            partition = facts["partition"]
            way, order = facts["plan"]
            wanted = PlanSpec(PlanKind(way), tuple(order)) if self.asked == AUTO else self.asked
            choice = replace(wanted, partition=None if partition is None else tuple(partition))
        self.choice = choice
        planned = facts.get("planned")
        if planned is not None:
            self._events, self._looked, self._sampled, self.replans, self.earlier_tests = planned["counts"]
            self._shares = tuple(planned["types"])
            if planned["statistics"] is not None:
                known: Json = {k: tuple(v) if isinstance(v, list) else v for k, v in planned["statistics"].items()}
                self._decision = Decision(choice, "as before", (), Statistics(**known))
        return choice
