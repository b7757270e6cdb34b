"""A CESAR expression on the steps of the reference (Algorithm 1), made incremental: what no kernel can run."""

from __future__ import annotations

from itertools import groupby

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.interpreted import Interpreted
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.without_codes import WithoutCodes
from cepheid.engine.machines.written_values import read, written
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.front.cesar.linear import amount_of
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.kernel.arrays import Array
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.plan.spec import AUTOMATON
from cepheid.reference.event_automata import EventRunner, Instance
from cepheid.values.facts import Fact
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

Key = tuple[Value, ...]
MOST = 200_000
"""Instances of one partition at once, beyond which a query ends with an error before it takes all the memory."""


class InterpretedAlgebra(WithoutCodes):
    """One expression over a stream that comes in parts."""

    kind = mode = Interpreted.kind
    tests = merged = 0  # not counted
    plan = str(AUTOMATON)
    splits = False  # results of several partitions may be equal, and are one

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.runner = EventRunner(query, algebra_in(query).automaton)
        self.partitions: dict[Key, list[Instance]] = {}
        self.found: list[Fact] = []

    @property
    def runs(self) -> int:
        """How many instances wait."""
        return sum(map(len, self.partitions.values()))

    def reserve(self, events: int) -> None:
        """Nothing is made beforehand."""

    def feed(self, batch: Batch) -> None:
        """The next events; no instant is in two batches."""
        report = batch.report or (lambda events: None)
        for _, moment in groupby(read_rows(batch.table, self.query.schema), key=lambda event: event.time):
            partitions: dict[Key, list[Event]] = {}
            seen = 0
            for event in moment:
                seen += 1
                key = partition_key(self.query.partitions, event)
                if key is not None:
                    partitions.setdefault(key, []).append(event)
            for key, own in partitions.items():
                after, found = self.runner.consume(self.partitions.get(key, ()), own)
                if len(after) > MOST:
                    raise too_many_runs(
                        self.query.pattern, {}, f"more than {MOST:,} instances at once in one partition"
                    )
                self.found += found
                if after:
                    self.partitions[key] = after
                else:
                    self.partitions.pop(key, None)
            report(seen)

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | Matches:
        """The results so far: an event that is to come ends later. Those of several partitions may be equal."""
        found, self.found = self.found, []
        return made_matches(self.query, list({fact.key: fact for fact in found}.values())) if found else NONE

    def unsettled(self) -> int | None:
        """A result is certain when its instant is over."""
        return None

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """No partition is ahead of others."""

    def end_runs(self, before: int) -> None:
        """Results may end with any event."""

    def compact(self, now: int) -> int | None:
        """Instances have values, and need no events; those go that no event to come can end in time."""
        bounds = [None if bound is None else amount_of(bound) for bound in self.runner.automaton.bounds]
        for key, instances in list(self.partitions.items()):
            limits = ((one, bounds[one.state]) for one in instances)
            kept = [one for one, limit in limits if limit is None or one.event.start >= now - limit]
            if kept:
                self.partitions[key] = kept
            else:
                del self.partitions[key]
        return None

    def state_bytes(self) -> int:
        """An estimate: Python objects are not counted one by one."""
        return 600 * self.runs

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """Instances by their keys, states and attributes."""
        partitions = [
            [
                list(map(written, key)),
                [[i.state, i.event.start, i.event.end, list(map(written, i.event.values.values()))] for i in instances],
            ]
            for key, instances in self.partitions.items()
        ]
        return {"algebra": partitions}, []

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Take up a state that was dumped."""
        states = self.runner.automaton.states
        for key, saved in facts["algebra"]:
            self.partitions[tuple(map(read, key))] = [
                Instance(state, Fact(dict(zip(states[state].types, map(read, values), strict=True)), start, end))
                for state, start, end, values in saved
            ]
